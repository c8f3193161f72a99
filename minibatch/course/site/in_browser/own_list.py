"""A reader's own list of requests: a line for each, as text."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

from minibatch.course.site.in_browser.own_code import CodeError
from minibatch.course.site.in_browser.recorded import Recorded, Recording

WORDS = Path(__file__).with_name("words.json")  # made by record_words.py
MOST_LINES, MOST_TOKENS = 200, 5_000  # requests; tokens of a prompt, and of an answer


def own_list(text: str, step_time: float = 0.025) -> Recording:
    """Requests from lines "name, prompt tokens, answer tokens, arrival in seconds"; the arrival may
    be left out. Empty lines, and lines with #, are comments. A line of the running example has
    Wayfarer's words; any other answer has none. Raises CodeError with the line."""
    requests: list[Recorded] = []
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip() and not line.lstrip().startswith("#"):
            requests.append(_request(number, [part.strip() for part in line.split(",")]))
    names = [request.name for request in requests]
    if not requests or len(requests) > MOST_LINES or len({*names}) < len(names):
        raise CodeError(f"The list needs 1 to {MOST_LINES} requests, each with its own name.")
    requests.sort(key=lambda request: request.arrival)
    return Recording("your own list", tuple(requests), step_time)


def _request(number: int, parts: list[str]) -> Recorded:
    try:
        name, prompt, answer, *arrival = parts
        words = _words(name, int(prompt), int(answer))
        request = Recorded(name, int(prompt), words, int(answer), *(float(a) for a in arrival))
    except (TypeError, ValueError):
        raise CodeError(
            f"Line {number} of the list must be: name, prompt tokens, answer tokens, arrival"
        ) from None
    tokens = request.prompt, request.max_tokens
    if not name or not all(1 <= n <= MOST_TOKENS for n in tokens) or not request.arrival >= 0:
        raise CodeError(
            f"Line {number} of the list: give 1 to {MOST_TOKENS:,} tokens, and arrival 0 or later."
        )
    return request


def _words(name: str, prompt: int, answer: int) -> tuple[str, ...]:
    """A piece of text for each token of the answer."""
    known = _known().get(name)
    if known and known["prompt"] == prompt and len(known["answer"]) == answer:
        return tuple(known["answer"])
    return ("",) * answer


@cache
def _known() -> dict[str, dict]:
    return json.loads(WORDS.read_text(encoding="utf-8"))

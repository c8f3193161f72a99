"""Requests to serve: the course's running example, and the fifty agents it stands for.

Eight travel-agent copilot queries, "A" to "H", reach one engine at about the same time. Prompt and
answer lengths are the published ones. On Wayfarer, prompts of exactly these lengths have answers
that end by themselves at exactly these lengths (`wayfarer/running_example.json`).
"""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ..core.request import Request
from ..wayfarer import RUNNING_EXAMPLE, WEIGHTS
from .pretend import PretendModel

if TYPE_CHECKING:
    from ..model.load import Model  # imports torch and transformers: seconds

NAMES = "ABCDEFGH"
PROMPT_LENGTHS = (800, 1200, 950, 1100, 750, 1050, 900, 1300)  # tokens
OUTPUT_LENGTHS = (20, 45, 80, 120, 150, 90, 60, 200)  # tokens, the end token included


def running_example(model: Model, prompt_scale: float = 1.0) -> list[Request]:
    """The eight requests, ids "A" to "H".

    prompt_scale: share of the published prompt lengths. On Wayfarer, at 1.0 and 0.1, the prompts
    make sense and the answers end by themselves. For other models or lengths the prompts are random
    tokens and the answers are cut at the published length (`ignore_eos`): the work is the same, the
    text has no meaning. model: also a PretendModel, if only the lengths count.
    """
    return agents(model, len(NAMES), prompt_scale)


def agents(
    model: Model | PretendModel,
    n: int = 50,
    prompt_scale: float = 1.0,
    output_scale: float = 1.0,
) -> list[Request]:
    """`n` requests that repeat the running example's lengths: "A" … "H", then "A2", "B2", …

    Agents with the same letter have the same lengths, but other words. output_scale: share of the
    published output lengths; below 1, prompts are random and answers are cut, also on Wayfarer.
    """
    if n < 1:
        raise ValueError(f"n is {n}; give 1 agent or more")
    if not 0 < prompt_scale <= 1:
        raise ValueError(f"prompt_scale is {prompt_scale}; give a share in (0, 1]")
    if not 0 < output_scale <= 1:
        raise ValueError(f"output_scale is {output_scale}; give a share in (0, 1]")
    rounds = itertools.chain([""], map(str, itertools.count(2)))
    names = itertools.islice((f"{letter}{i}" for i in rounds for letter in NAMES), n)
    known = {}
    if output_scale == 1 and Path(getattr(model.hf, "name_or_path", "")) == WEIGHTS:
        known = json.loads(RUNNING_EXAMPLE.read_text(encoding="utf-8")).get(
            str(float(prompt_scale)), {}
        )
    return [
        _conversation(model, name, known[name[0]][i // len(NAMES) % len(known[name[0]])])
        if known
        else _random_tokens(model, name, i, prompt_scale, output_scale)
        for i, name in enumerate(names)
    ]


def poisson(requests: Iterable[Request], rate: float, seed: int = 0) -> list[Request]:
    """The same requests, arriving independently of one another, `rate` a second on average."""
    if not (math.isfinite(rate) and rate > 0):
        raise ValueError(f"rate is {rate}; give requests per second, above 0")
    requests = list(requests)
    import numpy as np

    arrivals = np.random.default_rng(seed).exponential(1 / rate, len(requests)).cumsum()
    return _arriving(requests, arrivals.tolist())


def bursts(
    requests: Iterable[Request], size: int, every: float, within: float = 0.0, seed: int = 0
) -> list[Request]:
    """The same requests, arriving `size` together, every `every` seconds, the first ones at 0.

    within: seconds over which a burst's requests arrive, at random times; 0: all at once.
    """
    if size < 1 or not (math.isfinite(every) and every > 0):
        raise ValueError(f"size is {size}, every is {every}; give size 1 or more, every above 0 s")
    if not 0 <= within <= every:
        raise ValueError(
            f"within is {within}; give seconds from 0 to {every:g}, the time between bursts"
        )
    requests = list(requests)
    import numpy as np

    late = np.random.default_rng(seed).uniform(0, within, len(requests))
    burst = np.arange(len(requests)) // size
    return _arriving(requests, np.sort(burst * every + late).tolist())


def _arriving(requests: list[Request], times: list[float]) -> list[Request]:
    return [replace(r, arrival_time=time) for r, time in zip(requests, times, strict=True)]


def prompt_length(letter: str, prompt_scale: float) -> int:
    """Tokens of the prompt that this letter has at this share of the published lengths."""
    return max(1, round(PROMPT_LENGTHS[NAMES.index(letter)] * prompt_scale))


def _conversation(model: Model, name: str, conversation: dict[str, str]) -> Request:
    prompt = model.chat(conversation["query"], system=conversation["system"])
    return Request(prompt, max_tokens=256, request_id=name)


def _random_tokens(
    model: Model, name: str, index: int, prompt_scale: float, output_scale: float
) -> Request:
    length = prompt_length(name[0], prompt_scale)
    import numpy as np

    ids = np.random.default_rng(index).integers(0, model.vocab_size, length).tolist()
    output = max(1, round(OUTPUT_LENGTHS[NAMES.index(name[0])] * output_scale))
    return Request(ids, max_tokens=output, ignore_eos=True, request_id=name)

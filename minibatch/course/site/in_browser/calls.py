"""What a page may ask of the Python in its worker: a name and its arguments, as JSON."""

from __future__ import annotations

import json

from minibatch.course.site.in_browser import arena_page, exercises_page
from minibatch.course.site.in_browser.own_code import CodeError, sentence
from minibatch.course.site.in_browser.own_list import own_list
from minibatch.course.site.in_browser.playground import Asked, Playground
from minibatch.course.site.in_browser.recorded import Recording

_shown: list[Playground] = []  # the newest one


def play(traffic: dict | None, **asked: object) -> dict[str, object]:
    """Run what the reader asked for. traffic: a recording; None is the reader's own list."""
    made = Asked(**asked)
    recording = Recording.from_json(traffic) if traffic else own_list(made.own)
    _shown[:] = [Playground(made, recording)]
    return _shown[0].report()


def frame(position: int, view: str, **more: object) -> list[str]:
    """A step of the newest run."""
    return _shown[0].frame(position, view, **more)


CALLS = {
    "play": play,
    "frame": frame,
    "arena": arena_page.begin,
    "match": arena_page.play,
    "score": arena_page.result,
    "cases": exercises_page.cases,
}


def call(name: str, arguments: str) -> str:
    """The answer as JSON: {"result": …}, or {"error": a sentence}."""
    try:
        answer = {"result": CALLS[name](**json.loads(arguments))}
    except CodeError as error:
        answer = {"error": str(error)}
    except Exception as error:  # of the reader's policy, or of ours: the page shows it either way
        answer = {"error": sentence(error)}
    return json.dumps(answer)

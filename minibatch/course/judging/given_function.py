"""A plain function that a learner's code gets in the worker; the judge computes its answers.

    student.call("capacity", GivenFunction(attainment), 1.0, 16.0)

What arrives at the judge's function may be anything that `values.py` can carry: it checks that.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from minibatch.course.judging.values import pack, unpack


class GivenFunction:
    """The judge's end. What `function` raises reaches the learner's code as a RuntimeError."""

    def __init__(self, function: Callable[..., object]) -> None:
        self._function = function

    def __call__(self, question: dict) -> object:
        """The answer to a question of `FunctionProxy`."""
        return pack(self._function(*unpack(question["args"]), **unpack(question["kwargs"])))


class FunctionProxy:
    """The worker's end: can be called, and no more. number: of the judge's function. A range is
    sent as a list."""

    def __init__(self, ask: Callable[[dict], Any], number: int) -> None:
        self._ask, self._number = ask, number

    def __call__(self, *args: object, **kwargs: object) -> Any:
        args = [_sent(value) for value in args]
        kwargs = {name: _sent(value) for name, value in kwargs.items()}
        question = {"model": self._number, "args": pack(args), "kwargs": pack(kwargs)}
        return unpack(self._ask(question))


def _sent(value: object) -> object:
    return list(value) if isinstance(value, range) else value

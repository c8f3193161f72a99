"""An object of a learner's class in the worker: made, and called method by method."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from minibatch.course.judging.values import pack, unpack


def call_object(
    make: Callable[[], Any], calls: list, describe: Callable[[Exception], dict]
) -> list[dict]:
    """Make objects, and call their methods in order: {"gave": …} or {"raised": …} of each call.

    calls: [number of the object, method, packed arguments] each; an object is made when its number
    comes first. A list among the arguments is emptied after its call, as a caller may do that goes
    on using it. Texts come back as bytes, exactly as they are. The first call that raises is the
    last one.
    """
    objects: dict[int, Any] = {}
    seen: list[dict] = []
    for number, method, arguments in calls:
        arguments = unpack(arguments)
        try:
            if number not in objects:
                objects[number] = make()
            gave = getattr(objects[number], method)(*arguments)
            seen.append({"gave": pack(_exact(gave))})
        except Exception as error:
            return [*seen, {"raised": describe(error)}]
        for argument in arguments:
            if type(argument) is list:
                argument.clear()
    return seen


def _exact(value: object) -> object:
    """Texts as bytes: what a worker sends as a text is shown, so its control characters change."""
    if isinstance(value, str):
        return value.encode("utf-8", "surrogatepass")
    if type(value) in (list, tuple):
        return type(value)(map(_exact, value))
    return value

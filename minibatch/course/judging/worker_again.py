"""A learner's function, called again and again by a caller that goes on using its own lists."""

from __future__ import annotations

from collections.abc import Callable

from minibatch.course.judging.values import pack, unpack


def call_again(function: Callable, calls: list) -> list[list]:
    """Call a function once for each list of arguments. All calls get the same list and dict
    objects, filled anew. Returns of each answer, packed: as it was after its call, and as it is
    after all calls and after the caller has emptied the answers before it."""
    arguments, answers, at_first = unpack(calls[0]), [], []
    for packed in calls:
        arguments = [_filled(old, new) for old, new in zip(arguments, unpack(packed), strict=True)]
        answers.append(function(*arguments))
        at_first.append(pack(answers[-1]))
    later = []
    for answer in answers:
        later.append(pack(answer))
        for part in (answer, *answer) if isinstance(answer, tuple | list) else ():
            if type(part) is list:
                part.clear()
    return [list(pair) for pair in zip(at_first, later, strict=True)]


def _filled(old: object, new: object) -> object:
    """The old list or dict with the new one's content; of lists in a list, each in its place."""
    if type(old) is list and type(new) is list:
        kept = [_filled(a, b) for a, b in zip(old, new, strict=False)]
        old[:] = kept + new[len(kept) :]
        return old
    if type(old) is dict and type(new) is dict:
        old.clear()
        old.update(new)
        return old
    return new

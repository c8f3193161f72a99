"""Numbers that users give: taken, or refused with the name and the value."""

import math
import operator
from collections.abc import Callable, Iterable
from numbers import Real


def integer(name: str, value: object, at_least: int | None = None) -> int:
    """The value as a plain int. Raises TypeError or ValueError, naming it."""
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise TypeError(f"{name} is {value!r}; it must be an integer")
    number = operator.index(value)
    if at_least is not None and number < at_least:
        raise ValueError(f"{name} is {number}; it must be {at_least} or more")
    return number


def token_ids(name: str, ids: Iterable[int]) -> list[int]:
    """A list of plain ints, of whatever holds some: a list, an array, a tensor."""
    if isinstance(ids, str | bytes) or not (hasattr(ids, "tolist") or isinstance(ids, Iterable)):
        raise TypeError(f"{name} is a {type(ids).__name__}; give a list of token ids")
    ids = list(ids.tolist() if hasattr(ids, "tolist") else ids)
    if set(map(type, ids)) == {int} and min(ids) >= 0:  # quicker than one after the other
        return ids
    return [integer(f"{name}[{i}]", token_id, at_least=0) for i, token_id in enumerate(ids)]


def check_number(name: str, value: float, wanted: str, fits: Callable[[float], bool]) -> None:
    """Refuse what is no finite number, or does not fit; wanted says what would."""
    if not isinstance(value, Real) or not math.isfinite(value) or not fits(value):
        raise ValueError(f"{name} is {value!r}; it must {wanted}")

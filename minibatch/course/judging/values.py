"""The plain data between judge and worker: JSON, never pickles, which can contain programs.

Lists, numbers, strings, None and booleans are sent as they are; tuples, dicts, bytes and tensors
are marked. Any other value arrives as a `Strange`, which equals nothing and has only the start of
its repr. Numpy's numbers become Python's; its arrays are not tensors, and their dtype says "numpy".
"""

from __future__ import annotations

import math
from dataclasses import dataclass

MAX_DEPTH = 12
MAX_INTEGER = 2**256


@dataclass(frozen=True, eq=False)
class Strange:
    """A value that cannot be judged, such as a generator. `looks`: the start of its repr."""

    kind: str
    looks: str

    def __repr__(self) -> str:
        return self.looks


@dataclass(frozen=True)
class Array:
    """A tensor's shape, dtype ("int64") and numbers, as nested lists; numpy's are "numpy int64"."""

    shape: tuple[int, ...]
    dtype: str
    values: object

    def __repr__(self) -> str:
        return f"tensor({self.values}, dtype={self.dtype})"


SIGNS = {"__iadd__": "+=", "__imul__": "*=", "__setitem__": "[...] =", "__delitem__": "del"}


class Lent(list):
    """A list that belongs to the caller: it can be read, and raises TypeError for every change."""

    def _refuse(name: str) -> object:
        def method(self, *args: object, **kwargs: object) -> object:
            changed = list(self)
            result = getattr(changed, name)(*args, **kwargs)
            if changed != self:
                raise TypeError(
                    "[changes_the_callers_list] "
                    f"this list belongs to the caller, and {SIGNS.get(name, name)} would change "
                    "it: make a copy, list(...), and change the copy"
                )
            return result

        return method

    append, extend, insert, remove, pop, clear = map(
        _refuse, ("append", "extend", "insert", "remove", "pop", "clear")
    )
    sort, reverse, __iadd__, __imul__, __setitem__, __delitem__ = map(
        _refuse, ("sort", "reverse", "__iadd__", "__imul__", "__setitem__", "__delitem__")
    )


class LentDict(dict):
    """The same for a dictionary."""

    def _refuse(name: str) -> object:
        def method(self, *args: object, **kwargs: object) -> object:
            changed = dict(self)
            result = getattr(changed, name)(*args, **kwargs)
            if changed != self:
                raise TypeError(
                    "[changes_the_callers_dict] "
                    f"this dictionary belongs to the caller, and {name} would change it: make a "
                    "copy, dict(...), and change the copy"
                )
            return result

        return method

    pop, popitem, clear, update, setdefault, __setitem__, __delitem__, __ior__ = map(
        _refuse,
        (
            *("pop", "popitem", "clear", "update", "setdefault"),
            *("__setitem__", "__delitem__", "__ior__"),
        ),
    )


def pack(value: object, depth: int = 0) -> object:
    """A value as JSON can represent it."""
    if depth > MAX_DEPTH:
        return _strange(value)
    if value is None or isinstance(value, bool | str):
        return value
    if type(value) is int:
        return value if abs(value) < MAX_INTEGER else _strange(value)
    if type(value) is float:
        return value if math.isfinite(value) else {"float": repr(value)}
    if type(value) is list:
        return [pack(item, depth + 1) for item in value]
    if type(value) is bytes:
        return {"bytes": value.hex()}
    if isinstance(value, tuple):  # a named one, too
        return {"tuple": [pack(item, depth + 1) for item in value]}
    if isinstance(value, Lent):
        return {"lent": [pack(item, depth + 1) for item in value]}
    if isinstance(value, LentDict):
        return {"lent dict": [[pack(k, depth + 1), pack(v, depth + 1)] for k, v in value.items()]}
    if type(value) is dict:
        return {"dict": [[pack(k, depth + 1), pack(v, depth + 1)] for k, v in value.items()]}
    if isinstance(value, Array):
        return {"array": [list(value.shape), value.dtype, value.values]}
    if hasattr(value, "shape") and hasattr(value, "tolist"):  # torch, numpy
        is_numpy = type(value).__module__ == "numpy"
        if len(value.shape) == 0 and is_numpy:
            return pack(value.item(), depth + 1)
        dtype = f"numpy {value.dtype}" if is_numpy else str(value.dtype).removeprefix("torch.")
        return {"array": [list(value.shape), dtype, value.tolist()]}
    return _strange(value)


def unpack(packed: object) -> object:
    """The value from packed data. Raises ValueError for data that `pack` cannot have made."""
    if isinstance(packed, list):
        return [unpack(item) for item in packed]
    if not isinstance(packed, dict):
        return packed
    ((kind, content),) = packed.items()
    match kind, content:
        case "float", str():
            return float(content)
        case "bytes", str():
            return bytes.fromhex(content)
        case "tuple", list():
            return tuple(unpack(item) for item in content)
        case "lent", list():
            return Lent(unpack(item) for item in content)
        case "lent dict", list():
            return LentDict({_key(unpack(key)): unpack(value) for key, value in content})
        case "dict", list():
            return {_key(unpack(key)): unpack(value) for key, value in content}
        case "array", [list() as shape, str() as dtype, values]:
            return Array(tuple(shape), dtype, values)
        case "strange", [str() as type_name, str() as looks]:
            return Strange(type_name, looks)
    raise ValueError(f"not a packed value: {kind!r}")


def _key(key: object) -> object:
    return tuple(key) if isinstance(key, list) else key


def _strange(value: object) -> dict[str, list[str]]:
    try:
        looks = repr(value)[:200]
    except Exception as error:  # a repr of the learner's own
        looks = f"<{type(value).__name__}, whose repr raises {type(error).__name__}>"
    return {"strange": [type(value).__name__, looks]}

"""Arrays that record every access. They index like numba's, and report out-of-bounds accesses."""

from __future__ import annotations

from array import array as compact
from collections import namedtuple
from collections.abc import Callable
from copy import copy
from functools import cache
from math import prod
from operator import index as as_index
from sys import _getframe

import numpy as np

from .faults import Notes, kernel_frame, site_number

READS, WRITES, ATOMIC = 0, 1, 2
DID = "reads", "writes", "updates"
COLUMNS = "thread", "epoch", "phase", "site", "place", "how", "number", "moment", "value"


class Access(namedtuple("Access", [*COLUMNS, "clock", "row"])):
    """One access of one thread: `number` elements from `place` on, in the array's flat order.

    thread: its number in the grid; epoch, phase and clock: see threads.py. site: an index in SITES.
    how: READS, WRITES or ATOMIC. value: of a write, hashed. row: its index in the array's accesses.
    """

    places = property(lambda self: range(self.place, self.place + self.number))


class Guarded(np.ndarray):
    """An array with elements that have not been written yet: reading one of them is a fault."""

    written: np.ndarray | None = None
    is_output = False  # nothing was written before the launch


def empty(shape: int | tuple[int, ...], dtype: type = np.float32) -> Guarded:
    """An output: like `torch.empty`, no element of it is written yet."""
    return partly_written(np.full(shape, nothing(np.dtype(dtype)), dtype), False)


def partly_written(array: np.ndarray, written: np.ndarray | bool) -> Guarded:
    """A contiguous array; only the elements with `written` true may be read."""
    guarded = np.ascontiguousarray(array).view(Guarded)
    guarded.written = np.array(np.broadcast_to(written, array.shape))
    guarded.is_output = written is False
    return guarded


def elements_of(columns: np.recarray) -> tuple[np.ndarray, np.ndarray]:
    """The row and the place of each accessed element: a wide load accesses several."""
    rows = np.repeat(np.arange(len(columns)), columns.number)
    nth = np.arange(len(rows)) - (np.cumsum(columns.number) - columns.number)[rows]
    return rows, columns.place[rows] + nth


class Watched:
    """An array in a launch: global, shared or local. An index gives an element or a sub-array."""

    ndim = property(lambda self: len(self.shape))
    size = property(lambda self: prod(self.shape))
    nbytes = property(lambda self: self.size * self.itemsize)
    num_accesses = property(lambda self: len(self._clocks))
    __iter__ = None  # a kernel uses indices

    def __init__(self, notes: Notes, name: str, space: str, array: np.ndarray) -> None:
        self.name, self.space, self.shape = name, space, array.shape
        self.dtype, self.itemsize = array.dtype, array.itemsize
        self.data = array.reshape(-1).view(np.ndarray)
        written = getattr(array, "written", None)
        self.written = None if written is None else written.reshape(-1)
        self.is_output = getattr(array, "is_output", False)
        self._raw, self._clocks = compact("q"), []  # a row of numbers for each access
        self._notes, self._offset, self._nothing = notes, 0, self.dtype.type(nothing(self.dtype))
        self._axes = [(n, prod(array.shape[i + 1 :])) for i, n in enumerate(array.shape)]
        whole = array.dtype.kind in "iu" and array.dtype != np.int16  # that may be bfloat16
        self._as_number = (Unsigned if array.dtype.kind == "u" else int) if whole else None

    def __len__(self) -> int:
        return self.shape[0]

    @property
    def columns(self) -> np.recarray:
        """The recorded accesses, one row each, in the order of time."""
        kept = [(name, np.int64) for name in COLUMNS]
        rows = np.frombuffer(self._raw.tobytes(), kept).view(np.recarray)
        return rows[: self.num_accesses]  # the time limit may end one that has a row, but no clock

    def accesses(self, which: np.ndarray | slice = slice(None)) -> list[Access]:
        """All accesses, or those of `which`, as objects."""
        rows = np.arange(self.num_accesses)[which].tolist()
        kept = zip(self.columns[which].tolist(), rows, strict=True)
        return [Access(*columns, self._clocks[row], row) for columns, row in kept]

    def at(self, place: int) -> str:
        """An element's name in the source: keys[2, 0, 5]."""
        index = np.unravel_index(place - self._offset, self.shape)
        return f"{self.name}[{', '.join(map(str, index))}]"

    def __getitem__(self, index: object) -> object:
        place = self._place(index)
        if type(place) is not int:
            return self._nothing if place is None else place
        value = self._value(place)
        self._record(place, READS)
        return value

    def __setitem__(self, index: object, value: object) -> None:
        place = self._place(index)
        if type(place) is int:
            self._store(place, value)
            self._record(place, WRITES)
        elif place is not None:
            raise IndexError(f"{self.name} takes {self.ndim} numbers, one per axis, not {index}")

    def load(self, index: int, number: int) -> np.ndarray:
        """Read `number` elements of a one-dimensional array by one wide load."""
        first, last = self._place(index), self._place(index + number - 1)
        if first is None or last is None:
            return np.full(number, self._nothing)
        if first % number:
            text = f"{{who}} loads {number} at {self.name}[{index}]; use a multiple of {number}"
            self._notes.fault("out of bounds", text, what=self.name)
        self._record(first, READS, number)
        return self.data[first : last + 1]

    def update(self, index: object, change: Callable, needs_old: bool) -> object:
        """An atomic read and write: stores change(old), returns old. needs_old: what it stores
        depends on the old value."""
        place = self._place(index)
        if place is None:
            return self._nothing
        if not needs_old and self.written is not None:
            self.written[place] = True
        self._record(place, ATOMIC)
        old = self._value(place)
        self._store(place, change(old))
        return old

    def _value(self, place: int) -> object:
        return self._as_number(self.data[place]) if self._as_number else self.data[place]

    def _store(self, place: int, value: object) -> None:
        self.data[place] = wrapped(value, self.dtype) if self.dtype.kind in "iu" else value

    def _place(self, index: object) -> int | Watched | None:
        """The index in the flat data; a sub-array for fewer indices; None, and a fault, outside."""
        index = index if type(index) is tuple else (index,)
        place, axes = self._offset, self._axes
        try:
            for axis, number in enumerate(index):
                length, stride = axes[axis]
                if not 0 <= number < length or type(number) is Wrapped:
                    return self._outside(index)
                place += (number if type(number) is int else as_index(number)) * stride
        except (TypeError, IndexError):  # a slice, a float, too many
            text = f"{self.name} takes {self.ndim} whole numbers as an index, not {index}"
            raise IndexError(text) from None
        used = len(index)
        if used == len(axes):
            return place
        part = copy(self)
        part.shape, part._axes, part._offset = self.shape[used:], axes[used:], place
        return part

    def _outside(self, index: tuple) -> None:
        sizes = enumerate(zip(index, self.shape, strict=False))
        beyond = (f"axis {i} ends at {n - 1}" for i, (at, n) in sizes if not 0 <= at < n)
        why = next(beyond, "this index is the result of an integer that was too large for its type")
        given = ", ".join(map(str, index))
        text = f"{{who}} asks for {self.name}[{given}], and {why}"
        self._notes.fault("out of bounds", text, what=self.name)
        self._notes.count()

    def _record(self, place: int, how: int, number: int = 1) -> None:
        """Record an access of the thread that runs now."""
        written = self.written
        if written is not None:
            is_new = not (written[place] if number == 1 else written[place : place + number].all())
            if is_new and how != WRITES:
                text = f"{{who}} reads {self.at(place)}, which no thread has written"
                self._notes.fault("unwritten", text, what=self.name)
            if how != READS:
                written[place] = True
        if self.space != "local":
            notes, thread = self._notes, self._notes.thread
            site = site_number(kernel_frame(_getframe(2)))
            own = (thread.number, thread.epoch, thread.phase)
            value = hash(self.data.item(place)) if how == WRITES else 0
            self._raw.extend((*own, site, place, how, number, notes.moment, value))
            self._clocks.append(thread.clock)
            notes.count()


def nothing(dtype: np.dtype) -> float:
    """The value of memory that no thread has written: NaN, or 0 for integers."""
    return np.nan if dtype.kind == "f" else 0


class Unsigned(int):
    """An integer of an unsigned type. With another unsigned integer, numba computes in 64 bits
    without a sign: 3 - 5 is 2**64 - 2. With a signed one, such as a constant, both are signed."""


class Wrapped(Unsigned):
    """One that was too large for its type, or a sum, difference or product with it. As an index it
    is a fault; with `%`, `&` or `>>`, as in a hash, it is an integer like others."""


def _without_a_sign(name: str) -> Callable:
    compute = getattr(int, f"__{name}__")

    def operation(self: Unsigned, other: object) -> object:
        if isinstance(other, Unsigned):
            kind, result = Unsigned, compute(self, other) % 2**64
        else:
            kind, result = int, compute(int(self) - (2**64 if self >= 2**63 else 0), other)
        if result is not NotImplemented:
            is_wrapped = name in CARRY and Wrapped in (type(self), type(other))
            result = Wrapped(result) if is_wrapped else kind(result)
        return result

    return operation


CARRY = "add", "radd", "sub", "rsub", "mul", "rmul"
for _name in (*CARRY, "floordiv", "mod", "and", "or", "xor", "lshift", "rshift"):
    setattr(Unsigned, f"__{_name}__", _without_a_sign(_name))


def wrapped(number: object, dtype: np.dtype) -> int:
    """An integer as a GPU stores it: modulo the range of its type. NaN, which comes from unwritten
    memory, becomes 0, so that the kernel continues and the read is reported."""
    lowest, size = _range_of(dtype)
    kept = ((int(number) if number == number else 0) - lowest) % size + lowest
    if dtype.kind != "u":
        return kept
    return Wrapped(kept) if number >= size or type(number) is Wrapped else Unsigned(kept)


@cache
def _range_of(dtype: np.dtype) -> tuple[int, int]:
    """The lowest number, and how many there are."""
    return int(np.iinfo(dtype).min), 1 << 8 * dtype.itemsize

"""Arrays that note who touches what. They index like numba's, and refuse what a GPU would not."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from math import prod
from operator import index as as_index
from sys import _getframe
from typing import NamedTuple

import numpy as np

from .faults import Notes, Site, site_of, site_of_frame

READS, WRITES, ATOMIC = 0, 1, 2


class Access(NamedTuple):
    """One thread at one place: `number` elements from `place` on, in the array's flat order."""

    thread: int  # its number in the grid
    epoch: int
    clock: tuple[int, ...]
    phase: int
    code: object
    instruction: int
    place: int
    how: int  # READS, WRITES or ATOMIC
    number: int

    @property
    def site(self) -> Site:
        return site_of(self.code, self.instruction)


class Guarded(np.ndarray):
    """An array of which some elements have not been written yet: reading those is a fault."""

    written: np.ndarray | None = None


def empty(shape: int | tuple[int, ...], dtype: type = np.float32) -> Guarded:
    """An output: like `torch.empty`, nothing in it is written yet."""
    return partly_written(np.full(shape, nothing(np.dtype(dtype)), dtype), False)


def partly_written(array: np.ndarray, written: np.ndarray | bool) -> Guarded:
    """A contiguous array of which only the elements where `written` is true may be read."""
    guarded = np.ascontiguousarray(array).view(Guarded)
    guarded.written = np.array(np.broadcast_to(written, array.shape))
    return guarded


class Watched:
    """An array inside a launch: global, shared or local. One element at a time, or a sub-array."""

    def __init__(
        self,
        notes: Notes,
        name: str,
        space: str,
        data: np.ndarray,
        written: np.ndarray | None,
        shape: tuple[int, ...],
        offset: int = 0,
        log: list[tuple] | None = None,
    ) -> None:
        self.name, self.space, self.shape, self.ndim = name, space, shape, len(shape)
        self.dtype, self.itemsize, self.size = data.dtype, data.dtype.itemsize, prod(shape)
        self.nbytes = self.size * self.itemsize
        self.data, self.written = data, written  # flat, of the whole array
        self.log = log if log is not None else []  # plain tuples: quicker to make and to collect
        self._notes, self._offset = notes, offset
        self._strides = [prod(shape[i + 1 :]) for i in range(len(shape))]
        self._whole = data.dtype.kind in "iu" and data.dtype != np.int16  # int16 may be bfloat16

    @cached_property
    def accesses(self) -> list[Access]:
        """All of them, once the launch is over."""
        return list(map(Access._make, self.log))

    __iter__ = None  # a kernel walks over indices

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, index: object) -> object:
        place = self._place(index, 2)
        if type(place) is int:
            self._touch(place, READS, 1)
            return int(self.data[place]) if self._whole else self.data[place]
        return place if place is not None else self._poison()

    def __setitem__(self, index: object, value: object) -> None:
        place = self._place(index, 2)
        if type(place) is int:
            self._touch(place, WRITES, 1)
            self._store(place, value)
        elif place is not None:
            raise IndexError(f"{self.name} takes {self.ndim} numbers, not {index}")

    def load(self, index: int, number: int) -> np.ndarray:
        """`number` elements of a one-dimensional array at once, by one wide load."""
        first, last = self._place(index, 3), self._place(index + number - 1, 3)
        if first is None or last is None:
            return np.full(number, self._poison())
        if first % number:
            said = f"{{who}} loads {number} elements at {self.name}[{index}], no multiple of them"
            self._fault("out of bounds", said, 3)
        self._touch(first, READS, number)
        return self.data[first : last + 1]

    def update(self, index: object, change: Callable) -> object:
        """An atomic read and write: change(old) is stored, old returned."""
        place = self._place(index, 3)
        if place is None:
            return self._poison()
        self._touch(place, ATOMIC, 1)
        old = int(self.data[place]) if self._whole else self.data[place]
        self._store(place, change(old))
        return old

    def _store(self, place: int, value: object) -> None:
        """As a GPU does: whole numbers wrap round at the end of their type's range."""
        if self.dtype.kind in "iu":
            bits = int(value) & (1 << 8 * self.itemsize) - 1
            value = np.array(bits, f"u{self.itemsize}").view(self.dtype)
        self.data[place] = value

    def _place(self, index: object, depth: int) -> int | Watched | None:
        """Where in the flat data; a sub-array for too few indices; None, and a fault, outside."""
        if type(index) is not tuple:
            index = (index,)
        flat = self._offset
        try:
            for axis, (number, length, stride) in enumerate(
                zip(index, self.shape, self._strides, strict=len(index) > self.ndim)
            ):
                if not 0 <= number < length:
                    given = ", ".join(str(n) for n in index)
                    said = f"asks for {self.name}[{given}], and axis {axis} ends at {length - 1}"
                    self._fault("out of bounds", f"{{who}} {said}", depth + 1)
                    return self._notes.count()
                flat += as_index(number) * stride
        except (TypeError, ValueError):  # a slice, a float, too many
            said = f"{self.name} takes {self.ndim} whole numbers, not {index}"
            raise IndexError(said) from None
        if len(index) == self.ndim:
            return flat
        whole = (self._notes, self.name, self.space, self.data, self.written)
        return Watched(*whole, self.shape[len(index) :], flat, self.log)

    def _touch(self, place: int, how: int, number: int) -> None:
        """Note an access, by the thread whose turn it is, of a kernel two or three frames up."""
        frame = _getframe(2) if number == 1 and how != ATOMIC else _getframe(3)
        written = self.written
        if written is not None:
            if how == WRITES:
                written[place] = True
            elif not written[place] or (number > 1 and not written[place : place + number].all()):
                at = np.unravel_index(place - self._offset, self.shape)
                index = ", ".join(str(int(i)) for i in at)
                said = f"{{who}} reads {self.name}[{index}], which nobody has written"
                self._notes.fault("unwritten", said, site_of_frame(frame), self.name)
        if self.space != "local":
            thread = self._notes.thread
            own = (thread.number, thread.epoch, thread.clock, thread.phase)
            self.log.append((*own, frame.f_code, frame.f_lasti, place, how, number))
            self._notes.count()

    def _fault(self, kind: str, sentence: str, depth: int) -> None:
        self._notes.fault(kind, sentence, site_of_frame(_getframe(depth)), self.name)

    def _poison(self) -> object:
        return self.dtype.type(nothing(self.dtype))


def nothing(dtype: np.dtype) -> float:
    """What memory holds that nobody has written."""
    return np.nan if dtype.kind == "f" else 0

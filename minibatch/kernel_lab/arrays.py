"""Arrays that note who touches what. They index like numba's, and refuse what a GPU would not."""

from __future__ import annotations

from functools import cache
from math import prod
from sys import _getframe
from typing import TYPE_CHECKING

import numpy as np

from .faults import Site

if TYPE_CHECKING:
    from .launch import Launch


class Guarded(np.ndarray):
    """An array of which some elements have not been written yet: reading those is a fault."""

    written: np.ndarray

    def __array_finalize__(self, source: object) -> None:
        self.written = getattr(source, "written", None)


def empty(shape: int | tuple[int, ...], dtype: type = np.float32) -> Guarded:
    """An output: like `torch.empty`, nothing in it is written yet."""
    array = np.zeros(shape, dtype)
    return partly_written(array, np.zeros(array.shape, bool))


def partly_written(array: np.ndarray, written: np.ndarray) -> Guarded:
    """A contiguous array of which only the elements where `written` is true may be read."""
    guarded = np.ascontiguousarray(array).view(Guarded)
    guarded.written = np.array(np.broadcast_to(written, array.shape))
    return guarded


class Watched:
    """An array inside a launch: global, shared or local. One element at a time, or a sub-array."""

    def __init__(
        self,
        launch: Launch,
        name: str,
        space: str,
        data: np.ndarray,
        written: np.ndarray | None,
        shape: tuple[int, ...],
        offset: int = 0,
        log: list | None = None,
    ) -> None:
        self.name, self.space, self.shape, self.ndim = name, space, shape, len(shape)
        self.dtype, self.itemsize, self.size = data.dtype, data.dtype.itemsize, prod(shape)
        self._launch, self._data, self._written, self._offset = launch, data, written, offset
        self._strides = [prod(shape[i + 1 :]) for i in range(len(shape))]
        self.log = log if log is not None else []

    def __len__(self) -> int:
        return self.shape[0]

    def _place(self, index: object, depth: int) -> int | Watched | None:
        """Where in the flat data; a sub-array for too few indices; None, and a fault, outside."""
        if type(index) is not tuple:
            index = (index,)
        if len(index) > self.ndim:
            raise IndexError(
                f"{self.name} has {self.ndim} dimensions, and got {len(index)} indices"
            )
        flat = self._offset
        for number, length, stride in zip(index, self.shape, self._strides, strict=False):
            if not 0 <= number < length:
                return self._outside(index, depth)
            flat += int(number) * stride
        if len(index) < self.ndim:
            rest = self.shape[len(index) :]
            return Watched(
                *(self._launch, self.name, self.space, self._data, self._written),
                *(rest, flat, self.log),
            )
        return flat

    def _outside(self, index: tuple, depth: int) -> None:
        axis = next(i for i, n in enumerate(index) if not 0 <= n < self.shape[i])
        given = ", ".join(str(int(n)) for n in index)
        self._fault(
            "out of bounds",
            f"{{who}} asks for {self.name}[{given}], and axis {axis} ends at "
            f"{self.shape[axis] - 1}",
            depth + 1,
        )

    def _fault(self, kind: str, sentence: str, depth: int) -> None:
        frame = _getframe(depth + 1)
        self._launch.fault(kind, sentence, _site(frame.f_code, frame.f_lasti), self.name)

    def __getitem__(self, index: object) -> object:
        place = self._place(index, 2)
        if type(place) is not int:
            return place if place is not None else self._poison()
        if self._written is not None and not self._written[place]:
            self._unwritten(place, 2)
        if self.space != "local":
            self._note(place, 0, 1, 2)
        return self._data[place]

    def __setitem__(self, index: object, value: object) -> None:
        place = self._place(index, 2)
        if place is None:
            return
        if self._written is not None:
            self._written[place] = True
        if self.space != "local":
            self._note(place, 1, 1, 2)
        self._data[place] = value

    def load(self, index: int, number: int) -> np.ndarray:
        """`number` elements at once, by one wide load."""
        first, last = self._place(index, 3), self._place(index + number - 1, 3)
        if first is None or last is None:
            return np.full(number, self._poison(), self.dtype)
        if self._written is not None and not self._written[first : last + 1].all():
            self._unwritten(first, 3)
        if first * self.itemsize % 16:
            self._fault("out of bounds", f"{{who}} loads 16 bytes at {self.name}[{index}], "
                        "which does not begin at a multiple of 16 bytes", 2)  # fmt: skip
        self._note(first, 0, number, 3)
        return self._data[first : last + 1]

    def update(self, index: object, change: object) -> object:
        """An atomic read and write: change(old) is stored, old returned."""
        place = self._place(index, 3)
        if place is None:
            return self._poison()
        if self._written is not None and not self._written[place]:
            self._unwritten(place, 3)
            self._written[place] = True
        self._note(place, 2, 1, 3)
        old = self._data[place]
        self._data[place] = change(old)
        return old

    def _note(self, place: int, how: int, number: int, depth: int) -> None:
        """how: 0 reads, 1 writes, 2 is atomic; by the thread whose turn it is."""
        frame, thread = _getframe(depth), self._launch.thread
        self.log.append(
            (thread.number, thread.epoch, thread.warp_epoch, thread.phase)
            + (frame.f_code, frame.f_lasti, place, how, number)
        )
        self._launch.count()

    def _poison(self) -> object:
        return self.dtype.type(np.nan if self.dtype.kind == "f" else 0)

    def _unwritten(self, place: int, depth: int) -> None:
        index = np.unravel_index(place - self._offset, self.shape)
        given = ", ".join(str(int(i)) for i in index)
        self._fault(
            "unwritten", f"{{who}} reads {self.name}[{given}], which nobody has written", depth
        )


@cache
def _site(code: object, instruction: int) -> Site:
    line, _, start, end = list(code.co_positions())[instruction // 2]
    return Site(code.co_filename, line or code.co_firstlineno, (start or 0, end or 0))

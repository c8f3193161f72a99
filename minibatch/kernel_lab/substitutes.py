"""Replaces numba's `cuda`, `math`, types and intrinsics in a kernel.

Numbers: integers are Python's, and exact. A float32 is numpy's, so every operation is rounded to
float32. A GPU fuses a product and a sum, and has its own exp: the last digit may differ. `x * 2.0`
stays float32 here and becomes a slow float64 on a GPU.
"""

from __future__ import annotations

import builtins
import math
from collections import namedtuple
from collections.abc import Callable
from functools import partial
from types import CellType, CodeType, FunctionType, ModuleType, SimpleNamespace
from typing import Any

import numpy as np

from .arrays import Watched, wrapped
from .faults import Notes, call_stack, kernel_frame
from .threads import ALL, BARRIER, SYNC_WARP, WARP, Thread, merge_clocks, wait

SHUFFLES = {  # the lane to read from
    "shfl_sync": lambda lane, source: int(source) % WARP,
    "shfl_up_sync": lambda lane, delta: lane - int(delta),
    "shfl_down_sync": lambda lane, delta: lane + int(delta),
    "shfl_xor_sync": lambda lane, other: lane ^ int(other),
}
PLAIN = {
    "selp": lambda condition, yes, no: yes if condition else no,
    "fma": lambda a, b, c: a * b + c,
    "popc": lambda number: (int(number) & ALL).bit_count(),
    "ffs": lambda number: (int(number) & -int(number)).bit_length(),
    "clz": lambda number: 32 - (int(number) & ALL).bit_length(),
}
VOTES = {  # the result of the threads' predicates
    "ballot_sync": lambda threads: sum(1 << t.lane for t in threads if t.brings),
    "all_sync": lambda threads: all(t.brings for t in threads),
    "any_sync": lambda threads: any(t.brings for t in threads),
    "syncthreads_count": lambda threads: sum(bool(t.brings) for t in threads),
    "syncthreads_and": lambda threads: int(all(t.brings for t in threads)),
    "syncthreads_or": lambda threads: int(any(t.brings for t in threads)),
}
ATOMICS = {
    "add": lambda old, value: old + value,
    "sub": lambda old, value: old - value,
    "max": max,
    "min": min,
    "and_": lambda old, value: old & value,
    "or_": lambda old, value: old | value,
    "xor": lambda old, value: old ^ value,
    "cas": lambda old, expected, value: value if old == expected else old,
    "exch": lambda old, value: value,
}


def rebuilt(kernel: FunctionType, notes: Notes, new_array: Any) -> FunctionType:
    """The same code with substitutes for its globals; functions that it calls are rebuilt, too.

    new_array: makes shared and local arrays from ("shared" or "local", shape, dtype).
    """
    known: dict[FunctionType, FunctionType] = {}
    modules = {"math": _MATH, "numba": SimpleNamespace(cuda=Cuda(notes, new_array), **TYPES)}

    def copy(original: FunctionType) -> FunctionType:
        if original not in known:
            names: dict[str, object] = {"__builtins__": builtins, "int": TYPES["int64"]}
            cells = tuple(CellType() for _ in original.__closure__ or ())
            own = (original.__code__, names, original.__name__, original.__defaults__, cells)
            known[original] = FunctionType(*own)  # before its names: a function may call itself
            for name in _names(original.__code__) & original.__globals__.keys():
                names[name] = substitute(original.__globals__[name])
            for cell, old in zip(cells, original.__closure__ or (), strict=True):
                cell.cell_contents = substitute(old.cell_contents)
        return known[original]

    def substitute(thing: object) -> object:
        if isinstance(thing, ModuleType):
            is_cuda = hasattr(thing, "syncthreads")
            return modules["numba"].cuda if is_cuda else modules.get(thing.__name__, thing)
        function = getattr(thing, "py_func", thing)  # the function under @cuda.jit, or itself
        if isinstance(function, FunctionType):
            return copy(function)
        if type(thing).__module__.startswith(("numba", "numba_cuda")):
            return _INTRINSICS.get(getattr(thing, "_name", None)) or TYPES.get(str(thing), thing)
        return TYPES["int64"] if thing is int else thing

    return copy(kernel)


def _names(code: CodeType) -> set[str]:
    inner = [constant for constant in code.co_consts if isinstance(constant, CodeType)]
    return set(code.co_names).union(*(_names(each) for each in inner))


def _rounded(original: Any) -> Any:
    """A function of `math`, rounded to float32 if an argument is a float32."""

    def compute(*numbers: object) -> object:
        try:
            result = original(*numbers)
        except (OverflowError, ValueError) as error:  # exp(1000); the root of -1
            result = math.inf if isinstance(error, OverflowError) else math.nan
        single = isinstance(result, float) and isinstance(numbers[0], np.floating)
        return numbers[0].dtype.type(result) if single else result

    return compute if callable(original) else original


_MATH = SimpleNamespace(**{name: _rounded(thing) for name, thing in vars(math).items()})
_INTEGERS = [f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)]
TYPES = {  # what a cast to each of them does
    **{name: partial(wrapped, dtype=np.dtype(name)) for name in _INTEGERS},
    **{name: getattr(np, name) for name in ("float16", "float32", "float64")},
    "bool": np.bool_,
}


def _widen(number: object) -> np.float32:
    """A stored number as float32; a bfloat16 arrives as int16 bits."""
    if type(number) is np.int16:
        return (np.uint32(number.view(np.uint16)) << np.uint32(16)).view(np.float32)
    return np.float32(number)


def _narrow(number: object, array: Watched | np.ndarray) -> object:
    if array.dtype != np.int16:
        return array.dtype.type(number)
    bits = int(np.float32(number).view(np.uint32))
    rounded = 0x7FC0 if number != number else (bits + 0x7FFF + (bits >> 16 & 1)) >> 16
    return np.uint16(rounded).view(np.int16)


def _load_16_bytes(array: Watched | np.ndarray, index: int, into: object, at: int) -> None:
    number = 16 // array.itemsize
    numbers = array.load(index, number) if isinstance(array, Watched) else array[index:][:number]
    for i, each in enumerate(numbers):
        into[at + i] = _widen(each)


_Dim = namedtuple("_Dim", "x y z")
_INTRINSICS = {"widen": _widen, "narrow": _narrow, "load_16_bytes": _load_16_bytes}


class Cuda:
    """The part of `numba.cuda` that kernels use, for the running thread."""

    warpsize = WARP

    def __init__(self, notes: Notes, new_array: Any) -> None:
        self._notes = notes
        self.gridDim, self.blockDim = _Dim(*notes.grid), _Dim(*notes.threads)
        self.shared = SimpleNamespace(array=partial(_array, new_array, "shared"))
        self.local = SimpleNamespace(array=partial(_array, new_array, "local"))
        self.atomic = _Atomic()
        shuffles = {name: self._shuffle(name, source_of) for name, source_of in SHUFFLES.items()}
        votes = {name: self._vote(name, count) for name, count in VOTES.items()}
        vars(self).update(PLAIN | shuffles | votes)
        self.threadfence = self.threadfence_block = self.threadfence_system = lambda: None

    def __getattr__(self, name: str) -> object:
        raise NotImplementedError(f"the kernel lab has no cuda.{name}")

    @property
    def _thread(self) -> Thread:
        """The running thread. What threads do differently, they do after asking for an index."""
        thread = self._notes.thread
        thread.home = thread.home or [*call_stack(kernel_frame())][-1]
        return thread

    threadIdx = property(lambda self: _Dim(*self._thread.index))
    blockIdx = property(lambda self: _Dim(*self._thread.block))
    laneid = property(lambda self: self._thread.lane)

    def grid(self, ndim: int) -> int | tuple[int, ...]:
        thread, sizes = self._thread, self._notes.threads
        where = [b * n + i for b, n, i in zip(thread.block, sizes, thread.index, strict=True)]
        return where[0] if ndim == 1 else tuple(where[:ndim])

    def gridsize(self, ndim: int) -> int | tuple[int, ...]:
        sizes = [a * b for a, b in zip(self._notes.grid, self._notes.threads, strict=True)]
        return sizes[0] if ndim == 1 else tuple(sizes[:ndim])

    def syncthreads(self) -> None:
        wait(self._notes, BARRIER, lambda threads: threads)

    def syncwarp(self, mask: int = ALL) -> None:
        wait(self._notes, SYNC_WARP, merge_clocks, mask=int(mask) & ALL)

    def _vote(self, name: str, count: Callable) -> Callable:
        """A vote of the lanes in a mask, or of the thread block."""

        def resolve(threads: list[Thread]) -> list:
            return [count(threads)] * len(threads)

        if name.startswith(BARRIER):
            return lambda predicate: wait(self._notes, BARRIER, resolve, predicate)
        return lambda mask, predicate: wait(self._notes, name, resolve, predicate, int(mask) & ALL)

    def _shuffle(self, name: str, source_of: Callable) -> Callable:
        def shuffle(mask: int, value: object, n: int) -> object:
            brings = value, source_of(self._notes.thread.lane, n)
            return wait(self._notes, name, self._hand_round, brings, int(mask) & ALL)

        return shuffle

    def _hand_round(self, lanes: list[Thread]) -> list[object]:
        """What each lane gets: the value of the lane that it reads; outside the warp, its own."""
        given = {lane.lane: lane.brings[0] for lane in lanes}
        for lane in lanes:
            _, source = lane.brings
            if source not in given and 0 <= source < WARP:
                mask = lane.place[1]
                why = "does not take part" if mask >> source & 1 else f"mask {mask:#x} leaves out"
                text = f"{{who}} reads lane {source}, which {why}: the value is undefined"
                self._notes.fault("shuffle", text, lane.site, thread=lane)
        return [given.get(source, own) for own, source in (lane.brings for lane in lanes)]


class _Atomic:
    def __getattr__(self, name: str) -> object:
        if name not in ATOMICS:
            raise NotImplementedError(f"the kernel lab has no cuda.atomic.{name}")
        return partial(_update, name)


def _array(new_array: Any, space: str, shape: object, dtype: Any) -> object:
    if isinstance(dtype, partial):  # one of our casts
        dtype = dtype.keywords["dtype"]
    shape = shape if isinstance(shape, tuple) else (int(shape),)
    return new_array(space, shape, np.dtype(dtype))


def _update(name: str, array: Watched | np.ndarray, index: object, *values: object) -> object:
    if isinstance(array, Watched):
        return array.update(index, lambda old: ATOMICS[name](old, *values), name != "exch")
    old = array[index]
    array[index] = ATOMICS[name](old, *values)
    return old

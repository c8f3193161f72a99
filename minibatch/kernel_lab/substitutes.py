"""What a kernel finds instead of numba's `cuda`, `math`, types and intrinsics, and its own source
over them.

Numbers: integers are Python's, and exact; a float32 is numpy's, so every operation is rounded to
float32, one by one. A GPU fuses a product and a sum, and has an exp of its own: the last digit may
differ. `x * 2.0` stays float32 here and becomes a slow float64 there.
"""

from __future__ import annotations

import builtins
import math
from collections.abc import Callable
from types import CellType, CodeType, FunctionType, ModuleType, SimpleNamespace
from typing import TYPE_CHECKING

import numpy as np

from .arrays import Watched
from .faults import Stop
from .threads import BARRIER, SYNC_WARP, WARP, meeting, wait

if TYPE_CHECKING:
    from .launch import Launch

ALL = 0xFFFFFFFF


def rebuilt(kernel: object, launch: Launch) -> FunctionType:
    """The same code over substitutes; functions that it calls are rebuilt, too."""
    return _Rebuilder(launch).function(getattr(kernel, "py_func", kernel))


class _Rebuilder:
    def __init__(self, launch: Launch) -> None:
        self._known: dict[object, FunctionType] = {}
        self._launch = launch
        self._cuda = Cuda(launch)
        self._math = _Math()
        self._by_identity = _intrinsics()

    def function(self, function: FunctionType) -> FunctionType:
        if function in self._known:
            return self._known[function]
        names: dict[str, object] = {"__builtins__": builtins}
        cells = tuple(CellType() for _ in function.__closure__ or ())
        copy = FunctionType(
            function.__code__, names, function.__name__, function.__defaults__, cells
        )
        self._known[function] = copy  # before its names, which may lead back here
        for name in _names(function.__code__) & function.__globals__.keys():
            names[name] = self._substitute(function.__globals__[name])
        for cell, original in zip(cells, function.__closure__ or (), strict=True):
            cell.cell_contents = self._substitute(original.cell_contents)
        return copy

    def _substitute(self, thing: object) -> object:
        if isinstance(thing, ModuleType):
            if thing.__name__ == "math":
                return self._math
            if thing.__name__.endswith("cuda") and hasattr(thing, "threadIdx"):
                return self._cuda
            if thing.__name__ == "numba":
                return SimpleNamespace(cuda=self._cuda, **_TYPES)
            return thing
        if isinstance(thing, FunctionType) and thing.__module__ != "builtins":
            return self.function(thing)
        if hasattr(thing, "py_func"):  # what @cuda.jit made of a function
            return self.function(thing.py_func)
        if id(thing) in self._by_identity:
            return self._by_identity[id(thing)]
        if type(thing).__module__.startswith("numba") and str(thing) in _TYPES:
            return _TYPES[str(thing)]
        return thing


def _names(code: CodeType) -> set[str]:
    inner = [constant for constant in code.co_consts if isinstance(constant, CodeType)]
    return set(code.co_names).union(*(_names(each) for each in inner))


class _Math:
    """`math`, rounded to float32 where a float32 goes in."""

    def __getattr__(self, name: str) -> object:
        original = getattr(math, name)
        if not callable(original):
            return original

        def rounded(*numbers: object) -> object:
            try:
                result = original(*numbers)
            except OverflowError:
                result = math.inf
            except ValueError:  # the root of a negative number, say
                result = math.nan
            single = isinstance(result, float) and isinstance(numbers[0], np.floating)
            return numbers[0].dtype.type(result) if single else result

        setattr(self, name, rounded)
        return rounded


def _integer(name: str) -> object:
    """A cast: numbers wrap round at the end of the type's range."""
    info = np.iinfo(name)
    span = int(info.max) - int(info.min) + 1

    def cast(number: object) -> int:
        return (int(number) - int(info.min)) % span + int(info.min)

    cast.dtype = np.dtype(name)
    return cast


_TYPES = {
    **{name: _integer(name) for name in ("int8", "int16", "int32", "int64")},
    **{name: _integer(name) for name in ("uint8", "uint16", "uint32", "uint64")},
    **{name: getattr(np, name) for name in ("float16", "float32", "float64")},
    "boolean": bool,
    "bool": bool,
}  # fmt: skip


def _dtype(kind: object) -> np.dtype:
    if not isinstance(kind, type):  # one of our casts, or a type of numba's
        kind = getattr(kind, "dtype", None) or _TYPES[str(kind)]
    return np.dtype(kind)


def _intrinsics() -> dict[int, object]:
    """minibatch's own, by identity."""
    from minibatch.attention.cuda import shim

    return {
        id(shim.widen): _widen,
        id(shim.narrow): _narrow,
        id(shim.load_16_bytes): _load_16_bytes,
    }


def _widen(number: object) -> np.float32:
    """A stored number as float32; the bits of a bfloat16 come as int16."""
    if type(number) is np.int16:
        return (np.uint32(number.view(np.uint16)) << np.uint32(16)).view(np.float32)
    return np.float32(number)


def _narrow(number: object, array: Watched) -> object:
    if array.dtype != np.int16:
        return array.dtype.type(number)
    if number != number:
        return np.int16(0x7FC0)
    bits = int(np.float32(number).view(np.uint32))
    return np.uint16((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).view(np.int16)


def _load_16_bytes(array: Watched, index: int, into: Watched, at: int) -> None:
    number = 16 // array.itemsize
    numbers = array.load(index, number) if isinstance(array, Watched) else array[index:][:number]
    for i, number in enumerate(numbers):
        into[at + i] = _widen(number)


class Cuda:
    """What kernels use of `numba.cuda`, for the thread whose turn it is."""

    warpsize = WARP

    def __init__(self, launch: Launch) -> None:
        self._launch = launch
        self.gridDim, self.blockDim = _Dim(launch.grid), _Dim(launch.threads)
        self.shared = SimpleNamespace(array=self._shared)
        self.local = SimpleNamespace(array=self._local)
        self.const = SimpleNamespace(array_like=lambda array: array)
        self.atomic = _Atomic()

    def __getattr__(self, name: str) -> object:
        raise NotImplementedError(f"the kernel lab has no cuda.{name}")

    threadIdx = property(lambda self: _Dim(self._launch.thread.index))
    blockIdx = property(lambda self: _Dim(self._launch.thread.block))
    laneid = property(lambda self: self._launch.thread.lane)

    def grid(self, ndim: int) -> int | tuple[int, ...]:
        thread = self._launch.thread
        where = tuple(
            block * size + index
            for block, size, index in zip(
                thread.block, self._launch.threads, thread.index, strict=True
            )
        )
        return where[0] if ndim == 1 else where[:ndim]

    def gridsize(self, ndim: int) -> int | tuple[int, ...]:
        sizes = tuple(a * b for a, b in zip(self._launch.grid, self._launch.threads, strict=True))
        return sizes[0] if ndim == 1 else sizes[:ndim]

    # arrays of a block, of a thread

    def _shared(self, shape: object, dtype: object) -> object:
        return self._launch.shared_array(shape, _dtype(dtype))

    def _local(self, shape: object, dtype: object) -> object:
        return self._launch.local_array(shape, _dtype(dtype))

    # where threads meet

    def syncthreads(self) -> None:
        wait(self._launch, meeting(BARRIER))

    def syncthreads_count(self, predicate: object) -> int:
        return self._counted(predicate, lambda all_: sum(bool(one) for one in all_))

    def syncthreads_and(self, predicate: object) -> int:
        return self._counted(predicate, lambda all_: int(all(all_)))

    def syncthreads_or(self, predicate: object) -> int:
        return self._counted(predicate, lambda all_: int(any(all_)))

    def _counted(self, predicate: object, resolve: object) -> int:
        return wait(self._launch, meeting(BARRIER, 3, brings=predicate, resolve=resolve))

    def syncwarp(self, mask: int = ALL) -> None:
        self._warp(SYNC_WARP, mask, None, None)

    def shfl_sync(self, mask: int, value: object, source: int) -> object:
        return self._shuffle("shfl_sync", mask, value, lambda lane: int(source) % WARP)

    def shfl_up_sync(self, mask: int, value: object, delta: int) -> object:
        return self._shuffle("shfl_up_sync", mask, value, lambda lane: lane - int(delta))

    def shfl_down_sync(self, mask: int, value: object, delta: int) -> object:
        return self._shuffle("shfl_down_sync", mask, value, lambda lane: lane + int(delta))

    def shfl_xor_sync(self, mask: int, value: object, other: int) -> object:
        return self._shuffle("shfl_xor_sync", mask, value, lambda lane: lane ^ int(other))

    def ballot_sync(self, mask: int, predicate: object) -> int:
        return self._vote("ballot_sync", mask, predicate, lambda lanes: sum(1 << n for n in lanes))

    def all_sync(self, mask: int, predicate: object) -> bool:
        mask = int(mask) & ALL
        return self._vote("all_sync", mask, predicate, lambda yes: len(yes) == mask.bit_count())

    def any_sync(self, mask: int, predicate: object) -> bool:
        return self._vote("any_sync", mask, predicate, lambda yes: len(yes) > 0)

    def _vote(self, what: str, mask: int, predicate: object, count: object) -> object:
        def resolve(brought: dict[int, object]) -> dict[int, object]:
            answer = count([lane for lane, yes in brought.items() if yes])
            return dict.fromkeys(brought, answer)

        return self._warp(what, mask, predicate, resolve)

    def _shuffle(self, what: str, mask: int, value: object, source_of: object) -> object:
        """A lane brings its value, and where it wants another from; outside the warp, its own."""
        launch = self._launch
        frame_depth = 4

        def resolve(brought: dict[int, tuple]) -> dict[int, object]:
            got = {}
            for lane, (own, source) in brought.items():
                got[lane] = brought[source][0] if source in brought else own
            return got

        lane = launch.thread.lane
        source = source_of(lane)
        mask = int(mask) & ALL
        if 0 <= source < WARP and not mask >> source & 1:
            site = meeting(what, frame_depth - 1).site
            launch.fault(
                "shuffle",
                f"{{who}} reads lane {source} in {what}, which its mask {mask:#x} leaves out: "
                "what it gets is undefined",
                site,
            )
        return self._warp(what, mask, (value, source), resolve, depth=frame_depth)

    def _warp(
        self, what: str, mask: int, brings: object, resolve: object, depth: int = 3
    ) -> object:
        launch, mask = self._launch, int(mask) & ALL
        met = meeting(what, depth, mask=mask, brings=brings, resolve=resolve)
        if not mask >> launch.thread.lane & 1:
            launch.fault(
                "shuffle",
                f"{{who}} is in {what}, and its mask {mask:#x} leaves out its own lane "
                f"{launch.thread.lane}",
                met.site,
            )
            raise Stop
        return wait(launch, met)

    def threadfence(self) -> None:
        pass

    threadfence_block = threadfence_system = threadfence

    @staticmethod
    def selp(condition: object, yes: object, no: object) -> object:
        return yes if condition else no

    @staticmethod
    def fma(a: object, b: object, c: object) -> object:
        return a * b + c

    @staticmethod
    def popc(number: int) -> int:
        return (int(number) & ALL).bit_count()

    @staticmethod
    def ffs(number: int) -> int:
        return (int(number) & -int(number)).bit_length()

    @staticmethod
    def clz(number: int) -> int:
        return 32 - (int(number) & ALL).bit_length()


class _Dim:
    def __init__(self, sizes: tuple[int, int, int]) -> None:
        self.x, self.y, self.z = sizes


class _Atomic:
    """Reads and writes in one, which no other thread comes between."""

    def add(self, array: Watched, index: object, value: object) -> object:
        return _update(array, index, lambda old: old + value)

    def sub(self, array: Watched, index: object, value: object) -> object:
        return _update(array, index, lambda old: old - value)

    def max(self, array: Watched, index: object, value: object) -> object:
        return _update(array, index, lambda old: max(old, value))

    def min(self, array: Watched, index: object, value: object) -> object:
        return _update(array, index, lambda old: min(old, value))

    def exch(self, array: Watched, index: object, value: object) -> object:
        return _update(array, index, lambda old: value)

    def cas(self, array: Watched, index: object, expected: object, value: object) -> object:
        return _update(array, index, lambda old: value if old == expected else old)


def _update(array: object, index: object, change: Callable) -> object:
    if isinstance(array, Watched):
        return array.update(index, change)
    old = array[index]
    array[index] = change(old)
    return old

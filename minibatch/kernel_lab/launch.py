"""One launch of a kernel, thread by thread, on this machine."""

from __future__ import annotations

import ctypes
import dis
import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from itertools import product
from math import prod
from sys import _getframe
from types import CodeType

import numpy as np
import torch

from .arrays import Guarded, Watched, nothing
from .faults import Notes, Stop, site_of_frame
from .races import find_races
from .report import Pause, Report
from .substitutes import rebuilt
from .threads import Block, Thread

MOST_THREADS = 1024  # of a block, as on a GPU
MOST_SHARED = 48 * 1024  # bytes of a block, unless a launch asks for more
Size = int | tuple[int, ...]


def run(
    kernel: Callable,
    grid: Size,
    threads: Size,
    *arguments: object,
    watch: tuple[int, int, int] = (0, 0, 0),
    shared_bytes: int = 0,
    most_accesses: int = 2_000_000,
    seconds: float = 20.0,
) -> Report:
    """Run a kernel on grid x threads, and note every access to global and shared memory.

    kernel: a function over numba's `cuda`, decorated or not; its source is not changed.
    arguments: numpy arrays or CPU tensors, contiguous, changed in place as on a GPU, and numbers.
        Give outputs as `lab.empty`, and reading what nobody has written is a fault; a bfloat16
        tensor arrives as int16, as for the GPU.
    watch: the block whose barriers the report can step through. shared_bytes: of an array of
        length 0, as in numba's launch. most_accesses, seconds: where a loop without an end ends.
    Faults are in the report, and raise nothing; what Python itself raises inside the kernel does.
    """
    launch = Launch(kernel, grid, threads, most_accesses, watch, shared_bytes)
    launch.run(arguments, seconds)
    notes = launch.notes
    with suppress(Stop):
        for array in (*launch.globals, *launch.shared):
            find_races(array, notes)
    sizes = (notes.grid, notes.threads)
    found = (notes.faults, launch.globals, launch.shared, launch.pauses)
    return Report(launch.kernel, *sizes, *found)


def emulate(kernel: Callable, grid: Size, threads: Size, *arguments: object) -> None:
    """The same without watching, and faster. Raises RuntimeError for what would hang a GPU."""
    launch = Launch(kernel, grid, threads, 10**12, None)
    launch.run(arguments, seconds=600)
    for fault in launch.notes.faults:
        raise RuntimeError(str(fault))


class Launch:
    """Runs the thread blocks, one after the other, and makes their arrays.

    watch: a block to step through; None watches nothing at all.
    """

    def __init__(
        self,
        kernel: Callable,
        grid: Size,
        threads: Size,
        most_accesses: int,
        watch: tuple[int, int, int] | None,
        shared_bytes: int = 0,
    ) -> None:
        self.kernel = getattr(kernel, "py_func", kernel)
        self.notes = Notes(_three(grid), _three(threads), most_accesses)
        if not 0 < prod(self.notes.threads) <= MOST_THREADS or min(self.notes.grid) < 1:
            raise ValueError(
                f"a grid of {grid} and a block of {threads}: a block has 1 to {MOST_THREADS} "
                "threads, and a grid at least one block each way"
            )
        self.globals: list[Watched] = []
        self.shared: list[Watched] = []
        self.pauses: list[Pause] = []
        self._watch, self._shared_bytes = watch, shared_bytes

    def run(self, arguments: tuple, seconds: float) -> None:
        names = self.kernel.__code__.co_varnames[: self.kernel.__code__.co_argcount]
        if len(arguments) != len(names):
            raise TypeError(
                f"the kernel takes {', '.join(names)}, and got {len(arguments)} of them"
            )
        given = [self._argument(names[i], each) for i, each in enumerate(arguments)]
        body = rebuilt(self.kernel, self.notes, self._array)

        def thread() -> None:
            with np.errstate(all="ignore"):  # each greenlet has a context of its own
                body(*given)

        with self._watchdog(seconds), suppress(Stop):
            for number, block in enumerate(_indices(self.notes.grid)):
                threads = [
                    Thread(number * prod(self.notes.threads) + rank, index, block, rank)
                    for rank, index in enumerate(_indices(self.notes.threads))
                ]
                self._block = Block(self.notes, threads, thread, self._pause)
                self._block.run()

    def _array(self, space: str, shape: tuple[int, ...], dtype: np.dtype) -> object:
        """A thread's own; or the block's, for every thread that comes to the same place."""
        frame = _getframe(2)
        place = site_of_frame(frame)
        if space == "shared" and place in self._block.shared:
            return self._block.shared[place]
        if shape == (0,):
            shape = (self._shared_bytes // dtype.itemsize,)
            if not shape[0] or self._block.has_dynamic:
                raise ValueError(
                    "a shared array of length 0 takes its size from `shared_bytes`, and there can "
                    "be one: a second would be the same memory"
                )
            self._block.has_dynamic = True
        taken = sum(each.nbytes for each in self._block.shared.values())
        if space == "shared" and taken + prod(shape) * dtype.itemsize > MOST_SHARED:
            raise MemoryError(
                f"a block of this launch takes more than {MOST_SHARED:,} bytes, shared"
            )
        data = np.full(prod(shape), nothing(dtype), dtype)
        array = data.reshape(shape)
        if self._watch:
            name = _assigned_name(frame.f_code, frame.f_lasti) or f"the {space} array"
            array = Watched(self.notes, name, space, data, np.zeros(len(data), bool), shape)
        if space == "shared":
            self._block.shared[place] = array
            self.shared += [array] if self._watch else []
        return array

    def _argument(self, name: str, value: object) -> object:
        written = value.written if isinstance(value, Guarded) else None
        if isinstance(value, torch.Tensor):
            bits = value.view(torch.int16) if value.dtype == torch.bfloat16 else value
            value = bits.detach().numpy()
        if not isinstance(value, np.ndarray):
            return np.float32(value) if isinstance(value, float) else value
        if not value.flags.c_contiguous:
            raise ValueError(f"{name} is not contiguous; numpy.ascontiguousarray makes it so")
        value = value.view(np.ndarray)
        if not self._watch:
            return value
        written = written if written is None else written.reshape(-1)
        array = Watched(self.notes, name, "global", value.reshape(-1), written, value.shape)
        self.globals.append(array)
        return array

    def _pause(self, waiting: list[Thread]) -> None:
        """Where the watched block stands, for the report."""
        if self._block.threads[0].block != self._watch:
            return
        arrays = list(self._block.shared.values())
        self.pauses.append(
            Pause(
                {t.rank: (t.waits.site.line, _numbers(t.waits.frame)) for t in waiting},
                {
                    a.name: (a.data.reshape(a.shape).copy(), a.written.reshape(a.shape).copy())
                    for a in arrays
                },
                {a.name: len(a.log) for a in (*self.globals, *arrays)},
            )
        )

    @contextmanager
    def _watchdog(self, seconds: float) -> Iterator[None]:
        """Ends a loop that touches nothing and meets nobody, which no count would see."""
        us, lock, is_over = threading.get_ident(), threading.Lock(), threading.Event()

        def bark() -> None:
            with lock:
                if not is_over.is_set():
                    too_long = ctypes.py_object(_TooLong)
                    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(us), too_long)

        timer = threading.Timer(seconds, bark)
        timer.daemon = True
        timer.start()
        try:
            yield
        except _TooLong as error:
            frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
            site = site_of_frame(frames[-1])
            self.notes.no_end(f"after {seconds:g} s (`seconds` allows more)", site)
        finally:
            timer.cancel()
            with lock:
                is_over.set()


class _TooLong(BaseException):
    """Raised by the watchdog in the thread that runs the kernel."""


def _three(sizes: Size) -> tuple[int, int, int]:
    sizes = sizes if isinstance(sizes, tuple) else (sizes,)
    if not 1 <= len(sizes) <= 3:
        raise ValueError(f"{sizes} has {len(sizes)} numbers; a grid or a block has 1 to 3")
    return (*map(int, sizes), 1, 1)[:3]


def _indices(sizes: tuple[int, int, int]) -> Iterator[tuple[int, int, int]]:
    """All x, y, z; x the fastest."""
    return (index[::-1] for index in product(*map(range, sizes[::-1])))


@cache
def _assigned_name(code: CodeType, call: int) -> str | None:
    """The variable that a call's result goes to: q in `q = cuda.shared.array(…)`."""
    instruction = next((each for each in dis.get_instructions(code) if each.offset > call), None)
    is_stored = instruction is not None and instruction.opname.startswith("STORE")
    return instruction.argval if is_stored else None


def _numbers(frame: object) -> dict[str, object]:
    """A frame's variables, as far as they are numbers."""
    kept = (int, float, np.integer, np.floating)
    return {name: value for name, value in frame.f_locals.items() if isinstance(value, kept)}

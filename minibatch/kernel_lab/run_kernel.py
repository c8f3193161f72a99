"""One launch of a kernel, thread by thread, on this machine."""

from __future__ import annotations

import dis
import sys
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache
from itertools import combinations
from math import prod
from random import Random
from types import CodeType, FrameType

import numpy as np

from ..core.collector import collector_held_back
from .arrays import Watched, empty
from .faults import Notes, Site, Stop, kernel_frame, site_here
from .judgement import difference, find_foreign
from .races import find_races
from .report import Pause, Report
from .substitutes import rebuilt
from .threads import Block, Thread, thread_of
from .time_limit import TooLong, time_limit

MOST_THREADS = 1024  # of a block, as on a GPU
MOST_SHARED = 48 * 1024  # bytes of a block
Size = int | tuple[int, ...]


def run(
    kernel: Callable,
    grid: Size,
    threads: Size,
    *arguments: object,
    watch: tuple[int, int, int] = (0, 0, 0),
    most_accesses: int = 2_000_000,
    seconds: float = 20.0,
    schedule: int | None = None,
    expect: dict[str, np.ndarray] | None = None,
    tolerance: float = 2e-5,
    owners: np.ndarray | None = None,
    row_of: Callable[[int, int, int], int | Sequence[int]] = lambda x, y, z: x,
) -> Report:
    """Run a kernel on grid x threads, and record every access to global and shared memory.

    kernel: a function that uses numba's `cuda`, decorated or not; its source is not changed.
    arguments: numpy arrays or CPU tensors, contiguous, changed in place as on a GPU, and numbers.
        Make outputs with `lab.empty`: then reading an unwritten element is a fault. A bfloat16
        tensor arrives as int16, as on the GPU.
    watch: the thread block whose barriers the report can step through. most_accesses, seconds
        (of processor time): limits that end an endless loop.
    schedule: a seed for the order in which threads run; a correct kernel gives the same result
        with every seed. By default each thread runs until it waits, in the order of their numbers.
    expect: the expected content of arrays by name, NaN where any value is right; the report gives
        the first element that differs by more than the tolerance.
    owners: bool [rows, slots], the slots of key_cache and value_cache of each row; row_of: (x, y,
        z) of a thread block -> its row, or a list of its rows. Reading another row's slots is a
        fault, and so is writing slots that the row does not own alone.
    Faults are in the report and do not raise. A Python error inside the kernel is raised.
    """
    launch = Launch(kernel, grid, threads, most_accesses, watch, schedule)
    with collector_held_back():
        notes = launch.run(arguments, seconds)
        launch.search()
    wrong = ""
    for array in launch.globals:
        if owners is not None and array.name in ("key_cache", "value_cache"):
            find_foreign(array, owners, row_of, notes)
        if array.name in (expect or {}):
            got, expected = array.data.reshape(array.shape), expect[array.name]
            wrong = wrong or difference(array.name, got, expected, tolerance)
    return Report(launch.kernel, notes, wrong, launch.globals, launch.shared, launch.pauses)


class Launch:
    """Runs the thread blocks, one after the other, and makes their arrays.

    watch: a thread block to step through; None: record nothing.
    """

    def __init__(
        self,
        kernel: Callable,
        grid: Size,
        threads: Size,
        most_accesses: int,
        watch: tuple[int, int, int] | None = None,
        schedule: int | None = None,
    ) -> None:
        self.kernel = getattr(kernel, "py_func", kernel)
        code = self.kernel.__code__
        self._begin = Site(code.co_filename, code.co_firstlineno, code.co_name)
        self.notes = Notes(_three(grid), _three(threads), most_accesses, self._begin.file)
        if not 0 < prod(self.notes.threads) <= MOST_THREADS or min(self.notes.grid) < 1:
            raise ValueError(
                f"a grid of {grid} and {threads} threads: a thread block has 1 to {MOST_THREADS} "
                "threads, and a grid at least one thread block in each direction"
            )
        self.globals: list[Watched] = []
        self.shared: list[Watched] = []
        self.pauses: list[Pause] = []
        self._block: Block | None = None  # that runs
        self._watch = watch
        self._schedule = None if schedule is None else Random(schedule)

    def run(self, arguments: tuple, seconds: float) -> Notes:
        names = self.kernel.__code__.co_varnames[: self.kernel.__code__.co_argcount]
        if len(arguments) != len(names):
            raise TypeError(f"the kernel takes {', '.join(names)}; it got {len(arguments)} values")
        given = [self._argument(names[i], each) for i, each in enumerate(arguments)]
        body = rebuilt(self.kernel, self.notes, self._array)

        def thread(_: None) -> None:
            with np.errstate(all="ignore"):  # each greenlet has its own context
                body(*given)

        try:
            with suppress(Stop), time_limit(seconds):
                self._run_blocks(thread)
        except TooLong as error:
            text = f"an endless loop? {{who}} is still running after {seconds:g} s "
            text += "(`seconds` allows more)"
            who = self.notes.thread or thread_of(0, self.notes)
            self.notes.fault("no end", text, self._place_in_kernel(error), thread=who)
        return self.notes

    def search(self) -> None:
        """Search the recorded accesses for races. Raises ValueError for memory under two names,
        unless both are only read."""
        for one, other in combinations(self.globals, 2):
            pair = (one, other) if np.shares_memory(one.data, other.data) else ()
            if any(array.columns.how.any() for array in pair):
                raise ValueError(
                    f"{one.name} and {other.name} share memory, and the kernel writes to this "
                    "memory. The lab would miss races between the two arrays: pass copies, or "
                    "use one parameter for both"
                )
        for array in (*self.globals, *self.shared):
            find_races(array, self.notes)

    def _place_in_kernel(self, error: TooLong) -> Site:
        """The kernel's line when the time was over, or the line where one of its threads waits."""
        frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
        waiting = self._block.threads if self._block else ()
        frames += [thread.frame for thread in waiting if thread.frame]
        own = (frame for frame in frames if frame.f_code is self.kernel.__code__)
        return next(map(site_here, own), self._begin)

    def _run_blocks(self, body: Callable) -> None:
        blocks = list(range(prod(self.notes.grid)))
        if self._schedule:
            self._schedule.shuffle(blocks)
        for block in blocks:
            self._block = Block(block, self.notes, body, self._pause, self._schedule)
            self._before = {array.name: array.num_accesses for array in self.globals}
            self._block.run()

    def _array(self, space: str, shape: tuple[int, ...], dtype: np.dtype) -> object:
        """A new array; if it is shared, one for all threads of the block at the same place."""
        place, shared = site_here(), self._block.shared
        if space == "shared" and place in shared:
            return shared[place]
        if 0 in shape:
            raise ValueError(f"a {space} array has size 0; give a constant size above 0")
        frame = kernel_frame()
        name = _assigned_name(frame.f_code, frame.f_lasti) or f"the {space} array"
        array = self._watched(name, space, empty(shape, dtype))
        if space == "shared":
            shared[place] = array
            if sum(each.nbytes for each in shared.values()) > MOST_SHARED:
                raise MemoryError(f"a thread block has over {MOST_SHARED:,} bytes of shared memory")
        return array

    def _argument(self, name: str, value: object) -> object:
        torch = sys.modules.get("torch")  # a caller with a tensor has imported it
        if torch and isinstance(value, torch.Tensor):
            bits = value.view(torch.int16) if value.dtype == torch.bfloat16 else value
            value = bits.detach().numpy()
        if not isinstance(value, np.ndarray):
            return np.float32(value) if isinstance(value, float) else value
        if not value.flags.c_contiguous:
            raise ValueError(f"{name} is not contiguous; use numpy.ascontiguousarray")
        return self._watched(name, "global", value)

    def _watched(self, name: str, space: str, array: np.ndarray) -> Watched | np.ndarray:
        if not self._watch:
            return array.view(np.ndarray)
        array = Watched(self.notes, name, space, array)
        {"global": self.globals, "shared": self.shared}.get(space, []).append(array)
        return array

    def _pause(self, waiting: list[Thread]) -> None:
        """Record the state of the watched block, for the report."""
        if self._block.threads[0].block != self._watch:
            return
        threads = {t.rank: (t.site, _variables(t.frame)) for t in waiting}
        arrays = list(self._block.shared.values())
        held = [[each.reshape(a.shape).copy() for each in (a.data, a.written)] for a in arrays]
        shared = {array.name: tuple(each) for array, each in zip(arrays, held, strict=True)}
        before = self._before
        marks = {a.name: a.num_accesses - before.get(a.name, 0) for a in (*self.globals, *arrays)}
        self.pauses.append(Pause(threads, shared, marks))


def _three(sizes: Size) -> tuple[int, int, int]:
    sizes = sizes if isinstance(sizes, tuple) else (sizes,)
    if not 1 <= len(sizes) <= 3:
        raise ValueError(f"{sizes} has {len(sizes)} numbers; a grid or a thread block has 1 to 3")
    return (*map(int, sizes), 1, 1)[:3]


@cache
def _assigned_name(code: CodeType, call: int) -> str | None:
    """The variable that gets a call's result: q in `q = cuda.shared.array(…)`."""
    after = next(each for each in dis.get_instructions(code) if each.offset > call)
    return after.argval if after.opname.startswith("STORE") else None


def _variables(frame: FrameType) -> dict[str, object]:
    """A thread's variables, without the kernel's constants: numbers, and copies of local arrays."""
    found, now = {}, frame.f_locals
    for name in frame.f_code.co_varnames:
        value = now.get(name)
        if isinstance(value, Watched) and value.space == "local":
            value = np.ma.array(value.data, mask=~value.written, copy=True).reshape(value.shape)
        if isinstance(value, int | float | np.integer | np.floating | np.ndarray):
            found[name] = value
    return found

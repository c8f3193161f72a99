"""One launch of a kernel, thread by thread, on this machine."""

from __future__ import annotations

import ctypes
import dis
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from itertools import product
from math import prod
from sys import _getframe
from types import CodeType

import numpy as np

from .arrays import Watched, _site
from .faults import Fault, Faults, Site, Stop
from .races import find_races
from .report import Pause, Report
from .substitutes import rebuilt
from .threads import WARP, Block, Thread

MOST_FAULTS = 50
MOST_THREADS = 1024  # of a block, as on a GPU


def run(
    kernel: Callable,
    grid: int | tuple[int, ...],
    threads: int | tuple[int, ...],
    *arguments: object,
    watch: tuple[int, ...] | None = (0, 0, 0),
    shared_bytes: int = 0,
    most_accesses: int = 2_000_000,
    seconds: float = 60.0,
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
    launch = Launch(kernel, _three(grid), _three(threads), watch, shared_bytes, most_accesses)
    launch.run(arguments, seconds)
    return launch.report()


def emulate(
    kernel: Callable, grid: int | tuple[int, ...], threads: int | tuple[int, ...], *arguments
) -> None:
    """The same without watching, and faster. Raises RuntimeError for what would hang a GPU."""
    launch = Launch(kernel, _three(grid), _three(threads), None, 0, 10**12, watched=False)
    launch.run(arguments, seconds=600)
    if launch.faults:
        raise RuntimeError(str(launch.faults[0]))


class Launch:
    """What is shared by the threads of one launch. `thread` is the one whose turn it is."""

    def __init__(
        self, kernel, grid, threads, watch, shared_bytes, most_accesses, watched=True
    ) -> None:
        if not 0 < prod(threads) <= MOST_THREADS or min(grid) < 1:
            raise ValueError(
                f"a block of {prod(threads)} threads in a grid of {list(grid)}: a block has 1 to "
                f"{MOST_THREADS} threads, and a grid at least one block each way"
            )
        self.kernel = getattr(kernel, "py_func", kernel)
        self.grid, self.threads = grid, threads
        self.thread: Thread | None = None
        self.faults = Faults()
        self.pauses: list[Pause] = []
        self.globals: list[Watched] = []
        self.shared: list[Watched] = []
        self._watch = None if watch is None else (*watch, 0, 0)[:3]
        self._shared_bytes, self._left, self._most = shared_bytes, most_accesses, most_accesses
        self._block: Block | None = None
        self._watched = watched

    def run(self, arguments: tuple, seconds: float) -> None:
        names = self.kernel.__code__.co_varnames
        values = [self._argument(names[i], value) for i, value in enumerate(arguments)]
        body = rebuilt(self.kernel, self)
        per_block = prod(self.threads)
        blocks = product(*(range(n) for n in reversed(self.grid)))
        with np.errstate(all="ignore"), self._watchdog(seconds):
            try:
                for number, (z, y, x) in enumerate(blocks):
                    indices = product(*(range(n) for n in reversed(self.threads)))
                    threads = [
                        Thread(number * per_block + i, (a, b, c), (x, y, z), i % WARP, i // WARP)
                        for i, (c, b, a) in enumerate(indices)
                    ]
                    self._block = Block(self, threads, lambda: body(*values))
                    self._block.run()
            except Stop:
                pass

    def report(self) -> Report:
        for array in (*self.globals, *self.shared):
            find_races(array, prod(self.threads), self)
        self.faults.sort(key=lambda fault: (fault.site.file, fault.site.line))
        return Report(
            self.kernel,
            self.grid,
            self.threads,
            self.faults,
            self.globals,
            self.shared,
            self.pauses,
        )

    # what arrays and threads ask of it

    def fault(
        self,
        kind: str,
        sentence: str,
        site: Site,
        what: str = "",
        thread: Thread | None = None,
        others: list[Site] | None = None,
        count: int = 1,
    ) -> None:
        """sentence: with {who} for the thread."""
        thread = thread or self.thread
        who = thread.name[0].upper() + thread.name[1:] if sentence.startswith("{") else thread.name
        self.faults.report(
            Fault(
                *(kind, site, sentence.replace("{who}", who), thread.block + thread.index),
                *(others or [], count),
            ),
            what,
        )
        if len(self.faults) >= MOST_FAULTS:
            raise Stop

    def count(self) -> None:
        self._left -= 1
        if self._left < 0:
            frame = _getframe(3)
            self.fault(
                "no end",
                f"{{who}} is still at work after {self._most:,} accesses and meetings of all "
                "threads together: a loop without an end? (`most_accesses` allows more)",
                _site(frame.f_code, frame.f_lasti),
            )
            raise Stop

    def shared_array(self, shape: object, dtype: np.dtype) -> Watched:
        """The same array for every thread of the block that comes to the same place."""
        frame = _getframe(2)
        key = _site(frame.f_code, frame.f_lasti)
        arrays = self._block.shared
        if key not in arrays:
            shape = shape if isinstance(shape, tuple) else (int(shape),)
            if shape == (0,):
                shape = (self._shared_bytes // dtype.itemsize,)
            name = _assigned_name(frame.f_code, frame.f_lasti, "shared array")
            data = np.full(prod(shape), np.nan if dtype.kind == "f" else 0, dtype)
            if not self._watched:
                arrays[key] = data.reshape(shape)
                return arrays[key]
            written = np.zeros(len(data), bool)
            arrays[key] = Watched(self, name, "shared", data, written, shape)
            self.shared.append(arrays[key])
        return arrays[key]

    def local_array(self, shape: object, dtype: np.dtype) -> Watched:
        shape = shape if isinstance(shape, tuple) else (int(shape),)
        data = np.full(prod(shape), np.nan if dtype.kind == "f" else 0, dtype)
        if not self._watched:
            return data.reshape(shape)
        frame = _getframe(2)
        name = _assigned_name(frame.f_code, frame.f_lasti, "local array")
        return Watched(self, name, "local", data, np.zeros(len(data), bool), shape)

    def pause(self, block: Block, waiting: list[Thread] | None) -> None:
        """A barrier that all have reached, or the end: what the widget shows of the watched one."""
        if block.threads[0].block != self._watch:
            return
        self.pauses.append(
            Pause(
                {t.lane + WARP * t.warp: (t.waits.site.line, _scalars(t)) for t in waiting or []},
                {array.name: (array._data.copy().reshape(array.shape),
                              array._written.copy().reshape(array.shape))
                 for array in block.shared.values()},
                {array.name: len(array.log) for array in (*self.globals, *block.shared.values())},
            )
        )  # fmt: skip

    def _argument(self, name: str, value: object) -> object:
        if hasattr(value, "detach"):  # a tensor
            value = value.detach()
            if value.device.type != "cpu":
                raise ValueError(f"{name} is on {value.device}; the kernel lab runs on the CPU")
            if str(value.dtype) == "torch.bfloat16":
                value = value.view(__import__("torch").int16)
            value = value.numpy() if value.is_contiguous() else value.numpy()
        if not isinstance(value, np.ndarray):
            return np.float32(value) if isinstance(value, float) else value
        if not value.flags.c_contiguous:
            raise ValueError(f"{name} is not contiguous: numpy.ascontiguousarray makes it so")
        if not self._watched:
            return value.view(np.ndarray)
        written = getattr(value, "written", None)
        flat = value.view(np.ndarray).reshape(-1)
        array = Watched(
            self,
            name,
            "global",
            flat,
            None if written is None else written.reshape(-1),
            value.shape,
        )
        self.globals.append(array)
        return array

    @contextmanager
    def _watchdog(self, seconds: float) -> Iterator[None]:
        """Ends a loop that touches nothing and meets nobody, which no count would see."""
        us, lock, over = threading.get_ident(), threading.Lock(), threading.Event()

        def bark() -> None:
            with lock:
                if not over.is_set():
                    ctypes.pythonapi.PyThreadState_SetAsyncExc(
                        ctypes.c_ulong(us), ctypes.py_object(_TooLong)
                    )

        timer = threading.Timer(seconds, bark)
        timer.daemon = True
        timer.start()
        try:
            yield
        except _TooLong as error:
            trace = error.__traceback__
            while trace.tb_next:
                trace = trace.tb_next
            self.fault(
                "no end",
                f"{{who}} is still at work after {seconds:g} s: a loop without an end? (`seconds` "
                "allows more)",
                Site(trace.tb_frame.f_code.co_filename, trace.tb_lineno),
            )
        finally:
            timer.cancel()
            with lock:
                over.set()


class _TooLong(BaseException):
    """Raised by the watchdog in the thread that runs the kernel."""


def _three(sizes: int | tuple[int, ...]) -> tuple[int, int, int]:
    sizes = sizes if isinstance(sizes, tuple | list) else (sizes,)
    if not 1 <= len(sizes) <= 3:
        raise ValueError(f"{sizes} has {len(sizes)} numbers; a grid or a block has 1 to 3")
    return (*(int(size) for size in sizes), 1, 1)[:3]


@cache
def _assigned_name(code: CodeType, call: int, otherwise: str) -> str:
    """The variable that a call's result goes to: q in `q = cuda.shared.array(…)`."""
    following = (each for each in dis.get_instructions(code) if each.offset > call)
    instruction = next(following, None)
    is_stored = instruction is not None and instruction.opname.startswith("STORE")
    return instruction.argval if is_stored else otherwise


def _scalars(thread: Thread) -> dict[str, object]:
    """A waiting thread's own variables, as far as they are numbers."""
    frame = thread.waits.frame
    kept = (int, float, np.integer, np.floating)
    return {name: value for name, value in frame.f_locals.items() if isinstance(value, kept)}

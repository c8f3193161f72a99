"""The stopwatches of all measurements here. On a GPU, a clock is read once the GPU has finished.

On a CPU, comparisons use the CPU time of this process with one thread: another program that takes
the core adds to the wall time, but not to the CPU time. It may still slow this process down,
through caches and shared cores: on a rented machine, the same loop took 1.0 to 1.8 times its CPU
time beside other programs. So compared runs take turns, and only their ratio is reported: with
turns of one token it was reproduced within 3 %. (Windows counts CPU time in steps of 16 ms, too
long for a pass; there, wall time is used.)
"""

from __future__ import annotations

import math
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import wraps

import torch
from tqdm.auto import tqdm

COLD_BYTES = 1 << 30  # more than any L2 cache


class Stopwatch:
    """Adds up the seconds of named parts, and counts how often each was timed.

    cpu_time: use the CPU time of this process, where available. It includes all threads, also those
    that wait for one another: see `one_thread`.
    """

    def __init__(self, device: torch.device, cpu_time: bool = False) -> None:
        self.device = device
        cpu_time = cpu_time and counts_cpu_time(device)
        self._clock = time.process_time if cpu_time else time.perf_counter
        self.reset()

    def reset(self) -> None:
        self.seconds: dict[str, float] = defaultdict(float)
        self.counts: dict[str, int] = defaultdict(int)

    def now(self) -> float:
        if self.device.type == "cuda":
            torch.cuda.synchronize(self.device)
        return self._clock()

    def add(self, name: str, began: float) -> None:
        """Add the time from `began` until now to a part."""
        self.seconds[name] += self.now() - began
        self.counts[name] += 1

    @contextmanager
    def part(self, name: str) -> Iterator[None]:
        began = self.now()
        yield
        self.add(name, began)

    def around(self, name: str, function: Callable) -> Callable:
        """The same function; its time is added to a part."""

        @wraps(function)  # with its attributes, which the runner reads
        def timed(*arguments: object) -> object:
            with self.part(name):
                return function(*arguments)

        return timed

    @contextmanager
    def between(self, first: torch.nn.Module, last: torch.nn.Module, name: str) -> Iterator[None]:
        """While open, the time from the beginning of `first`'s forward pass to the end of `last`'s
        is added to a part, for any caller."""
        began = 0.0

        def before(*_: object) -> None:
            nonlocal began
            began = self.now()

        def after(*_: object) -> None:
            self.add(name, began)

        handles = [first.register_forward_pre_hook(before), last.register_forward_hook(after)]
        try:
            yield
        finally:
            for handle in handles:
                handle.remove()

    @contextmanager
    def inside(self, modules: Iterable[torch.nn.Module], name: str) -> Iterator[None]:
        """The same for each of these modules. None of them may contain another."""
        with ExitStack() as stack:
            for module in modules:
                stack.enter_context(self.between(module, module, name))
            yield


def counts_cpu_time(device: torch.device) -> bool:
    """Whether the CPU time of this process measures the work of this device."""
    return device.type == "cpu" and sys.platform != "win32"


def conditions(device: torch.device) -> str:
    """The kind of time that `quickest` measures on this device; show it beside the numbers."""
    if device.type != "cpu":
        return "time until the GPU has finished"
    return f"{'CPU time of this process' if counts_cpu_time(device) else 'time'}, one thread"


def quickest(
    acts: Sequence[Callable[[], object]],
    rounds: int,
    watch: Stopwatch,
    unit: str = "act",
    progress: bool = False,
) -> list[dict[str, float]]:
    """For each act: the parts of its quickest run, in seconds; "total" is all of it.

    The acts take turns, so that a machine that gets slower does not always favour the same one.
    Each runs twice in its turn, because the caches may be cold at first. The very first run is not
    counted: it may compile.
    """
    best = [{"total": math.inf} for _ in acts]
    with one_thread():
        acts[0]()
        for turn in tqdm(range(rounds * len(acts)), unit=unit, disable=not progress, leave=False):
            i = turn % len(acts)
            for _ in range(2):
                watch.reset()
                with watch.part("total"):
                    acts[i]()
                best[i] = min(best[i], dict(watch.seconds), key=lambda parts: parts["total"])
    return best


def gpu_times(
    act: Callable[[], object], repeats: int, device: torch.device | str = "cuda"
) -> list[float]:
    """Seconds of each run by the GPU's own clock, after three runs that are not counted.

    Before each run, a gigabyte is read. So the L2 cache is cold, and the launch, which may take
    Python longer than the run takes the GPU, is over before the run starts. It is not written:
    the cache would write such lines to memory during the run.
    """
    for _ in range(3):
        act()
    found, cold = [], torch.ones(COLD_BYTES // 4, device=device)
    for _ in range(repeats):
        cold.sum()
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        act()
        end.record()
        end.synchronize()
        found.append(begin.elapsed_time(end) / 1e3)
    return found


@contextmanager
def one_thread() -> Iterator[None]:
    """While open, engine and PyTorch use one thread: then CPU time is the time they take."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)

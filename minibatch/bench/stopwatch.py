"""The stopwatches of all that is timed here. On a GPU a clock is read once the GPU has finished.

On a CPU, what is compared is measured in the time that this process computes, with one thread: a
program that takes the core away adds nothing to it, as it does to the time that passes. It may
still slow us down, through caches and where two processors are one core inside: the same loop took
1.0 to 1.8 times its CPU time beside others on a rented machine. So what is compared takes turns,
and its quotient is what may be told: in pieces of a token it came back within 3 %. (Windows counts
CPU time in steps of 16 ms, too long for a pass; there the time that passes has to do.)
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

    cpu_time: where it can be had, count only while this process computes. All its threads count,
    those that wait for one another too: see `one_thread`.
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
        """A part that began then, and ends now."""
        self.seconds[name] += self.now() - began
        self.counts[name] += 1

    @contextmanager
    def part(self, name: str) -> Iterator[None]:
        began = self.now()
        yield
        self.add(name, began)

    def around(self, name: str, function: Callable) -> Callable:
        """The same function, its time added to a part."""

        @wraps(function)  # with its attributes: they tell the runner how to go about it
        def timed(*arguments: object) -> object:
            with self.part(name):
                return function(*arguments)

        return timed

    @contextmanager
    def between(self, first: torch.nn.Module, last: torch.nn.Module, name: str) -> Iterator[None]:
        """While open, the time from the beginning of one module's forward pass to the end of
        another's is added to a part, whoever calls them."""
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
        """The same for each of these modules. None of them may stand in another."""
        with ExitStack() as stack:
            for module in modules:
                stack.enter_context(self.between(module, module, name))
            yield


def counts_cpu_time(device: torch.device) -> bool:
    """Whether what this device computes can be timed by the processor time of this process."""
    return device.type == "cpu" and sys.platform != "win32"


def conditions(device: torch.device) -> str:
    """What `quickest` measures on this device, to be said wherever its figures are shown."""
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
    """For each act the parts of its quickest run, in seconds, with all of it as "total".

    They take turns, so that a machine that gets slower does not always favour the same one; each
    runs twice in its turn, as it may find nothing of its own left in the caches at first. The
    first of all is not counted: it may have to compile.
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


def gpu_times(act: Callable[[], object], repeats: int) -> list[float]:
    """Seconds of each run by the GPU's own clock, after some that are not counted.

    Before each, a gigabyte is overwritten: nothing of the run's lies in the L2 cache any more, and
    the launch, which may take Python longer than the run takes the GPU, is over before it starts.
    """
    for _ in range(3):
        act()
    found, cold = [], torch.empty(COLD_BYTES, dtype=torch.uint8, device="cuda")
    for _ in range(repeats):
        cold.zero_()
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        act()
        end.record()
        end.synchronize()
        found.append(begin.elapsed_time(end) / 1e3)
    return found


@contextmanager
def one_thread() -> Iterator[None]:
    """While open, the engine and PyTorch compute in one thread: CPU time is then what they take."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)

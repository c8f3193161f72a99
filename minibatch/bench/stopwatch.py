"""The stopwatches of all that is timed here. On a GPU a clock is read once the GPU has finished."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from functools import wraps

import torch

COLD_BYTES = 1 << 30  # more than any L2 cache


class Stopwatch:
    """Adds up the seconds of named parts, and counts how often each was timed.

    cpu_time: where the device is a CPU, count only while this process computes, so that other
    programs at work do not disturb. All its threads count, those that wait for one another too.
    """

    def __init__(self, device: torch.device, cpu_time: bool = False) -> None:
        self.device = device
        self._clock = time.perf_counter
        if cpu_time and device.type == "cpu":
            self._clock = time.process_time
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


def times(act: Callable[[], object], repeats: int, device: torch.device) -> list[float]:
    """Seconds of each run, after one that is not counted."""
    watch = Stopwatch(device)
    found = []
    for _ in range(repeats + 1):
        watch.reset()
        with watch.part("run"):
            act()
        found.append(watch.seconds["run"])
    return found[1:]


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
    """While open, torch computes in one thread: then CPU time is what a step takes."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)

"""Compares whole runs: they take turns, and the result is the median of the rounds."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from statistics import median

import torch
from tqdm.auto import tqdm

from .stopwatch import Stopwatch, conditions, one_thread

END = object()


@dataclass(frozen=True)
class Comparison:
    """Seconds of every round, for each run by name. `print` shows a table."""

    seconds: dict[str, list[float]]
    conditions: str

    def median(self, name: str) -> float:
        """Seconds of that run: the median of its rounds."""
        return median(self.seconds[name])

    def spread(self, name: str) -> float:
        """Slowest minus quickest round of that run, as a share of its median."""
        return (max(self.seconds[name]) - min(self.seconds[name])) / self.median(name)

    def times_as_long(self, one: str, other: str) -> float:
        """How many times as long `one` took as `other`: the median of the ratios of each round."""
        pairs = zip(self.seconds[one], self.seconds[other], strict=True)
        return median(a / b for a, b in pairs)

    def __str__(self) -> str:
        width = max(map(len, self.seconds))
        lines = [
            f"{name:{width}}  {self.median(name):7.3g} s   spread {self.spread(name):.1%}"
            for name in self.seconds
        ]
        rounds = len(next(iter(self.seconds.values())))
        how = f"medians of {rounds} rounds, in turns" if rounds > 1 else "one run each"
        return "\n".join([*lines, f"{how}; {self.conditions}"])


def alternating(
    runs: Mapping[str, Callable[[], object]],
    rounds: int = 3,
    device: torch.device | str = "cpu",
    progress: bool = False,
) -> Comparison:
    """Run them in turns, `rounds` times; their results are dropped.

        took = measure.alternating({
            "Static(8)": lambda: mb.Engine(model, mb.Static(8)).stream(requests),
            "Continuous(8)": lambda: mb.Engine(model, mb.Continuous(8)).stream(requests),
        })
        print(took)
        print(took.times_as_long("Static(8)", "Continuous(8)"))

    A run that returns an iterator, as `stream` does, advances piece by piece: a token of one, a
    token of the other. So other work of the machine affects all runs equally. Other runs take whole
    turns: A, B, A, B. device: the one that computes; on a CPU the CPU time of this process is
    measured, with one thread. The first run also pays for compilation, so run something similar
    before.
    """
    watch = Stopwatch(torch.device(device), cpu_time=True)
    seconds: dict[str, list[float]] = {name: [] for name in runs}
    with one_thread():
        for _ in tqdm(range(rounds), unit="round", disable=not progress, leave=False):
            for name, took in _round(runs, watch).items():
                seconds[name].append(took)
    return Comparison(seconds, conditions(watch.device))


def _round(runs: Mapping[str, Callable[[], object]], watch: Stopwatch) -> dict[str, float]:
    """Run each once; the run with the fewest pieces so far takes the next turn."""
    watch.reset()
    unfinished = {name: _pieces(run) for name, run in runs.items()}
    while unfinished:
        name = min(unfinished, key=watch.counts.__getitem__)
        with watch.part(name):
            ended = next(unfinished[name], END) is END
        if ended:
            del unfinished[name]
    return watch.seconds


def _pieces(run: Callable[[], object]) -> Iterator[object]:
    result = run()
    if isinstance(result, Iterator):
        yield from result

"""Tokens per second with draft tokens and without, in steps in which every slot decodes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from ..core.request import Request
from ..engine.engine import Engine
from ..model.load import Model
from ..schedulers import Continuous
from ..simulator.speculation import Prediction
from ..speculation import Proposer
from .stopwatch import Stopwatch, conditions, one_thread


@dataclass(frozen=True)
class SpeculationRate(Prediction):
    """Measured rates. acceptance_rate: of verified draft tokens. tokens_per_draft: tokens generated
    by a row with draft tokens. conditions: the kind of time."""

    acceptance_rate: float
    tokens_per_draft: float
    conditions: str = ""


def speculation_rates(
    model: Model,
    proposers: Mapping[str, Callable[[], Proposer]],
    requests: Callable[[int], list[Request]],
    batch_sizes: Iterable[int] = (1, 2, 4, 8, 16, 32),
    most_s: float = 1.0,
) -> dict[str, list[SpeculationRate]]:
    """At each batch size: an engine for each proposer, and one without. The engine with the least
    time so far runs the next step. Returns the rates by the proposers' names.

    proposers: each call makes a new one for an engine. requests: makes requests for a batch size,
    enough to keep its slots full for a while. Only steps count in which every slot decodes, and did
    so in the step before: about `most_s` seconds of them, or until the requests end. So prompts are
    left out, also those that a draft model reads in its first step with a sequence.
    """
    found: dict[str, list[SpeculationRate]] = {name: [] for name in proposers}
    for size in batch_sizes:
        watch = Stopwatch(model.device, cpu_time=True)
        plain = _Run(model, None, requests(size), size)
        guessing = {
            name: _Run(model, make(), requests(size), size) for name, make in proposers.items()
        }
        runs = [plain, *guessing.values()]
        with one_thread():
            while going := [run for run in runs if run.is_full() and run.seconds < most_s]:
                min(going, key=lambda run: run.seconds).step(watch)
        for name, run in guessing.items():
            summary = run.engine.trace.summary()
            rate, tokens = summary["acceptance_rate"], summary["tokens_per_draft"]
            kind = conditions(model.device)
            found[name].append(SpeculationRate(size, plain.rate, run.rate, rate, tokens, kind))
    return found


class _Run:
    """An engine, and the tokens and seconds of its steps with `size` decoding rows."""

    def __init__(
        self, model: Model, proposer: Proposer | None, requests: list[Request], size: int
    ) -> None:
        self.engine = Engine(model, Continuous(size), speculation=proposer)
        self.size, self.tokens, self.seconds = size, 0, 0.0
        self.is_settled = False  # whether every slot decoded in the newest step
        for request in requests:
            self.engine.add(request)

    @property
    def rate(self) -> float:
        return self.tokens / self.seconds

    def is_full(self) -> bool:
        """Whether there will be more steps with a row in every slot."""
        scheduler, trace = self.engine.scheduler, self.engine.trace
        left = len(scheduler.running) + len(scheduler.waiting)
        return left >= self.size if trace.num_steps else self.engine.has_work

    def step(self, watch: Stopwatch) -> None:
        began = watch.now()
        step = self.engine.step()
        took = watch.now() - began
        was_settled = self.is_settled
        decode = [row for row in step.rows if row.kind == "decode"]
        self.is_settled = len(decode) == len(step.rows) == self.size
        if was_settled and self.is_settled:
            self.tokens += step.num_output_tokens
            self.seconds += took

"""Rounds and times.

Contenders take turns within a round. Each round begins with another contender, half the list after
the one before, so that a machine that warms up or slows down does not always favour the same one. A
single round (`--quick`) cannot balance this.

Hooks on the model's first module (the embedding) and last module (the output layer) measure the
time in the forward pass, for all contenders. The rest of the time is the contender's own.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from tqdm import tqdm

from ..core.request import Request
from ..model.load import Model
from ..simulator import workload as course_workload
from .agreement import Agreement, Difference
from .contenders import BATCH_SIZE, Contender, NotAvailableError
from .stopwatch import Stopwatch

WARM_UP_PROMPT, WARM_UP_OUTPUT = 32, 4  # tokens


@dataclass(frozen=True, slots=True)
class Workload:
    """Requests by token ids, each with a fixed output length."""

    name: str
    requests: list[Request]

    @property
    def longest(self) -> int:
        """Tokens of the longest prompt with its answer."""
        return max(len(request.prompt) + request.max_tokens for request in self.requests)

    @property
    def num_output_tokens(self) -> int:
        return sum(request.max_tokens for request in self.requests)


@dataclass(frozen=True, slots=True)
class Run:
    """One run of one contender on one workload. Times in seconds; steps are forward passes."""

    workload: str
    contender: str
    round: int
    seconds: float
    forward_seconds: float
    steps: int
    output_tokens: int
    differences: list[Difference] | None  # None: no reference to compare with

    @property
    def tokens_per_s(self) -> float:
        return self.output_tokens / self.seconds

    @property
    def share_outside(self) -> float:
        """Share of the time spent outside the model's forward pass."""
        return 1 - self.forward_seconds / self.seconds


@dataclass(slots=True)
class Results:
    """Filled during the measurement, so that an interrupted one is not lost.

    not_available: by a contender's name, the reason why it was left out.
    """

    runs: list[Run] = field(default_factory=list)
    not_available: dict[str, str] = field(default_factory=dict)

    def of(self, workload: str, contender: str) -> list[Run]:
        """One contender's runs on one workload, in the order of the rounds."""
        return [r for r in self.runs if (r.workload, r.contender) == (workload, contender)]


def agents_workload(model: Model, name: str, num_agents: int, prompt_scale: float) -> Workload:
    """The course's agents, as token ids, each answer exactly as long as published."""
    lengths = dict(zip(course_workload.NAMES, course_workload.OUTPUT_LENGTHS, strict=True))
    requests = [
        Request(
            model.encode(agent.prompt) if isinstance(agent.prompt, str) else agent.prompt,
            max_tokens=lengths[agent.request_id[0]],
            ignore_eos=True,
            request_id=agent.request_id,
        )
        for agent in course_workload.agents(model, num_agents, prompt_scale)
    ]
    return Workload(name, requests)


def measure(
    model: Model,
    workloads: list[Workload],
    contenders: list[Contender],
    num_rounds: int,
    results: Results,
    bar: tqdm,
) -> None:
    """Run every contender on every workload, `num_rounds` times, after a short warm-up."""
    bar.total = len(workloads) * len(contenders) * (num_rounds + 1)
    agreements = {w.name: Agreement(model, w.requests) for w in workloads}
    watch = Stopwatch(model.device)
    ends = model.hf.get_input_embeddings(), model.hf.get_output_embeddings()
    with watch.between(*ends, "forward"):
        for round, workload, contender in turns(workloads, contenders, num_rounds):
            label = f"round {round}" if round else "warm-up"
            bar.set_description(f"{label}, {workload.name}, {contender.title}")
            try:
                if contender.name in results.not_available:
                    continue
                if round == 0:
                    serve(model, shortened(workload.requests), contender, watch)
                    continue
                answers = serve(model, workload.requests, contender, watch)
                run = Run(
                    workload=workload.name,
                    contender=contender.name,
                    round=round,
                    seconds=watch.seconds["total"],
                    forward_seconds=watch.seconds["forward"],
                    steps=watch.counts["forward"],
                    output_tokens=workload.num_output_tokens,
                    differences=agreements[workload.name].compare(contender.name, answers),
                )
                results.runs.append(run)
            except NotAvailableError as error:
                results.not_available[contender.name] = str(error)
            except (
                Exception
            ) as error:  # an error of one contender must not lose the others' results
                results.not_available[contender.name] = f"{type(error).__name__}: {error}"
            finally:
                bar.update()


def turns(
    workloads: list[Workload], contenders: list[Contender], num_rounds: int
) -> Iterator[tuple[int, Workload, Contender]]:
    """(round, workload, contender) in the order of measurement; round 0 is the warm-up."""
    for round in range(num_rounds + 1):
        first = max(0, round - 1) * max(1, len(contenders) // 2) % len(contenders)
        for workload in workloads:
            for contender in contenders[first:] + contenders[:first]:
                yield round, workload, contender


def shortened(requests: list[Request]) -> list[Request]:
    """One batch of short requests: enough to compile, and to start threads."""
    return [
        Request(r.prompt[:WARM_UP_PROMPT], max_tokens=WARM_UP_OUTPUT, ignore_eos=True)
        for r in requests[:BATCH_SIZE]
    ]


def serve(
    model: Model, requests: list[Request], contender: Contender, watch: Stopwatch
) -> list[list[int]]:
    """One contender's answers, timed as "total". Raises NotAvailableError if it did other work."""
    with contender.prepare(model, requests) as answer_all:
        watch.reset()
        with watch.part("total"):
            answers = answer_all()
    for request, answer in zip(requests, answers, strict=True):
        if len(answer) != request.max_tokens:
            raise NotAvailableError(
                f"it answered {request.request_id!r} with {len(answer)} tokens, "
                f"not {request.max_tokens}"
            )
    return answers

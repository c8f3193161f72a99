"""What this project set out to reach, and whether a run did. No sentence here knows the answer.

Contenders are compared within a round, where they ran within minutes of each other.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median

from ..model.load import Model
from .contenders import CONTENDERS
from .machine import Machine
from .measuring import Results, Run, Workload

OURS = "continuous"  # the contender that the aims are about
MOST_OUTSIDE = 0.10  # share of its time outside the forward pass
AGENTS, THREADS, PARAMETERS = 50, 2, (4e6, 7e6)  # the conditions: requests, CPU threads, model size


@dataclass(frozen=True, slots=True)
class Aim:
    """On this workload, at least `times` as fast as the rival."""

    workload: str
    rival: str
    times: float


AIMS = (
    Aim("short prompts", "generate", 4.3),
    Aim("short prompts", "generate-static", 2.0),
    Aim("short prompts", "transformers-cb", 1.8),
    Aim("published prompts", "generate", 2.0),
    Aim("published prompts", "generate-static", 2.2),
    Aim("published prompts", "transformers-cb", 2.2),
)


def aims_section(
    model: Model, machine: Machine, workloads: list[Workload], results: Results
) -> str:
    """The aims that this run can speak about, and what it says; empty if there are none."""
    lines = []
    for aim in AIMS:
        ratios = ratios_of(results.of(aim.workload, OURS), results.of(aim.workload, aim.rival))
        if ratios:
            said = verdict(median(ratios) >= aim.times, [ratio >= aim.times for ratio in ratios])
            lines.append(
                f"  {aim.workload}: {median(ratios):.2f} times {CONTENDERS[aim.rival].title}; "
                f"aim {aim.times} or more: {said}"
            )
    for workload in workloads:
        shares = [run.share_outside for run in results.of(workload.name, OURS)]
        if shares:
            reached = [share <= MOST_OUTSIDE for share in shares]
            lines.append(
                f"  {workload.name}: {median(shares):.1%} of its time outside the forward pass; "
                f"aim {MOST_OUTSIDE:.0%} or less: "
                f"{verdict(median(shares) <= MOST_OUTSIDE, reached)}"
            )
    if not lines:
        return ""
    unlike = unlike_the_aims(model, machine, workloads)
    if unlike:
        lines.append(f"  The aims are for other conditions. Here: {'; '.join(unlike)}.")
    return "\n".join([f"Aims of {CONTENDERS[OURS].title}", *lines])


def ratios_of(own: list[Run], rivals: list[Run]) -> list[float]:
    """How many times as fast as the rival, for every round that both have run."""
    by_round = {run.round: run.tokens_per_s for run in rivals}
    return [r.tokens_per_s / by_round[r.round] for r in own if r.round in by_round]


def verdict(is_met: bool, reached: list[bool]) -> str:
    """In words: whether the median reached the aim, and how many of the rounds did."""
    word, count, total = "met" if is_met else "missed", sum(reached), len(reached)
    if total == 1:
        return f"{word}, in the one round"
    if count in (0, total):
        return f"{word} in all {total} rounds"
    return f"{word} by the median, reached in {count} of {total} rounds"


def unlike_the_aims(model: Model, machine: Machine, workloads: list[Workload]) -> list[str]:
    """How this run differs from the conditions that the aims are set for."""
    agents, parameters = len(workloads[0].requests), model.hf.num_parameters()
    unlike = []
    if agents != AGENTS:
        unlike.append(f"{agents} agents, not {AGENTS}")
    if model.device.type != "cpu":
        unlike.append(f"device {model.device.type}, not cpu")
    elif machine.torch_threads != THREADS:
        unlike.append(f"threads {machine.torch_threads}, not {THREADS}")
    if not PARAMETERS[0] <= parameters <= PARAMETERS[1]:
        unlike.append(f"{parameters / 1e6:,.1f} M parameters, not about 5 M")
    if not machine.is_quiet:
        unlike.append("other programs at work")
    return unlike

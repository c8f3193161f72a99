"""From raw rounds to what a person reads: tables, whether the aims were met, what is not shown.

Contenders are compared within a round, where they ran within minutes of each other; the medians
are then over those ratios. No sentence here knows a result beforehand.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median

from ..model import Model
from .contenders import BATCH_SIZE, CONTENDERS, Contender
from .machine import Machine
from .measuring import Difference, Results, Run, Workload

RIVALS = {
    "generate": "generate",
    "generate-static": "batched generate",
    "transformers-cb": "transformers' continuous",
}
OURS = "continuous"  # the contender the aims are about
MOST_OUTSIDE = 0.10  # share of its time outside the forward pass
MOST_SHOWN = 4  # differing answers listed for one contender


@dataclass(frozen=True, slots=True)
class Aim:
    """Continuous(8) at least `times` as fast as `rival`."""

    workload: str
    rival: str
    times: float


AIMS = (
    Aim("short prompts", "generate", 4.0),
    Aim("short prompts", "generate-static", 2.1),
    Aim("short prompts", "transformers-cb", 1.6),
    Aim("published prompts", "generate", 1.6),
    Aim("published prompts", "generate-static", 1.5),
    Aim("published prompts", "transformers-cb", 2.2),
)
AIMS_AGENTS, AIMS_THREADS, AIMS_PARAMETERS = 50, 2, (4e6, 7e6)


def report(
    model: Model,
    machine: Machine,
    workloads: list[Workload],
    contenders: list[Contender],
    results: Results,
) -> str:
    """Everything that `bench` prints at the end."""
    sections = [
        workload_section(workload, contenders, results)
        for workload in workloads
        if any(run.workload == workload.name for run in results.runs)
    ]
    if not sections:
        sections = ["Nothing was measured."]
    sections += [machine_section(model, machine), aims_section(model, machine, workloads, results)]
    sections.append(LIMITS)
    return "\n" + "\n\n".join(section for section in sections if section)


def workload_section(workload: Workload, contenders: list[Contender], results: Results) -> str:
    """One table, and below it the answers that differ."""
    lengths = [len(request.prompt) for request in workload.requests]
    runs = {c.name: runs_of(results, workload.name, c.name) for c in contenders}
    rounds = max(len(of_one) for of_one in runs.values())
    rivals = {name: text for name, text in RIVALS.items() if runs.get(name)}
    title = (
        f"{workload.name}: {len(lengths)} requests at once, prompts of {min(lengths):,} to "
        f"{max(lengths):,} tokens, {workload.num_output_tokens:,} output tokens, "
        f"{f'medians of {rounds} rounds' if rounds > 1 else '1 round'}"
    )
    header = ["", "tok/s", "range", *(f"x {text}" for text in rivals.values())]
    rows = [[*header, "steps", "outside", "same answers"]]
    notes = []
    for contender in contenders:
        own = runs[contender.name]
        if own:
            ratios = [f"{median(ratios_of(own, runs[name])):.2f}" for name in rivals]
            rows.append([contender.title, *speed(own), *ratios, *character(own, workload)])
            notes += differing(contender, own)
        elif contender.name in results.not_available:
            reason = results.not_available[contender.name]
            notes.append(f"{contender.title}: not available: {reason}")
    return "\n".join([title, "", *table(rows), *notes])


def runs_of(results: Results, workload: str, contender: str) -> list[Run]:
    return [r for r in results.runs if (r.workload, r.contender) == (workload, contender)]


def ratios_of(own: list[Run], rivals: list[Run]) -> list[float]:
    """Speed against the rival's, for every round that both have run; NaN if there is none."""
    by_round = {run.round: run.tokens_per_s for run in rivals}
    ratios = [r.tokens_per_s / by_round[r.round] for r in own if r.round in by_round]
    return ratios or [float("nan")]


def speed(runs: list[Run]) -> tuple[str, str]:
    speeds = [run.tokens_per_s for run in runs]
    spread = f"{min(speeds):,.0f}-{max(speeds):,.0f}" if len(speeds) > 1 else "-"
    return f"{median(speeds):,.0f}", spread


def character(runs: list[Run], workload: Workload) -> tuple[str, str, str]:
    steps = f"{median(run.steps for run in runs):,.0f}"
    outside = f"{median(run.share_outside for run in runs):.1%}"
    if runs[0].differences is None:
        return steps, outside, "-"
    num_requests = len(workload.requests)
    return steps, outside, f"{num_requests - len(differences_of(runs))}/{num_requests}"


def differences_of(runs: list[Run]) -> dict[str, Difference]:
    """The worst difference of each request that ever differed, by request id."""
    found = [difference for run in runs for difference in run.differences or []]
    return {d.request_id: d for d in sorted(found, key=lambda d: abs(d.gap))}


def differing(contender: Contender, runs: list[Run]) -> list[str]:
    found = list(differences_of(runs).values())
    lines = [
        f"{contender.title}: {d.request_id} differs from output token {d.position + 1} on; the two "
        f"logits are {abs(d.gap):.1e} apart: {'a tie' if d.is_tie else 'NOT a tie'}"
        for d in sorted(found, key=lambda d: d.is_tie)[:MOST_SHOWN]
    ]
    if len(found) > MOST_SHOWN:
        ties = sum(d.is_tie for d in found)
        lines.append(f"{contender.title}: {len(found)} differ in all, {ties} of them by a tie")
    return lines


def wrong_answers(results: Results) -> bool:
    """Whether a policy of ours gave other tokens than `generate`, and not by a tie."""
    return any(
        not difference.is_tie
        for run in results.runs
        if CONTENDERS[run.contender].is_ours
        for difference in run.differences or []
    )


def machine_section(model: Model, machine: Machine) -> str:
    count = model.hf.num_parameters()
    lines = [
        f"Machine  {machine.cpu}, {machine.num_cores} cores, {machine.num_usable_cpus} CPUs usable; "
        f"threads: torch {machine.torch_threads}, numba {machine.numba_threads}; "
        f"GPU: {machine.gpu or 'none'}",
        f"System   {machine.os}, Python {machine.python}, torch {machine.torch}, "
        f"transformers {machine.transformers}, numba {machine.numba}",
        f"Model    {model.hf.name_or_path}: {count / 1e6:,.1f} M parameters, "
        f"{str(model.dtype).removeprefix('torch.')}, on {model.device}; batches of {BATCH_SIZE}",
        f"Date     {machine.date}",
    ]
    if not machine.is_quiet:
        lines.append(
            f"Before the start other programs used {machine.busy_percent:.0f} % of the CPU: "
            "do not trust these times; close them and measure again."
        )
    return "\n".join(lines)


def aims_section(
    model: Model, machine: Machine, workloads: list[Workload], results: Results
) -> str:
    """The aims that this run can speak about, and what it says."""
    title = CONTENDERS[OURS].title
    lines = []
    for aim in AIMS:
        own, rival = (runs_of(results, aim.workload, name) for name in (OURS, aim.rival))
        if {run.round for run in own} & {run.round for run in rival}:
            ratios = ratios_of(own, rival)
            lines.append(
                f"  {aim.workload}: {median(ratios):.2f} times {RIVALS[aim.rival]}; "
                f"aim {aim.times} or more: {verdict([ratio >= aim.times for ratio in ratios])}"
            )
    for workload in workloads:
        shares = [run.share_outside for run in runs_of(results, workload.name, OURS)]
        if shares:
            lines.append(
                f"  {workload.name}: {median(shares):.1%} of its time outside the forward pass; "
                f"aim {MOST_OUTSIDE:.0%} or less: "
                f"{verdict([share <= MOST_OUTSIDE for share in shares])}"
            )
    if not lines:
        return ""
    unlike = unlike_the_aims(model, machine, workloads)
    if unlike:
        lines.append(f"  The aims are for other conditions; here: {', '.join(unlike)}.")
    return "\n".join([f"Aims of {title}", *lines])


def verdict(reached: list[bool]) -> str:
    """In words, from whether each round reached the aim."""
    count, total = sum(reached), len(reached)
    if total == 1:
        return "met, in the one round" if count else "missed, in the one round"
    if count in (0, total):
        return f"{'met' if count else 'missed'} in all {total} rounds"
    word = "met" if 2 * count > total else "missed"
    return f"{word} by the median, reached in {count} of {total} rounds"


def unlike_the_aims(model: Model, machine: Machine, workloads: list[Workload]) -> list[str]:
    """How this run differs from the conditions that the aims are set for."""
    count, (least, most) = model.hf.num_parameters(), AIMS_PARAMETERS
    agents = len(workloads[0].requests)
    unlike = []
    if agents != AIMS_AGENTS:
        unlike.append(f"{agents} agents, not {AIMS_AGENTS}")
    if model.device.type != "cpu":
        unlike.append(f"on {model.device.type}, not a CPU")
    elif machine.torch_threads != AIMS_THREADS:
        unlike.append(f"{machine.torch_threads} threads, not {AIMS_THREADS}")
    if not least <= count <= most:
        unlike.append(f"{count / 1e6:,.1f} M parameters, not about 5 M")
    if not machine.is_quiet:
        unlike.append("a busy machine")
    return unlike


def table(rows: list[list[str]]) -> list[str]:
    """Aligned lines: the first column to the left, the others to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]).rstrip()
        for row in rows
    ]


LIMITS = f"""\
How to read it. tok/s: useful output tokens per second of the whole run; padding and tokens past a
request's own length count as work, not as output. x: times as fast, within a round. outside: share
of the time not spent in the model's forward pass. Every contender gets the same prompts as token
ids and gives exactly the published number of output tokens, past any end token (ignore_eos),
greedy; real traffic ends where the model ends.

What these numbers do not show. Latency: all requests are there at the start, so nobody waits for
an arrival, and what a policy does for the time to the first token is not here. Prefix sharing:
switched off in transformers, which could reuse prompts that begin alike. Other precisions, larger
models, larger batches or a GPU: there the forward pass weighs more, and ratios differ. Other
servers: vLLM, SGLang and llama.cpp are not run. Padded keys: minibatch's Static({BATCH_SIZE}) computes padding
but does not read it again in later steps, so its cost is a lower bound on a padded batch's."""

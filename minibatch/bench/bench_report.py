"""From raw rounds to a report: a table for each workload, and the facts of the machine.

Ratios are taken within a round, in which the contenders ran within minutes of each other. Medians
are over these ratios.
"""

from __future__ import annotations

from statistics import median

from ..model.load import Model
from .agreement import Difference
from .contenders import BATCH_SIZE, CONTENDERS, Contender
from .machine_facts import Machine
from .rounds import Results, Run, Workload

RIVALS = {"generate": "/one", "generate-static": "/batched", "transformers-cb": "/continuous"}
MOST_SHOWN = 4  # differing answers listed for one contender


def full_report(
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
    sections += [
        *(
            f"{CONTENDERS[name].title}: not available: {reason}"
            for name, reason in results.not_available.items()
        ),
        machine_section(model, machine),
        READING if results.runs else "Nothing was measured.",
    ]
    return "\n" + "\n\n".join(section for section in sections if section)


def workload_section(workload: Workload, contenders: list[Contender], results: Results) -> str:
    """One table, and below it the answers that differ."""
    lengths = [len(request.prompt) for request in workload.requests]
    runs = {c.name: results.of(workload.name, c.name) for c in contenders}
    num_rounds = max(map(len, runs.values()))
    rivals = [name for name in RIVALS if runs.get(name)]
    title = (
        f"{workload.name}: {len(lengths)} requests at once, prompts of {min(lengths):,} to "
        f"{max(lengths):,} tokens, {workload.num_output_tokens:,} output tokens, "
        + (f"medians of {num_rounds} rounds" if num_rounds > 1 else "1 round")
    )
    rows = [["", "tok/s", "range", *(RIVALS[name] for name in rivals), "steps", "outside", "same"]]
    notes = []
    for contender in contenders:
        own = runs[contender.name]
        if own:
            ratios = [ratio(own, runs[name]) for name in rivals]
            rows.append([contender.title, *speed(own), *ratios, *character(own, workload)])
            notes += differing(contender, own)
    return "\n".join([title, "", *table(rows), *notes])


def ratio(own: list[Run], rivals: list[Run]) -> str:
    """The median of `ratios_of`, as text; "-" when no round has both."""
    ratios = ratios_of(own, rivals)
    return f"{median(ratios):.2f}" if ratios else "-"


def ratios_of(own: list[Run], rivals: list[Run]) -> list[float]:
    """How many times as fast as the rival: one number for each round that both ran."""
    by_round = {run.round: run.tokens_per_s for run in rivals}
    return [r.tokens_per_s / by_round[r.round] for r in own if r.round in by_round]


def speed(runs: list[Run]) -> tuple[str, str]:
    """Tokens per second: median, and lowest to highest."""
    speeds = [run.tokens_per_s for run in runs]
    spread = f"{min(speeds):,.0f}-{max(speeds):,.0f}" if len(speeds) > 1 else "-"
    return f"{median(speeds):,.0f}", spread


def character(runs: list[Run], workload: Workload) -> tuple[str, str, str]:
    """Forward passes, share of time outside them, and how many answers equal the reference's."""
    num_requests = len(workload.requests)
    compared = runs[0].differences is not None
    return (
        f"{median(run.steps for run in runs):,.0f}",
        f"{median(run.share_outside for run in runs):.1%}",
        f"{num_requests - len(differences_of(runs))}/{num_requests}" if compared else "-",
    )


def differences_of(runs: list[Run]) -> list[Difference]:
    """The worst difference of each request that differed in any run, the worst first."""
    found = [difference for run in runs for difference in run.differences or []]
    worst = {d.request_id: d for d in sorted(found, key=lambda d: abs(d.gap))}
    return sorted(worst.values(), key=lambda d: -abs(d.gap))


def differing(contender: Contender, runs: list[Run]) -> list[str]:
    """A line for each of the worst differences."""
    found = differences_of(runs)
    lines = [
        f"{contender.title}: {d.request_id} differs from output token {d.position + 1} on, where "
        f"the two logits are {abs(d.gap):.1e} apart: {'a tie' if d.is_tie else 'not a tie'}"
        for d in found[:MOST_SHOWN]
    ]
    if len(found) > MOST_SHOWN:
        ties = sum(d.is_tie for d in found)
        lines.append(f"{contender.title}: {len(found)} differ in all, {ties} of them by a tie")
    return lines


def wrong_answers(results: Results) -> bool:
    """Whether a policy of ours failed, or gave other tokens than `generate` without a tie."""
    return any(CONTENDERS[name].is_ours for name in results.not_available) or any(
        CONTENDERS[run.contender].is_ours and not difference.is_tie
        for run in results.runs
        for difference in run.differences or []
    )


def machine_section(model: Model, machine: Machine) -> str:
    """Machine, system and model of the measurement, and whether other programs were running."""
    parameters, dtype = model.hf.num_parameters() / 1e6, str(model.dtype).removeprefix("torch.")
    lines = [
        f"Machine  {machine.cpu}, {machine.num_cores} cores, {machine.num_usable_cpus} usable CPUs",
        f"         threads: {machine.torch_threads}; GPU: {machine.gpu or 'none'}",
        f"System   {machine.os}, Python {machine.python}",
        f"         torch {machine.torch}, transformers {machine.transformers}, "
        f"numba {machine.numba}",
        f"Model    {model.hf.name_or_path}",
        f"         {parameters:,.1f} M parameters, {dtype}, on {model.device}",
        f"Date     {machine.date}",
    ]
    if not machine.is_quiet:
        lines.append(
            f"Before the start, other programs used {machine.busy_percent:.0f} % of the CPU. Do "
            "not trust these times: close them and measure again."
        )
    return "\n".join(lines)


def table(rows: list[list[str]]) -> list[str]:
    """Aligned lines: the first column to the left, the others to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]).rstrip()
        for row in rows
    ]


READING = f"""\
How to read it
  tok/s    useful output tokens per second, from the first prompt handed over to the last token;
           padding, and tokens past a request's own length, are work but not output
  /one, /batched, /continuous    times as fast as that way of transformers, in the same round
  outside  share of the time not spent in the model's forward pass
  same     answers that equal those of transformers' generate, one by one, token for token
  The same work for all: prompts as token ids, batches of {BATCH_SIZE}, greedy, and for each request
  exactly the published number of output tokens, past any end token (ignore_eos).

What these numbers do not show
  - Latency. All requests are there at the start; nobody waits for another to arrive.
  - Answers that end by themselves, sampling, and prompts that begin alike: transformers' prefix
    sharing is switched off, because minibatch has none here.
  - Larger models, larger batches, half precision. On a GPU, transformers would use flash attention
    and CUDA graphs in half precision; here everyone runs in this one precision, with SDPA.
  - Other servers. vLLM, SGLang and llama.cpp are not run.
  - The full cost of padding, in minibatch's own Static({BATCH_SIZE}): it computes padding, but does
    not read it again in later steps, as transformers' padded batches do."""

"""Whether a benchmark run reached this project's goals for a release.

    python -m minibatch bench --json bench.json
    python tests/bench/release_goals.py bench.json

Ratios are taken within a round, in which the contenders ran within minutes of each other.
Exit status: 1 if a median missed its goal, otherwise 0.
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from statistics import median

OURS = "continuous"  # the contender that the goals are about
MAX_OUTSIDE = 0.10  # share of its time outside the forward pass
AGENTS, THREADS, PARAMETERS = 50, 2, (4e6, 7e6)  # conditions: requests, CPU threads, model size
QUIET_PERCENT = 10.0  # of the CPU, used by other programs


@dataclass(frozen=True, slots=True)
class Goal:
    """On this workload, at least `times` as fast as the rival."""

    workload: str
    rival: str
    times: float


GOALS = (
    Goal("short prompts", "generate", 4.3),
    Goal("short prompts", "generate-static", 2.0),
    Goal("short prompts", "transformers-cb", 1.8),
    Goal("published prompts", "generate", 2.0),
    Goal("published prompts", "generate-static", 2.2),
    Goal("published prompts", "transformers-cb", 2.2),
)


def judge(results: dict) -> tuple[list[str], bool]:
    """One line for each goal that this run measured, and whether all medians reached theirs.

    results: the content of the file that `bench --json` writes.
    """
    lines, all_met = [], True
    for goal in GOALS:
        own, rival = (runs_of(results, goal.workload, name) for name in (OURS, goal.rival))
        ratios = [speed(own[n]) / speed(rival[n]) for n in own if n in rival]
        if ratios:
            is_met = median(ratios) >= goal.times
            words = verdict(is_met, [ratio >= goal.times for ratio in ratios])
            figures = f"{median(ratios):.2f} times as fast as {goal.rival}; goal {goal.times}"
            lines.append(f"{goal.workload}: {figures} or more: {words}")
            all_met &= is_met
    for workload in results["workloads"]:
        runs = runs_of(results, workload["name"], OURS).values()
        shares = [1 - run["forward_seconds"] / run["seconds"] for run in runs]
        if shares:
            is_met = median(shares) <= MAX_OUTSIDE
            words = verdict(is_met, [share <= MAX_OUTSIDE for share in shares])
            figures = f"{median(shares):.1%} of its time outside the forward pass"
            lines.append(f"{workload['name']}: {figures}; goal {MAX_OUTSIDE:.0%} or less: {words}")
            all_met &= is_met
    if other := other_conditions(results):
        lines.append(f"The goals are for other conditions. Here: {'; '.join(other)}.")
    return lines, all_met


def runs_of(results: dict, workload: str, contender: str) -> dict[int, dict]:
    """One contender's runs on one workload, by round."""
    runs = [r for r in results["runs"] if (r["workload"], r["contender"]) == (workload, contender)]
    return {run["round"]: run for run in runs}


def speed(run: dict) -> float:
    """Output tokens per second."""
    return run["output_tokens"] / run["seconds"]


def verdict(is_met: bool, reached: list[bool]) -> str:
    """In words: whether the median reached the goal, and how many of the rounds did."""
    word, count, total = "met" if is_met else "missed", sum(reached), len(reached)
    if total == 1:
        return f"{word}, in the one round"
    if count in (0, total):
        return f"{word} in all {total} rounds"
    return f"{word} by the median, reached in {count} of {total} rounds"


def other_conditions(results: dict) -> list[str]:
    """How this run differs from the conditions that the goals are set for."""
    machine, model, other = results["machine"], results["model"], []
    for agents in {len(workload["prompt_tokens"]) for workload in results["workloads"]} - {AGENTS}:
        other.append(f"{agents} agents, not {AGENTS}")
    if model["device"] != "cpu":
        other.append(f"device {model['device']}, not cpu")
    elif machine["torch_threads"] != THREADS:
        other.append(f"threads {machine['torch_threads']}, not {THREADS}")
    if not PARAMETERS[0] <= model["num_parameters"] <= PARAMETERS[1]:
        other.append(f"{model['num_parameters'] / 1e6:,.1f} M parameters, not about 5 M")
    if machine["busy_percent"] > QUIET_PERCENT:
        other.append("other programs at work")
    return other


if __name__ == "__main__":
    lines, all_met = judge(json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")))
    print("\n".join(lines) or "This run measured none of the goals.")
    sys.exit(0 if all_met else 1)

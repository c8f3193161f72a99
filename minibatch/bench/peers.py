"""`python -m minibatch bench peers`: this course's server beside others, the same requests each.

All serve Wayfarer's weights in float32 with the same number of threads. They get the agents'
prompts as text, all at once, greedy; the answers end by themselves. The servers take turns, while
the others are idle, and each column is a median over rounds. CPU time is of the server's
processes; it is the better number where other programs run.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from statistics import median

from tqdm import tqdm

from ..model.load import load_model
from ..simulator.workload import agents
from ..wayfarer import WEIGHTS
from .machine_facts import Machine, look
from .peer_servers import PEERS, Peer, Running, running
from .replay_report import Replay

SCALE = 0.1  # of the published prompt lengths


@dataclass
class Measured:
    """The rounds of one server. texts: of its answers, by request id."""

    name: str
    seconds: list[float] = field(default_factory=list)
    cpu_s: list[float] = field(default_factory=list)
    tokens: list[int] = field(default_factory=list)
    ttft_s: list[float] = field(default_factory=list)
    texts: dict[str, str] = field(default_factory=dict)

    def put(self, result: Replay, cpu_s: float) -> None:
        """One more round. Raises ValueError if a request failed."""
        if result.count("served") < len(result.rows):
            raise ValueError(f"{self.name} failed:\n{result}")
        self.seconds.append(result.duration_s)
        self.cpu_s.append(cpu_s)
        self.tokens.append(sum(row.num_tokens for row in result.rows))
        self.ttft_s.append(median(row.first_token - row.due for row in result.rows))
        self.texts = {c.request_id: c.text for c in result.completions}

    def cells(self) -> tuple[str, ...]:
        """Medians: tokens, tokens a second, CPU seconds, CPU ms a token, TTFT."""
        per_s = [n / s for n, s in zip(self.tokens, self.seconds, strict=True)]
        per_token = [1e3 * c / n for c, n in zip(self.cpu_s, self.tokens, strict=True)]
        return (
            f"{median(self.tokens):,.0f}",
            f"{median(per_s):,.0f}",
            f"{median(self.cpu_s):.2f}",
            f"{median(per_token):.2f}",
            f"{median(self.ttft_s):.2f}",
        )


def main(argv: Sequence[str]) -> int:
    """Measure, print, and return 0; 1 if the answers differ; 2 if they cannot be compared."""
    parser = argparse.ArgumentParser(
        prog="python -m minibatch bench peers",
        description="Measure this server beside the others that are installed; some minutes.",
    )
    parser.add_argument("--rounds", type=int, default=5, metavar="N", help="default: 5")
    parser.add_argument("--requests", type=int, default=16, metavar="N", help="default: 16")
    parser.add_argument(
        "--threads", type=int, default=1, metavar="N", help="of each server; default: 1"
    )
    options = parser.parse_args(argv)
    present = [peer for peer in PEERS.values() if not _said_to_lack(peer)]
    if len(present) < 2:
        return 2
    try:
        measured = compare(present, options.requests, options.rounds, options.threads)
    except (ValueError, ChildProcessError) as error:  # a request failed, or a server did not start
        print(error)
        return 2
    print(report(look(), measured, options.requests, options.rounds, options.threads))
    return int(bool(different(measured)))


def _said_to_lack(peer: Peer) -> bool:
    lacking = peer.lacking()
    if lacking:
        print(f"{peer.name} cannot start here; missing: {lacking}")
    return bool(lacking)


def compare(peers: list[Peer], num_requests: int, rounds: int, threads: int) -> list[Measured]:
    """Serve the same requests by each peer in turn; the first round of each is not counted."""
    requests = agents(load_model(), num_requests, SCALE)
    measured = [Measured(f"{peer.name} {peer.version()}".strip()) for peer in peers]
    with ExitStack() as stack:
        servers: list[Running] = [
            stack.enter_context(running(peer, WEIGHTS, num_requests, threads)) for peer in peers
        ]
        for i in tqdm(range(rounds + 1), file=sys.stderr, unit="round", leave=False):
            for server, rows in zip(servers, measured, strict=True):
                result, cpu_s = server.replay(requests)
                if i:
                    rows.put(result, cpu_s)
    return measured


def different(measured: list[Measured]) -> list[str]:
    """The requests whose answers are not the same from all."""
    first = measured[0].texts
    return [name for name in first if any(m.texts.get(name) != first[name] for m in measured)]


def report(
    machine: Machine, measured: list[Measured], num_requests: int, rounds: int, threads: int
) -> str:
    """The table, with the machine and the conditions."""
    head = ("", "tokens", "tokens/s", "CPU s", "CPU ms/token", "TTFT p50, s")
    rows = [head, *((m.name, *m.cells()) for m in measured)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    same = num_requests - len(different(measured))
    return "\n".join(
        [
            f"{machine.cpu}, {machine.num_usable_cpus} CPUs, {machine.os}, {machine.date}; other "
            f"programs used {machine.busy_percent:.0f} % just after",
            f"PyTorch {machine.torch}, transformers {machine.transformers}, Wayfarer in float32, "
            f"{threads} thread{'s' * (threads > 1)} each",
            f"{num_requests} agents' prompts at {SCALE:g} of their length, all at once, greedy; "
            f"medians of {rounds} rounds, in turns",
            "",
            *(
                "  ".join(
                    cell.ljust(width) if i == 0 else cell.rjust(width)
                    for i, (cell, width) in enumerate(zip(row, widths, strict=True))
                )
                for row in rows
            ),
            "",
            f"the same answers: {same} of {num_requests}",
        ]
    )

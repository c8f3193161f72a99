"""Blocks of a request that has ended or was preempted, while a step in flight still uses them.

    released while no row of it is in flight     free at once, as in BlockManager
    released while a step runs that writes them  held until that step has been executed

Between its launch and its collection a step may read and write its blocks at any moment. If another
request had them meanwhile, either could overwrite the other's K and V, and no error would come: the
tokens would be wrong. A device that executes everything in one order hides the fault, since the
stale row then comes before all that is launched later. One that does not (prompts on a stream of
their own, copies to another machine) shows it: tests/engine/test_overlap.py has such a device.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from ..core.plan import StepPlan
from ..core.request import Sequence
from ..memory.block_manager import BlockManager
from ..memory.blocks import BlockPool
from .trace import Begun

if TYPE_CHECKING:
    from .engine import Engine
    from .overlap import Overlap


class Handle(Protocol):
    """What a runner's `launch` returns. times: begin and end of the forward pass, once `wait` has
    returned."""

    times: tuple[float, float]

    def wait(self) -> None:
        """Return when the step has been executed, or has failed."""

    def tokens(self) -> list[list[int]]:
        """A list of tokens for each row of the plan, or the step's error."""


class Executed:
    """A step of a runner that cannot launch, such as a pretend model's: it is executed at once."""

    def __init__(self, engine: Engine, plan: StepPlan) -> None:
        begin = engine.clock.now()
        self._tokens = engine.runner.run(plan)
        self.times = begin, engine.clock.now()

    def wait(self) -> None:
        """It has been executed."""

    def tokens(self) -> list[list[int]]:
        return self._tokens


@dataclass(eq=False)
class Flight:
    """A step that was launched and not collected.

    begun: what the trace will record of it. sequences: those with a row. gone: of these, the ones
    that have ended or were preempted since; their rows do not move them. preempted: sequences that
    the next plan has preempted. held: block tables to give back with this step. written: the blocks
    that each row writes.
    """

    plan: StepPlan
    handle: Handle
    begun: Begun
    block_size: int
    gone: set[Sequence] = field(default_factory=set)
    preempted: set[Sequence] = field(default_factory=set)
    held: list[list[int]] = field(default_factory=list)
    sequences: set[Sequence] = field(init=False)
    written: list[tuple[str, list[int]]] = field(init=False)

    def __post_init__(self) -> None:
        self.sequences = {row.sequence for row in self.plan.rows}
        self.written = [
            (
                row.sequence.request_id,
                row.sequence.block_table[
                    row.start // self.block_size : -(-row.seq_len // self.block_size)
                ],
            )
            for row in self.plan.rows
            if row.num_tokens
        ]

    def is_alive(self) -> bool:
        """Whether it computes something for a sequence that goes on."""
        return any(s not in self.gone and not s.is_finished for s in self.sequences)


class HeldBlocks(BlockManager):
    """A block manager that gives no block back while a step in flight uses it."""

    def __init__(self, pool: BlockPool, overlap: Overlap) -> None:
        super().__init__(pool)
        self._overlap = overlap

    def release(self, sequence: Sequence) -> None:
        """As in BlockManager, or later: the last step in flight that has a row of this sequence
        holds the blocks. A policy that preempts wants free blocks now; so while it makes a plan,
        this waits for that step."""
        flights = [flight for flight in self._overlap.flights if sequence in flight.sequences]
        if not flights:
            super().release(sequence)
            return
        if self.pool.prefixes is not None:
            self.pool.prefixes.leave(sequence)
        lost = sequence.num_launched_tokens
        sequence.num_once_computed = max(sequence.num_once_computed, lost)
        flights[-1].held.append(sequence.block_table)
        sequence.block_table = []
        self._overlap.drop_rows(sequence)
        if self._overlap.is_planning:
            self._overlap.wait(flights[-1])
            self.give_back(flights[-1])

    def give_back(self, flight: Flight) -> None:
        """This step has been executed: free what it held."""
        while flight.held:
            self.pool.free(flight.held.pop())

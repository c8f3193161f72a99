"""What a worker reports of its sequences and its block pool, beside what is true.

The judge knows what is true. It tells the learner the first difference, as the mistaken belief that
would cause it. advances.py checks whether sequences advance as they should.
"""

from __future__ import annotations

from dataclasses import dataclass

import minibatch as mb
from minibatch.course.judging.verdict import Wrong
from minibatch.course.judging.worker_errors import Died


class MirrorPool(mb.BlockPool):
    """The judge's copy of the worker's pool."""

    may_share = False  # whether the task at hand lets two sequences hold the same block

    def set_holders(self, tables: dict[str, list[int]]) -> None:
        """Copy these block tables; raises Wrong if a block does not exist, or if two sequences hold
        it and the task does not let them share."""
        holder: dict[int, str] = {}
        for name, table in tables.items():
            for block in table:
                if type(block) is not int or not 0 <= block < self.num_blocks:
                    raise Wrong(
                        "[block_out_of_the_pool] "
                        f"{name}'s block table names block {block}; the pool has 0 to "
                        f"{self.num_blocks - 1}. Take blocks with self.grow or self.pool.allocate."
                    )
                if block in holder and not self.may_share:
                    raise Wrong(
                        f"[block_in_two_tables] Block {block} is in the tables of "
                        f"{holder[block]} and {name}: these sequences would overwrite each "
                        "other's keys and values. Give each sequence its own blocks."
                    )
                holder[block] = name
        self.rebuild(tables.values())


@dataclass(frozen=True, slots=True)
class ReportedSequence:
    """One sequence, as the worker reports it."""

    num_computed: int
    token_ids: list
    table: list
    is_finished: bool
    scheduled: float | None
    time: float | None  # of its newest token

    @classmethod
    def of(cls, state: dict, name: str) -> ReportedSequence:
        sequences = state.get("sequences")
        match sequences.get(name) if isinstance(sequences, dict) else None:
            case {
                "computed": int() as computed,
                "token_ids": list() as token_ids,
                "table": list() as table,
                "is_finished": bool() as is_finished,
                "scheduled": scheduled,
                "times": [] | [_] as times,
            }:
                time = times[0] if times else None
                return cls(computed, token_ids, table, is_finished, scheduled, time)
        raise Died(
            "[sequences_make_no_sense] your code's process sent no valid report on its sequences"
        )


def check_blocks(
    name: str,
    sequence: mb.Sequence,
    reported: ReportedSequence,
    runs: bool,
    freed: bool,
    block_size: int,
) -> None:
    """Check that a running sequence has blocks for its computed tokens, and any other holds none.

    freed: whether the worker's pool has those blocks back.
    """
    held = len(reported.table)
    if runs and held * block_size < reported.num_computed and not sequence.is_finished:
        raise Wrong(
            "[runner_lost_its_blocks] "
            f"{name} still runs with {reported.num_computed} computed tokens, but its block table "
            f"has room for only {held * block_size}: the keys and values of the others are lost. "
            "Only a finished sequence gives its blocks back."
        )
    if runs or not held:
        return
    does = "has finished" if sequence.is_finished else "does not run"
    if freed:
        raise Wrong(
            "[table_not_emptied] "
            f"{name} {does}, and its {held} blocks are back in the pool, but its block table "
            "still names them: empty the table, sequence.block_table = []. Otherwise two "
            "sequences have the same blocks."
        )
    raise Wrong(
        "[keeps_its_blocks] "
        f"{name} {does}, but still holds {held} blocks: give them back with "
        "self.pool.free(sequence.block_table), and empty the table. Otherwise a server runs out "
        "of blocks and stops."
    )


def check_free(
    pool: MirrorPool, free: object, held: dict[str, list[int]], tables: dict[str, list[int]]
) -> None:
    """Check that the blocks in no table are free. held: the tables before; tables: those now."""
    if free == pool.num_free:
        return
    missing = pool.num_free - free if isinstance(free, int) else 0
    if missing < 0:
        raise Wrong(
            "[others_blocks_given_back] "
            f"the pool counts {free} blocks as free, but only {pool.num_free} are in no table: you "
            "also gave back blocks of running sequences, and the next sequence will overwrite "
            "them. Give self.pool.free only the table of a sequence that leaves; "
            "self.pool.reset() frees all blocks.",
            expected=f"{pool.num_free} free",
            got=f"{free} free",
        )
    lost = [name for name, table in tables.items() if held[name] and not table]
    which = "its blocks"
    if 0 < missing < sum(len(held[name]) for name in lost):
        which = f"{missing} of its blocks"
    of_whom = f"{lost[0]}'s table is empty, but {which} are not back. " if lost else ""
    raise Wrong(
        "[blocks_are_lost] "
        f"{pool.num_free} blocks are in no table, but the pool counts only {free} as free. "
        f"{of_whom}Give all blocks of a sequence back with self.pool.free, once, before you empty "
        "its table. Otherwise a server runs out of blocks and stops.",
        expected=f"{pool.num_free} free",
        got=f"{free} free",
    )


def listed(answer: dict, key: str) -> list:
    """A list in a worker's answer."""
    found = answer.get(key)
    if not isinstance(found, list):
        raise Died(
            "[numbers_make_no_sense] "
            f"your code's process reports {key} = {found!s:.60}; {key} must be a list"
        )
    return found


def names_in(state: dict, key: str) -> list[str]:
    """The names of requests in a worker's answer."""
    names = listed(state, key)
    if not all(isinstance(name, str) for name in names):
        raise Died(
            "[lists_make_no_sense] "
            f"your code's process reports {key} = {names!s:.60}; {key} must hold request ids"
        )
    return names

"""The judge's books on a desk: who holds which block, and how far each sequence has come.

What a desk says is compared with what is true; the first difference is told as the belief behind
it that would bring just that.
"""

from __future__ import annotations

from dataclasses import dataclass

import minibatch as mb
from minibatch.course.judging.desk_errors import Died
from minibatch.course.judging.verdict import Wrong

SAME_TIME = 1e-6


class Pool(mb.BlockPool):
    """The judge's books on the desk's pool."""

    may_share = False  # whether the task at hand lets two sequences hold the same block

    def set_holders(self, tables: dict[str, list[int]]) -> None:
        """Take over who holds what; raises Wrong where two do that may not, or a block does not
        exist."""
        holder: dict[int, str] = {}
        for name, table in tables.items():
            for block in table:
                if type(block) is not int or not 0 <= block < self.num_blocks:
                    raise Wrong(
                        f"{name}'s block table names block {block}; the pool has 0 to "
                        f"{self.num_blocks - 1}. Take blocks with self.grow or self.pool.allocate."
                    )
                if block in holder and not self.may_share:
                    raise Wrong(
                        f"Block {block} stands in the tables of {holder[block]} and {name}: they "
                        "would write over each other's keys and values."
                    )
                holder[block] = name
        self.rebuild(tables.values())


@dataclass(frozen=True, slots=True)
class Told:
    """What a desk says of one sequence."""

    num_computed: int
    token_ids: list
    table: list
    is_finished: bool
    scheduled: float | None
    time: float | None  # of its newest token

    @classmethod
    def of(cls, state: dict, name: str) -> Told:
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
        raise Died("what it says of its sequences makes no sense")


def check_tokens(
    step: int, rows: list[mb.Row], before: dict[str, int], told: dict[str, Told]
) -> None:
    """Whether each sequence took in what its row brought. before: tokens it had until then."""
    brought, took = {}, {}
    for row in rows:
        name = row.sequence.request_id
        brought[name] = row.sequence.token_ids[before[name] :]
        took[name] = told[name].token_ids[before[name] :]
    for row in rows:
        name, right = row.sequence.request_id, row.sequence.token_ids
        got, new = told[name].token_ids, brought[name]
        if got == right:
            continue
        others = [n for n in took if n != name]
        takers = [n for n in others if new and took[n] == new != brought[n]]
        givers = [n for n in others if took[name] == brought[n] and brought[n]]
        together = (
            "Rows and lists of tokens belong together one by one, in the plan's order, "
            "zip(plan.rows, tokens); self.running may have another"
        )
        if got[: before[name]] != right[: before[name]]:
            why = "its earlier tokens are others now: advance adds tokens, nothing else changes"
        elif takers and not took[name]:
            why = f"{takers[0]} took it in. {together}"
        elif not took[name] and new == [0]:
            why = (
                "it was not taken in. 0 is a token like any other, though `if token` takes it for "
                "none: an empty list is what says that there is none"
            )
        elif not took[name]:
            why = "it was not taken in: sequence.advance(row.num_tokens, new_tokens, now) does that"
        elif givers:
            why = f"it took in {took[name]}, which {givers[0]}'s row brought. {together}"
        elif len(took[name]) > len(new):
            why = (
                f"it took in {took[name]}: the tokens of a row belong to the row's own sequence, "
                "once, and up to the end of its answer"
            )
        else:
            why = f"it took in {took[name]}"
        what = f"the token {new[0]}" if new else "no token, an empty list,"
        raise Wrong(
            f"In step {step} {name}'s row brought {what} and {why}.",
            expected=f"{name}: {len(right)} tokens, at the end {right[-2:]}",
            got=f"{name}: {len(got)} tokens, at the end {got[-2:]}",
        )


def check_computed(step: int, name: str, row: mb.Row, right: int, got: int) -> None:
    """Whether its counter went up by what its row computed."""
    if got == right:
        return
    went, n = got - row.start, row.num_tokens
    if went == 0 and not row.reaches_end:
        why = (
            "did not move: a row that brings no token, an empty list, has computed a part of the "
            "prompt all the same; advance it, too"
        )
    elif went == 0:
        why = "did not move: advance takes the row's num_tokens first"
    elif went == 1:
        why = f"went up by 1: advance by the row's num_tokens, here {n}"
    elif went == 2 * n:
        why = f"went up by {went}, twice as much: advance a sequence once"
    else:
        why = f"went up by {went}: advance by the row's num_tokens, here {n}"
    raise Wrong(
        f"In step {step} {name}'s row computed {n} tokens, and num_computed_tokens {why}.",
        expected=f"{right} computed",
        got=f"{got} computed",
    )


def check_returned(
    step: int, right: list[mb.Sequence], running: list[str], told: object, kind: str
) -> None:
    """Whether `update` returned those who finished in this step. kind: of what it returned."""
    names = sorted(s.request_id for s in right)
    if isinstance(told, list) and sorted(map(str, told)) == names:
        return
    who = ", ".join(names) or "nobody"
    if not isinstance(told, list):
        what = "nothing (None)" if kind == "NoneType" else f"something of type {kind:.40}"
        why = f"update() returned {what}: return a list of them, empty if nobody has finished"
    elif missing := [s for s in right if s.request_id not in told]:
        one = missing[0]
        why = f"{one.request_id} is not among those that update() returned"
        if one.finish_reason == "length":
            why += (
                ". It has written max_tokens tokens: that ends an answer as its end token does; "
                "ask sequence.is_finished"
            )
        elif one.request_id in running:
            why += (
                " and is still in self.running. It has said its end token, which ends an answer "
                "before max_tokens; ask sequence.is_finished after it has advanced"
            )
        elif not told:
            why += ", nobody is. Note who has finished before you take them out of self.running"
    elif len(set(map(str, told))) < len(told):
        why = "somebody was returned twice"
    else:
        extra = next(name for name in map(str, told) if name not in names)
        why = f"{extra:.40} was returned, and has not finished in this step; return no others"
    raise Wrong(f"In step {step} {who} finished, and {why}.", expected=names, got=told or kind)


def check_blocks(
    name: str, sequence: mb.Sequence, there: Told, runs: bool, freed: bool, block_size: int
) -> None:
    """That who runs has room for what is computed, and who does not run holds no block.

    freed: whether the desk's pool has those blocks back.
    """
    held = len(there.table)
    if runs and held * block_size < there.num_computed and not sequence.is_finished:
        raise Wrong(
            f"{name} runs on with {there.num_computed} tokens computed, and its block table has "
            f"room for {held * block_size}: their keys and values are lost. Only who has finished "
            "gives its blocks back."
        )
    if runs or not held:
        return
    does = "has finished" if sequence.is_finished else "does not run"
    if freed:
        raise Wrong(
            f"{name} {does}, and the pool has its {held} blocks again, but its block table still "
            "names them: empty it, sequence.block_table = [], or they belong to two."
        )
    raise Wrong(
        f"{name} {does}, but still holds {held} blocks: give them back with "
        "self.pool.free(sequence.block_table), and empty the table. A server that forgets this "
        "fills up and stops."
    )


def check_time(name: str, what: str, given: float, noted: object) -> None:
    """That what a policy noted as the time is what it was given."""
    if noted is None:
        raise Wrong(
            f"{name}'s {what} has no time: sequence.advance(num_tokens, new_tokens, now) takes "
            "tokens in and notes when they came."
        )
    is_time = type(noted) in (int, float) and abs(noted) < 1e15
    if not is_time or abs(noted - given) > SAME_TIME:
        raise Wrong(
            f"{name}'s {what} is noted as {noted if not is_time else format(noted, '.10g')}, and "
            f"it was {given:g} s: pass `now` on, which is the engine's clock. No other clock agrees"
            " with it.",
            expected=f"{given:g} s",
            got=f"{noted}"[:40],
        )


def listed(answer: dict, key: str) -> list:
    """A list that a desk sent."""
    found = answer.get(key)
    if not isinstance(found, list):
        raise Died(f"what it says of its {key} makes no sense")
    return found


def names_in(state: dict, key: str) -> list[str]:
    """The names of requests that a desk sent."""
    names = listed(state, key)
    if not all(isinstance(name, str) for name in names):
        raise Died(f"what it says of its {key} makes no sense")
    return names

"""A learner's policy on its desk, in a real engine at the judge's.

The engine here sees a `Scheduler` like any other. Every `plan` and `update` is asked of the desk;
what comes back is compared with what the judge itself knows: who lives, how far each has come,
which blocks are held. So the policy is judged by what it does, however it is written.
"""

from __future__ import annotations

from collections import Counter

import minibatch as mb
from minibatch.course.judging.books import Pool
from minibatch.course.judging.desk_errors import Died
from minibatch.course.judging.student import Student
from minibatch.course.judging.verdict import Wrong


class RemoteScheduler(mb.Scheduler):
    """The learner's class `name`, made with `options` and a max_batch_size.

    borrowed: methods that come from a class of minibatch instead, {"update": "Scheduler"}, so that
    one method can be judged while another is not written yet.
    """

    def __init__(
        self,
        student: Student,
        name: str,
        max_batch_size: int = 3,
        borrowed: dict[str, str] | None = None,
        **options: object,
    ) -> None:
        super().__init__(max_batch_size)
        self.student, self.name = student, name
        self.options = {"max_batch_size": max_batch_size, **options}
        self.borrowed = borrowed or {}
        self.refused: list[str] = []
        self.sequences: dict[str, mb.Sequence] = {}  # all that ever came
        self.num_steps = 0

    def _ask(self, what: str, **details: object) -> dict:
        answer = self.student.ask(what, **details)
        if not isinstance(answer, dict):
            raise Died("it does not answer as a desk does")
        return answer

    def bind(self, pool: Pool, clock: object) -> None:
        super().bind(pool, clock)
        self._ask(
            "policy",
            name=self.name,
            options=self.options,
            borrowed=self.borrowed,
            refused=self.refused,
            num_blocks=pool.num_blocks,
            block_size=pool.block_size,
        )

    def add(self, sequence: mb.Sequence) -> None:
        self.sequences[sequence.request_id] = sequence
        self._follow(
            self._ask(
                "add",
                sequence={
                    "request_id": sequence.request_id,
                    "token_ids": sequence.token_ids,
                    "max_tokens": sequence.request.max_tokens,
                    "stop_token_ids": sorted(sequence.stop_token_ids),
                    "arrival_time": sequence.arrival_time,
                    "priority": sequence.request.priority,
                },
            )
        )

    def abort(self, sequence: mb.Sequence) -> None:
        state = self._ask("abort", request_id=sequence.request_id)
        del self.sequences[sequence.request_id]
        self._follow(state)

    def plan(self, now: float) -> mb.StepPlan:
        answer = self._ask("plan", now=now)
        self._follow(answer)
        rows = []
        for row in _list(answer, "rows"):
            match row:
                case [str() as name, int(), int()] if name in {s.request_id for s in self.waiting}:
                    raise Wrong(
                        f"{name} has a row, and still waits in the queue: self.admit takes the "
                        "head of the queue and returns it, so give that one a row."
                    )
                case [str() as name, int() as n, int() as padding] if name in self.sequences:
                    rows.append(mb.Row(self.sequences[name], n, padding))
                case _:
                    raise Wrong(f"The plan has a row {str(row)[:80]}; a row is a live request's.")
        wake_at = answer.get("wake_at")
        is_time = isinstance(wake_at, int | float) and abs(wake_at) < 1e9
        return mb.StepPlan(rows, wake_at if is_time else None)

    def update(self, plan: mb.StepPlan, tokens: list[list[int]], now: float) -> list[mb.Sequence]:
        self.num_steps += 1
        before = [row.sequence for row in plan.rows if row.sequence.is_finished]
        for row, new in zip(plan.rows, tokens, strict=True):  # what is true, whatever they say
            row.sequence.advance(row.num_tokens, new, now)
        rows = [row.sequence for row in plan.rows]
        finished = [s for s in rows if s.is_finished and s not in before]
        answer = self._ask("update", tokens=tokens, now=now)
        for sequence in rows:
            self._check_progress(sequence, answer)
        told = answer.get("finished")
        right = sorted(s.request_id for s in finished)
        if not isinstance(told, list) or sorted(map(str, told)) != right:
            raise Wrong(
                f"update() of step {self.num_steps} has to return the sequences that finished in "
                "this step: a list of all of them, and of no others.",
                expected=right,
                got=told if isinstance(told, list) else answer.get("got"),
            )
        self._follow(answer)
        return finished

    def _check_progress(self, sequence: mb.Sequence, answer: dict) -> None:
        """Compare a sequence's counters over there with those here."""
        name, step = sequence.request_id, self.num_steps
        computed, total, _, is_finished = _counters(answer, name)
        if total != sequence.num_tokens:
            raise Wrong(
                f"After step {step} {name} should have {sequence.num_tokens} tokens, prompt and "
                f"answer, and has {total}: the tokens of a row belong to the row's own sequence, "
                "once, and an empty list means that there are none.",
                expected=f"{sequence.num_tokens} tokens",
                got=f"{total} tokens",
            )
        if computed != sequence.num_computed_tokens:
            raise Wrong(
                f"After step {step} {name} has {sequence.num_computed_tokens} tokens computed and "
                f"counts {computed}: advance by the row's num_tokens, which is more than 1 for a "
                "prompt, and also when the row has brought no token, only an empty list.",
                expected=f"{sequence.num_computed_tokens} computed",
                got=f"{computed} computed",
            )
        if is_finished != sequence.is_finished:
            has = "has finished" if sequence.is_finished else "has not finished"
            raise Wrong(f"After step {step} {name} {has}, and your policy says the opposite.")

    def _follow(self, state: dict) -> None:
        """Take over queue, running set and block tables, or say what is wrong with them."""
        waiting, running = _names(state, "waiting"), _names(state, "running")
        for name, times in Counter(waiting + running).items():
            if times > 1:
                raise Wrong(f"{name} stands {times} times in self.waiting and self.running.")
            if name not in self.sequences:
                raise Died(f"it speaks of a request {name:.40} that there is not")
        for name, sequence in self.sequences.items():
            computed, _, table, _ = _counters(state, name)
            sequence.block_table = table
            if name in waiting:  # perhaps preempted: what it had computed is gone with its blocks
                sequence.num_computed_tokens = 0
                if computed:
                    raise Wrong(
                        f"{name} waits, without blocks, and still counts {computed} tokens as "
                        "computed: their keys and values are lost. Set num_computed_tokens to 0."
                    )
            if sequence.is_finished and name in waiting:
                raise Wrong(f"{name} has finished, and waits in the queue again.")
            if not sequence.is_finished and name not in waiting and name not in running:
                raise Wrong(
                    f"{name} stands neither in self.waiting nor in self.running, and has not "
                    "finished: it would wait for ever."
                )
            if name not in running and table:
                does = "has finished" if sequence.is_finished else "does not run"
                raise Wrong(
                    f"{name} {does}, but still holds {len(table)} blocks: give them back with "
                    "self.pool.free(sequence.block_table), and empty the table. A server that "
                    "forgets this fills up and stops."
                )
        self.pool.set_holders({s.request_id: s.block_table for s in self.sequences.values()})
        free = state.get("num_free")
        if free != self.pool.num_free:
            raise Wrong(
                f"{self.pool.num_free} blocks stand in nobody's table, but the pool counts {free} "
                "as free: what a sequence held goes back with self.pool.free, once. A server that "
                "forgets this fills up and stops.",
                expected=f"{self.pool.num_free} free",
                got=f"{free} free",
            )
        self.waiting.clear()
        self.waiting.extend(self.sequences[name] for name in waiting)
        self.running[:] = [self.sequences[name] for name in running]


class LedScheduler(RemoteScheduler):
    """The learner's `update` alone: who runs is decided here, first come first served.

    most_tokens: of one row, so that a long prompt takes several steps.
    """

    def __init__(self, *args: object, most_tokens: int = 10_000, **options: object) -> None:
        super().__init__(*args, **options)
        self.most_tokens = most_tokens
        self.refused = ["update", "retire", "release"]

    def plan(self, now: float) -> mb.StepPlan:
        joining, free = [], self.pool.num_free
        for sequence in self.waiting:
            free -= sequence.num_new_blocks(sequence.max_num_tokens, self.pool.block_size)
            if free < 0 or len(self.running) + len(joining) == self.max_batch_size:
                break
            joining.append(sequence)
        state = self._ask("lead", now=now, num_admitted=len(joining), most_tokens=self.most_tokens)
        self._follow(state)
        return mb.StepPlan(
            [
                mb.Row(s, min(s.num_uncomputed_tokens, self.most_tokens))
                for s in reversed(self.running)
            ]
        )

    def update(self, plan: mb.StepPlan, tokens: list[list[int]], now: float) -> list[mb.Sequence]:
        finished = super().update(plan, tokens, now)
        for sequence in self.running:
            if sequence.is_finished:
                raise Wrong(
                    f"{sequence.request_id} finished in step {self.num_steps} and is still in "
                    "self.running: whoever has finished leaves at once, not when all have."
                )
        return finished


def _list(answer: dict, key: str) -> list:
    found = answer.get(key)
    if not isinstance(found, list):
        raise Died(f"what it says of its {key} makes no sense")
    return found


def _names(state: dict, key: str) -> list[str]:
    names = _list(state, key)
    if not all(isinstance(name, str) for name in names):
        raise Died(f"what it says of its {key} makes no sense")
    return names


def _counters(state: dict, name: str) -> tuple[int, int, list[int], bool]:
    """Computed tokens, all tokens, block table, finished: what the desk says of a sequence."""
    match state.get("sequences"):
        case dict() as sequences:
            match sequences.get(name):
                case [int() as computed, int() as total, list() as table, bool() as finished]:
                    return computed, total, table, finished
    raise Died("what it says of its sequences makes no sense")

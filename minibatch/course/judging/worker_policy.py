"""A learner's policy in the worker: made, bound to its own pool, and run step by step."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

from minibatch.course.judging.noted_passes import noted_passes
from minibatch.course.judging.values import Lent, pack
from minibatch.course.judging.worker_incidents import rows_of_a_run


class PolicyWorker:
    """The judge's requests for a policy. find: looks up a name in the learner's file."""

    def __init__(self, find: Callable[[str], Any]) -> None:
        self.find = find
        self.scheduler: Any = None
        self.sequences: dict[str, Any] = {}
        self.plans: Any = None

    def policy(
        self,
        name: str,
        options: dict,
        borrowed: dict,
        num_blocks: int,
        block_size: int,
    ) -> dict:
        """Make a policy and bind it to its own pool, with a clock that the judge sets.

        borrowed: methods of a class of minibatch that replace the learner's.
        """
        import minibatch as mb

        self.scheduler, self.sequences = self._class(name, borrowed)(**options), {}
        self.clock = mb.VirtualClock()  # only sleep() moves it
        self.pool = mb.BlockPool(num_blocks, block_size)
        self.scheduler.bind(self.pool, self.clock)
        return self._state()

    def _class(self, name: str, borrowed: dict) -> Any:
        import minibatch as mb

        cls = self.find(name)
        if borrowed:
            methods = {
                method: getattr(getattr(mb, owner), method) for method, owner in borrowed.items()
            }
            cls = type(name, (cls,), methods)
        return cls

    def add(self, sequence: dict) -> dict:
        import minibatch as mb

        stops = sequence.pop("stop_token_ids")
        max_tokens, arrival = sequence.pop("max_tokens"), sequence.pop("arrival_time")
        priority, ids = sequence.pop("priority"), sequence["token_ids"]
        sequence = mb.Sequence(
            request=mb.Request(list(ids), max_tokens=max_tokens, priority=priority),
            stop_token_ids=frozenset(stops),
            num_prompt_tokens=len(ids),
            arrival_time=arrival,
            **sequence,
        )
        self.sequences[sequence.request_id] = sequence
        self.scheduler.add(sequence)
        return self._state()

    def plan(self, now: float) -> dict:
        import minibatch as mb

        self.clock.sleep(now - self.clock.now())
        self.plans = self.scheduler.plan(now)
        if not isinstance(self.plans, mb.StepPlan):
            raise TypeError(
                "[plan_is_no_plan] "
                f"plan returned {_shown(self.plans)}; it must return an mb.StepPlan"
            )
        if isinstance(self.plans.rows, int | float):
            raise TypeError(
                "[number_in_place_of_rows] "
                f"mb.StepPlan({self.plans.rows}) has a number in place of its rows; to wait until "
                "a time, return mb.StepPlan(wake_at=…)"
            )
        if self.clock.now() > now + 1e-6:
            raise RuntimeError(
                "[plan_lets_time_pass] "
                f"plan moved the clock from {now:g} s to {self.clock.now():g} s; only the engine "
                "may wait: return mb.StepPlan(wake_at=…)"
            )
        rows = []
        for row in self.plans.rows:
            if not isinstance(row, mb.Row):
                raise TypeError(
                    f"[row_is_no_row] {_shown(row)} is not a row of a plan; make a row with "
                    "mb.Row(sequence, n)"
                )
            counts = row.num_tokens, row.num_padding_tokens, row.start
            rows.append([row.sequence.request_id, *map(_plain, counts)])
        return {"rows": rows, "wake_at": _plain(self.plans.wake_at), **self._state()}

    def use_plan(self, now: float, num_admitted: int, rows: list, lends: bool) -> dict:
        """Plan for the learner's policy: admit `num_admitted` requests, then use these rows.

        rows: the request's id, number of tokens and padding of each. lends: whether the lists that
        `update` gets are read-only.
        """
        import minibatch as mb

        scheduler = self.scheduler
        self.clock.sleep(now - self.clock.now())
        for _ in range(num_admitted):
            mb.Scheduler.admit(scheduler, now, scheduler.waiting[0].max_num_tokens)
        rows = [mb.Row(self.sequences[name], *counts) for name, *counts in rows]
        self.plans = mb.StepPlan(Lent(rows) if lends else rows)
        return self._state()

    def update(self, tokens: list, now: float) -> dict:
        import minibatch as mb

        self.clock.sleep(now - self.clock.now())
        if isinstance(self.plans.rows, Lent):
            tokens = Lent(map(Lent, tokens))
        rows = self.plans.rows
        finished = self.scheduler.update(self.plans, tokens, now)
        if self.plans.rows is not rows:
            raise TypeError(
                "[update_changes_the_plan] "
                "update changed the rows of the plan, and the engine still uses them; do not "
                "change plan.rows"
            )
        if not isinstance(finished, list | tuple | set | frozenset | deque):
            return {"finished": None, "got": type(finished).__name__, **self._state()}
        for sequence in finished:
            if not isinstance(sequence, mb.Sequence):
                raise TypeError(
                    "[update_returns_no_sequences] "
                    f"update returned a list with {_shown(sequence)} in it; it must hold the "
                    "sequences themselves"
                )
        return {"finished": [sequence.request_id for sequence in finished], **self._state()}

    def abort(self, request_id: str) -> dict:
        self.scheduler.abort(self.sequences[request_id])
        return self._state()

    def records(self, attribute: str, requests: list, options: dict) -> object:
        """Run this minibatch's engine; returns one attribute of every step's record, or "passes",
        see noted_passes.py.

        options: the policy's name, its arguments, the pool's size, whether prefixes are cached,
        which passes fail; also `borrowed` methods for a learner's policy, or the pretend model's
        shape for one of minibatch.
        """
        import minibatch as mb

        model, name = mb.PretendModel(), options["policy"]
        if "borrowed" in options:
            policy = self._class(name, options["borrowed"])(**options["arguments"])
        else:
            import torch

            model.kv_shapes = tuple(map(tuple, options["kv_shapes"]))
            model.dtype = getattr(torch, options["dtype"])
            policy = getattr(mb, name)(**options["arguments"])
        engine = mb.Engine(
            model,
            policy,
            num_blocks=options["num_blocks"],
            block_size=options["block_size"],
            prefix_caching=options.get("prefix_caching", False),
            attention="reference",  # the others store compiled code on disk
            clock=mb.VirtualClock(step_time=1),
        )
        requests = [
            mb.Request([0] * length, max_tokens=most, request_id=name, arrival_time=arrival)
            for name, length, most, arrival in requests
        ]
        passes = noted_passes(engine, requests, options.get("fails", []))
        engine.check_invariants()
        if attribute == "passes":
            return passes
        return pack([getattr(step, attribute) for step in engine.trace.steps])

    def incidents(self, name: str, arguments: dict, requests: list, incidents: dict) -> object:
        """Run an engine with such a policy, to which something happens: see `rows_of_a_run`."""
        return pack(rows_of_a_run(self.find(name)(**arguments), requests, **incidents))

    def _state(self) -> dict:
        scheduler = self.scheduler
        for name, sequence in self.sequences.items():
            if sequence.block_table is None:
                raise TypeError(
                    f"[block_table_is_none] {name}'s block_table is None; set an empty "
                    "block_table to an empty list, []"
                )
        return {
            "waiting": [sequence.request_id for sequence in scheduler.waiting],
            "running": [sequence.request_id for sequence in scheduler.running],
            "sequences": {
                name: {
                    "computed": _plain(s.num_computed_tokens),
                    "token_ids": [_plain(token) for token in s.token_ids],
                    "table": [_plain(block) for block in s.block_table],
                    "is_finished": s.is_finished,
                    "scheduled": _plain(s.first_scheduled_time),
                    "times": [_plain(time) for time in s.token_times[-1:]],
                }
                for name, s in self.sequences.items()
            },
            "num_free": self.pool.num_free,
        }


def _plain(number: Any) -> object:
    """A number as JSON has it, also numpy's and torch's; for other values, a description."""
    if number is None or isinstance(number, bool | int | float):
        return number
    if hasattr(number, "item") and not getattr(number, "shape", ()):
        return number.item()
    return repr(number)[:60]


def _shown(value: Any) -> str:
    """The repr of a small value; of any other, its type."""
    if value is None or isinstance(value, str | int | float):
        return f"{value!r:.40}"
    return f"a {type(value).__name__}"

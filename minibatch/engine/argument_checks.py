"""Checks of the engine's arguments: its parts, requests, and what a policy returned. A TypeError
says what was given, and what to give.

They look at attributes, not classes: after an edit that autoreload has loaded, there are two
classes of the same name.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from math import isfinite
from numbers import Real
from types import UnionType
from typing import TYPE_CHECKING

from ..core.plan import StepPlan
from ..core.request import Request, Sequence
from ..schedulers import POLICIES, Scheduler

if TYPE_CHECKING:
    from ..model.load import Model

FORGOTTEN = "; is a `return` missing?"
LONGEST_SHOWN = 60  # characters of what was given


def check_parts(model: Model, scheduler: Scheduler, speculation: object = None) -> None:
    """Refuse what is not a model or not a policy. speculation: what was given beside overlap."""
    if speculation is not None:
        raise ValueError(
            f"overlap=True plans a step before the newest tokens are known; speculation "
            f"({_name(speculation)}) needs these tokens to propose drafts: leave one of the two out"
        )
    _check_no_class(model, "model")
    _check_no_class(scheduler, "policy")
    if hasattr(model, "plan") and hasattr(scheduler, "runner"):
        raise TypeError("model and policy are swapped; give Engine(model, policy)")
    if not hasattr(model, "runner"):
        way = f"mb.load_model({model!r})" if isinstance(model, str) else "one: mb.load_model()"
        if hasattr(model, "generate"):  # one of transformers'
            way = "mb.load_model(it)"
        raise TypeError(f"{_name(model)} is not a model; give {way}")
    name = type(scheduler).__name__
    if not hasattr(scheduler, "plan"):
        meant = str(scheduler).capitalize()
        way = meant if meant in POLICIES else "Continuous"
        raise TypeError(f"{_name(scheduler)} is not a policy; give one: mb.{way}()")
    if not hasattr(scheduler, "bind"):
        raise TypeError(f"{name} is not a subclass of Scheduler; write class {name}(mb.Scheduler)")
    if not hasattr(scheduler, "max_batch_size"):
        raise TypeError(
            f"{name} has no max_batch_size; call super().__init__(max_batch_size) in its __init__"
        )


def as_requests(requests: Iterable[Request]) -> Iterable[Request]:
    """The requests given; a single one need not be in a list."""
    if _is_request(requests):
        return [requests]
    if isinstance(requests, str | bytes | dict) or not isinstance(requests, Iterable):
        make = f"[Request({_prompt(requests)})]"
        raise TypeError(f"{_name(requests)} is not a list of requests; make one: {make}")
    return requests


def check_request(request: Request) -> None:
    """Refuse what is not a request."""
    _check_no_class(request, "request", "prompt")
    if _is_request(request):
        return
    if isinstance(request, list | tuple) and any(map(_is_request, request)):
        raise TypeError(
            "a list is not a request; give `add` one request at a time, or give `run` the list"
        )
    raise TypeError(f"{_name(request)} is not a request; make one: Request({_prompt(request)})")


def check_plan(scheduler: Scheduler, plan: StepPlan) -> StepPlan:
    """Refuse what `plan` returned if it is not a StepPlan; returns it. Its time hardly grows with
    the rows."""
    who = f"{type(scheduler).__name__}.plan returned"
    if not (hasattr(plan, "rows") and hasattr(plan, "wake_at")):
        hint = FORGOTTEN if plan is None else ""
        raise TypeError(f"{who} {_name(plan)}; it must return a StepPlan: StepPlan(rows){hint}")
    if not isinstance(plan.rows, Collection):
        raise TypeError(f"{who} a StepPlan whose rows are {_name(plan.rows)}; give a list of Row")
    if not all(hasattr(kind, "reaches_end") for kind in set(map(type, plan.rows))):
        i, wrong = next((i, r) for i, r in enumerate(plan.rows) if not hasattr(r, "reaches_end"))
        raise TypeError(
            f"{who} a StepPlan whose rows[{i}] is {_name(wrong)}; each must be a Row: "
            "Row(sequence, num_tokens)"
        )
    if plan.wake_at is not None and not isinstance(plan.wake_at, Real):
        raise TypeError(
            f"{who} a StepPlan whose wake_at is {_name(plan.wake_at)}; give seconds on the "
            "engine's clock, or None"
        )
    if plan.wake_at is not None and not isfinite(plan.wake_at):
        raise ValueError(f"{who} a StepPlan whose wake_at is {plan.wake_at}; give a time, or None")
    return plan


def check_finished(
    scheduler: Scheduler,
    plan: StepPlan,
    finished: Collection[Sequence],
    live: Mapping[str, Sequence],
) -> None:
    """Refuse what `update` returned if it is not the list of sequences that ended in this step;
    and refuse an update after which no sequence of the plan has moved. live: all without an end."""
    who = f"{type(scheduler).__name__}.update returned"
    wanted = "it must return the list of the sequences that finished in this step, [] if none did"
    if not isinstance(finished, Collection):
        hint = FORGOTTEN if finished is None else ""
        raise TypeError(f"{who} {_name(finished)}; {wanted}{hint}")
    for sequence in finished:
        if not hasattr(sequence, "is_finished"):
            raise TypeError(f"{who} a list with {_name(sequence)} in it; {wanted}")
        if not sequence.is_finished:
            raise ValueError(
                f"{who} {sequence.request_id!r}, which has not finished: "
                f"{sequence.num_output_tokens} of its {sequence.request.max_tokens} tokens are "
                "generated, and none of them is an end token"
            )
        if live.get(sequence.request_id) is not sequence:
            raise ValueError(
                f"{who} {sequence.request_id!r}, which finished in an earlier step; {wanted}"
            )
    for row in plan.rows:
        sequence = row.sequence
        is_new = sequence.is_finished and live.get(sequence.request_id) is sequence
        if is_new and sequence not in finished:
            raise ValueError(
                f"{who} a list without {sequence.request_id!r}, which has finished; {wanted}"
            )
    computed = [row for row in plan.rows if row.num_tokens]
    if computed and all(row.sequence.num_computed_tokens == row.start for row in computed):
        raise ValueError(
            f"after {type(scheduler).__name__}.update no sequence of the {len(plan.rows)} rows "
            "has advanced; call sequence.advance(row.num_tokens, new_tokens, now) for each row"
        )


def no_rows(scheduler: Scheduler, now: float) -> RuntimeError:
    """The error for a plan without rows and without a time to ask again."""
    return RuntimeError(
        f"{type(scheduler).__name__}.plan gave no rows at {now:.3f} s, though "
        f"{len(scheduler.waiting)} requests wait and {len(scheduler.running)} run; plan a row, or "
        "set wake_at to a later time"
    )


def _is_request(thing: object) -> bool:
    return not isinstance(thing, type) and hasattr(thing, "prompt") and hasattr(thing, "max_tokens")


def _check_no_class(thing: object, what: str, arguments: str = "") -> None:
    if isinstance(thing, type):
        name = thing.__name__
        raise TypeError(f"{name} is a class; make a {what} of it: {name}({arguments})")


def _name(thing: object) -> str:
    """A short plain value itself; for anything else its class: "a Sequence"."""
    return _short(thing, str | int | float | list | None) or f"a {type(thing).__name__}"


def _prompt(thing: object) -> str:
    return _short(thing, str | list) or "prompt"


def _short(thing: object, kinds: UnionType) -> str:
    text = repr(thing) if isinstance(thing, kinds) else ""
    return text if len(text) <= LONGEST_SHOWN else ""

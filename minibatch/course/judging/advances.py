"""Whether sequences advance as they should: tokens, counters, times, and who finishes when.

Like reported_state.py: what a worker reports, beside what is true.
"""

from __future__ import annotations

import minibatch as mb
from minibatch.course.judging.reported_state import ReportedSequence
from minibatch.course.judging.verdict import Wrong

SAME_TIME = 1e-6


def check_tokens(
    step: int, rows: list[mb.Row], before: dict[str, int], told: dict[str, ReportedSequence]
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
            "Each row has one list of tokens, in the plan's order: use zip(plan.rows, tokens). "
            "The order of self.running may differ"
        )
        if got[: before[name]] != right[: before[name]]:
            why = (
                "[changes_earlier_tokens] "
                f"{name}'s earlier tokens have changed: only advance may change a sequence's "
                "tokens, by adding new ones"
            )
        elif takers and not took[name]:
            why = f"[taken_by_another] {takers[0]} got it. {together}"
        elif not took[name] and new == [0]:
            why = (
                "[token_zero_is_none] "
                "it was not added. 0 is a valid token id, but `if token` treats 0 as no token: "
                "only an empty list means no token"
            )
        elif not took[name] and _stops_at(name, [(n, brought[n], took[n]) for n in brought]):
            why = (
                "[returns_inside_the_loop] "
                "it was not added. Tokens of earlier rows were added, those of later rows were "
                "not: is there a `return` inside the loop over the rows?"
            )
        elif not took[name]:
            why = (
                "[token_not_taken_in] "
                "it was not added: call sequence.advance(row.num_tokens, new_tokens, now)"
            )
        elif givers:
            why = (
                "[took_anothers_token] "
                f"{name} got {took[name]}, the tokens of {givers[0]}'s row. {together}"
            )
        elif took[name] == new[: len(took[name])]:
            why = (
                "[takes_one_of_several] "
                f"{name} got only {took[name]}: a row may have several new tokens; pass the whole "
                "list to advance"
            )
        elif len(took[name]) > len(new):
            why = (
                "[takes_too_many] "
                f"{name} got {took[name]}: give a row's tokens only to the row's own sequence, "
                "once, and only up to the end of its answer"
            )
        else:
            why = f"[took_other_tokens] {name} got {took[name]}"
        what = "the tokens " + ", ".join(map(str, new)) if new else "no token (an empty list)"
        what = f"the token {new[0]}" if len(new) == 1 else what
        raise Wrong(
            f"In step {step}, {name}'s row had {what}, and {why}.",
            expected=f"{name}: {len(right)} tokens, at the end {right[-2:]}",
            got=f"{name}: {len(got)} tokens, at the end {got[-2:]}",
        )


def _stops_at(name: str, rows: list[tuple[str, list, list]]) -> bool:
    """Whether rows were taken in up to the one before this, and none from it on."""
    taken = [bool(took) for _, brought, took in rows if brought]
    number = [n for n, brought, _ in rows if brought].index(name)
    return number > 0 and all(taken[:number]) and not any(taken[number:])


def check_computed(step: int, name: str, row: mb.Row, right: int, got: int) -> None:
    """Whether its counter went up by what its row computed."""
    if got == right:
        return
    went, n = got - row.start, row.num_tokens
    if went == 0 and not row.reaches_end:
        why = (
            "[partial_prompt_not_advanced] "
            "did not change: a row with an empty list of new tokens has still computed a part of "
            "the prompt; advance its sequence, too"
        )
    elif went == 0:
        why = (
            "[counter_did_not_move] "
            "did not change: the first argument of advance is the row's num_tokens"
        )
    elif went == 1:
        why = f"[counter_went_up_by_one] went up by 1: advance by the row's num_tokens, here {n}"
    elif row.num_padding_tokens and went == n + row.num_padding_tokens:
        why = (
            "[padding_counted] "
            f"went up by {went}: padding does not count, so advance only by the row's num_tokens, "
            f"here {n}"
        )
    elif went == 2 * n:
        why = f"[advanced_twice] went up by {went}, twice as much: advance each sequence once"
    else:
        why = (
            f"[counter_went_elsewhere] went up by {went}: advance by the row's num_tokens, here {n}"
        )
    raise Wrong(
        f"In step {step}, {name}'s row computed {n} tokens, and num_computed_tokens {why}.",
        expected=f"{right} computed",
        got=f"{got} computed",
    )


def check_returned(
    step: int,
    right: list[mb.Sequence],
    running: list[str],
    told: object,
    kind: str,
    before: set[str],
    went_on: set[str],
) -> None:
    """Whether `update` returned those who finished in this step. kind: of what it returned; before:
    those of earlier steps; went_on: whose row brought more tokens after the end."""
    right = sorted(right, key=lambda s: s.request_id)
    names = [s.request_id for s in right]
    if isinstance(told, list) and sorted(map(str, told)) == names:
        return
    who = ", ".join(names) or "nobody"
    if not isinstance(told, list):
        what = "nothing (None)" if kind == "NoneType" else f"something of type {kind:.40}"
        why = (
            "[update_returned_no_list] "
            f"update() returned {what}: return a list of the finished sequences, empty if none "
            "has finished"
        )
    elif missing := [s for s in right if s.request_id not in told]:
        one = missing[0]
        gone = ", ".join(s.request_id for s in missing)
        is_not = "is not" if len(missing) == 1 else "are not"
        why = f"[finished_not_returned] {gone} {is_not} among those that update() returned"
        if one.num_output_tokens == 1:
            why += (
                f". [first_token_is_the_last] {one.request_id}'s first token was also its last: "
                "the row of a prompt may end an answer"
            )
        elif one.request_id in went_on:
            why += (
                f". [end_before_the_last_token] {one.request_id}'s row had several new tokens, and "
                "the end token was not the last: check sequence.is_finished, not the last token"
            )
        elif told and one.request_id in running:
            why += (
                f", but {', '.join(map(str, told))} is, and {one.request_id} is still in "
                "self.running. [only_one_of_several_finished] Several sequences may finish in one "
                "step. A loop that removes an item from its own list skips the next item"
            )
        elif one.finish_reason == "length":
            why += (
                f". [max_tokens_do_not_end] {one.request_id} has generated max_tokens tokens; this "
                "ends an answer just as the end token does: check sequence.is_finished"
            )
        elif one.request_id in running:
            why += (
                f". [end_token_does_not_end] {one.request_id} is still in self.running. It has "
                "generated its end token, which ends an answer before max_tokens; check "
                "sequence.is_finished after advance"
            )
        elif not told:
            why += (
                ": [noted_after_removal] it returned an empty list. Make the list of finished "
                "sequences before you remove them from self.running"
            )
    elif len(set(map(str, told))) < len(told):
        why = "[returned_twice] a sequence was returned twice"
    else:
        extra = next(name for name in map(str, told) if name not in names)
        why = (
            f"[returned_without_reason] {extra:.40} was returned, but has not finished in this step"
        )
        if extra in before:
            why += (
                f". [list_outlives_the_call] {extra} was already returned by an earlier call, so "
                "you keep a list between calls: as a default in `def`, or as a class attribute"
            )
    raise Wrong(
        f"In step {step}, {who} finished, and {why}.",
        expected=names,
        got=told if isinstance(told, list) else kind,
    )


def check_left(step: int, finished: list[mb.Sequence], running: list[mb.Sequence]) -> None:
    """Whether everyone who has finished has left `running`. finished: in this step."""
    stay = [s.request_id for s in running if s.is_finished]
    left = [s.request_id for s in finished if s not in running]
    if stay and left:
        raise Wrong(
            "[only_one_leaves] "
            f"{left[0]} and {stay[0]} finished in step {step}; {left[0]} left, and {stay[0]} is "
            "still in self.running. Each finished sequence leaves at once: is `return` inside the "
            "loop?"
        )
    if stay:
        raise Wrong(
            "[finished_does_not_leave] "
            f"{stay[0]} finished in step {step} and is still in self.running: a finished request "
            "leaves at once, not when all have finished."
        )


def check_admission(sequence: mb.Sequence, given: float, noted: object) -> None:
    """That what was noted when it joined is the time."""
    if noted in (sequence.max_num_tokens, sequence.num_prompt_tokens) and noted != given:
        raise Wrong(
            "[admission_noted_as_tokens] "
            f"{sequence.request_id}'s admission time is {noted}, which is its number of tokens: "
            "call self.admit(now, n), first the time, then the tokens.",
            expected=f"{given:g} s",
            got=f"{noted}",
        )
    check_time(sequence.request_id, "admission", given, noted)


def check_time(name: str, what: str, given: float, noted: object) -> None:
    """That what a policy noted as the time is what it was given."""
    if noted is None:
        raise Wrong(
            "[time_not_noted] "
            f"{name}'s {what} has no time: sequence.advance(num_tokens, new_tokens, now) adds "
            "tokens and records their time."
        )
    is_time = type(noted) in (int, float) and abs(noted) < 1e15
    if not is_time or abs(noted - given) > SAME_TIME:
        raise Wrong(
            "[other_time_noted] "
            f"{name}'s {what} has the time {noted if not is_time else format(noted, '.10g')}; the "
            f"engine's clock was at {given:g} s: pass `now`, the time of this clock.",
            expected=f"{given:g} s",
            got=f"{noted}"[:40],
        )

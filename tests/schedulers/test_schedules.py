"""Random traffic under every combination of a policy's parts; and the same with one part broken."""

import random

import pytest
import random_schedules
from hypothesis import given
from hypothesis import strategies as st
from random_schedules import Schedule

import minibatch as mb
from minibatch.engine.arrivals import Arrivals
from minibatch.schedulers import Budget, Scheduler, admission, chunks, orders
from minibatch.schedulers.backpressure import QueueLimits


@given(st.randoms(use_true_random=False))
def test_everyone_is_served_and_every_promise_kept(rng):
    Schedule.draw(rng).run()


def nobody_is_spared(self, candidates):
    victim = self.choose_victim(candidates)
    self.preempt(victim)
    return victim


def anyone_of_those_without_a_token(self, candidates):
    moved = [s for s in candidates if s.num_tokens > s.num_tokens_admitted]
    victim = self.choose_victim(moved or candidates)
    self.preempt(victim)
    return victim


def prompts_first(self, now):
    plan = mb.StepPlan(num_left=self.max_batch_tokens)
    prompts = [s for s in self.running if s.num_uncomputed_tokens > 1]
    while (sequence := self.next_admitted(prompts, plan, now)) is not None:
        prompts.append(self.admit(now, sequence.num_computed_tokens, sequence))
    for sequence, share in zip(prompts, self.shares(prompts, plan.num_left), strict=True):
        self.add_row(plan, sequence, share)
    for sequence in [s for s in self.running if s not in prompts]:
        self.add_row(plan, sequence)
    return plan


def preempts_without_a_note(self, sequence):
    self.release(sequence)
    sequence.num_computed_tokens = 0
    sequence.num_preemptions += 1
    self.waiting.appendleft(sequence)


def promises_are_forgotten(self, scheduler, sequence):
    return scheduler.can_grow(sequence, self.num_tokens(sequence) - sequence.num_computed_tokens)


def nobody_begins_alone(self, scheduler, sequence):
    promised = sum(self.num_owed(scheduler, s) for s in (*scheduler.running, sequence))
    return promised + self.num_spare(scheduler) < scheduler.pool.num_free


def lets_everyone_in(self, scheduler, now):
    self._collect(now)
    while self._arrived:
        scheduler.add(self._arrived.popleft())
    yield from ()


def forgets_the_refused(self, scheduler, now):
    arrivals_let_in(self, scheduler, now)
    for sequence in arrivals_let_in(self, scheduler, now):
        if sequence.abort_reason != "refused":
            yield sequence


def nothing_for_the_first(needs, budget):
    return [0, *original_equal(needs[1:], budget)] if len(needs) > 1 else [0] * len(needs)


arrivals_let_in, original_equal = Arrivals.let_in, chunks.equal_progress

BREAKS = {
    "nobody is spared": (Scheduler, "preempt_one", nobody_is_spared),
    "two that have not moved may preempt one another": (
        Scheduler, "preempt_one", anyone_of_those_without_a_token),
    "prompts go before decodes": (Budget, "plan", prompts_first),
    "what was thrown away is not noted": (Scheduler, "preempt", preempts_without_a_note),
    "the promised maximum is the prompt": (
        admission.ReserveMaximum, "num_tokens", admission.PromptOnly.num_tokens),
    "promises to those who run are forgotten": (
        admission.Admission, "admits", promises_are_forgotten),
    "an empty machine admits nobody who needs all of it": (
        admission.Admission, "admits", nobody_begins_alone),
    "the last comes first": (
        orders.FirstCome, "next", lambda self, scheduler, now: scheduler.waiting[-1]),
    "waiting earns nothing": (
        orders.Priority, "rank", lambda self, s, scheduler, now: -s.request.priority),
    "neither deadline nor limit is looked at": (Arrivals, "let_in", lets_everyone_in),
    "a limit is one too high": (
        QueueLimits, "check", lambda self, name, n, queue: limits_check(self, name, n, queue[1:])),
    "the refused are forgotten": (Arrivals, "let_in", forgets_the_refused),
    "the first prompt gets no share": (None, "equal_progress", nothing_for_the_first),
}  # fmt: skip
limits_check = QueueLimits.check


@pytest.mark.parametrize("name", BREAKS)
def test_a_break_is_seen(name, monkeypatch):
    where, what, broken = BREAKS[name]
    if where is None:
        monkeypatch.setattr(random_schedules, "CHUNKS", (broken,))
    else:
        monkeypatch.setattr(where, what, broken)
    with pytest.raises((AssertionError, RuntimeError)):
        try_some()


def try_some():
    for seed in range(1_000):
        Schedule.draw(random.Random(seed)).run()

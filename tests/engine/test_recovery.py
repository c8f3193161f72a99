"""After an exception anywhere in the loop the next step goes on, or `reset` starts again."""

import signal
import sys
import threading
from collections import Counter
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path

import pytest

import minibatch as mb

PACKAGE = Path(mb.__file__).parent
REQUESTS = {"A": (5, 4), "B": (3, 6), "C": (6, 2)}  # prompt and answer, tokens
POLICIES = {
    "static": lambda: mb.Static(max_batch_size=2),
    "continuous": lambda: mb.Continuous(max_batch_size=3),
    "chunked": lambda: mb.Continuous(max_batch_size=3, max_batch_tokens=4),
}


class Answering(mb.PretendModel):
    """Its tokens follow from the prompt and the place, so a token lost or doubled shows."""

    vocab_size = 100

    def runner(self, pool, attention):
        return self

    def run(self, plan):
        rows = [(row.sequence, row) for row in plan.rows]
        return [
            [answer(s.token_ids[0], row.seq_len - s.num_prompt_tokens)] if row.reaches_end else []
            for s, row in rows
        ]


def answer(first, place):
    return (7 * first + 3 * place) % 89 + 10


def request(name):
    prompt, tokens = REQUESTS[name]
    return mb.Request([ord(name) - 60] * prompt, max_tokens=tokens, request_id=name)


def engine_of(scheduler, overlap=False, num_blocks=6):
    """Six blocks of 2 tokens: enough for any of the three, not for all."""
    sizes = {"num_blocks": num_blocks, "block_size": 2}
    return mb.Engine(Answering(), scheduler, **sizes, clock=mb.VirtualClock(), overlap=overlap)


def serve(engine):
    while engine.has_work:
        engine.step()
        engine.check_invariants()


def assert_all_served(engine):
    assert engine.pool.num_free == engine.pool.num_blocks
    assert Counter(c.request_id for c in engine.trace.completions) == dict.fromkeys(REQUESTS, 1)
    for completion in engine.trace.completions:
        first, length = ord(completion.request_id) - 60, REQUESTS[completion.request_id][1]
        assert completion.token_ids == [answer(first, place) for place in range(length)]
        assert len(completion.token_times) == length
        assert completion.finish_reason == "length"
    assert engine.trace.summary()["num_requests"] == len(REQUESTS)


@cache
def name_of(filename):
    """The name of a file of the engine's rooms; None for others."""
    path = Path(filename)
    return path.name if PACKAGE in path.parents else None


@contextmanager
def lines_watched(act, only=None):
    """Call act(file, line) before every line of the engine's rooms that is executed. only: the
    name of one file; code of others then runs at its usual speed."""

    def watch(frame, event, _):
        name = name_of(frame.f_code.co_filename)
        if name is None or only not in (None, name):
            return None
        if event == "line":
            act(name, frame.f_lineno)
        return watch

    before = sys.gettrace()
    sys.settrace(watch)
    try:
        yield
    finally:
        sys.settrace(before)


def places(make, nth, options):
    """Every line that a whole run executes more than `nth` times."""
    seen = Counter()
    engine = engine_of(make(), **options)
    for name in REQUESTS:
        engine.add(request(name))
    with lines_watched(lambda *place: seen.update([place])):
        serve_once(engine)
    return [place for place, times in seen.items() if times > nth]


def serve_once(engine):
    while engine.has_work:
        engine.step()


AHEAD = {"overlap": True, "num_blocks": 9}  # where blocks are short no step is planned ahead


@pytest.mark.parametrize(
    ("policy", "nth", "options"),
    [
        ("static", 0, {}),
        ("chunked", 0, {}),
        ("chunked", 0, AHEAD),
        pytest.param("continuous", 0, {}, marks=pytest.mark.full),
        *(pytest.param(name, 1, {}, marks=pytest.mark.full) for name in POLICIES),
        *(pytest.param(name, 1, AHEAD, marks=pytest.mark.full) for name in POLICIES),
    ],
)
def test_a_keyboard_interrupt_before_any_line_loses_nothing(policy, nth, options):
    """nth: whether it comes the first time that the line is reached, or the second."""
    make = POLICIES[policy]
    for place in places(make, nth, options):
        engine = engine_of(make(), **options)
        for name in REQUESTS:
            engine.add(request(name))
        times = Counter()

        def interrupt(*here, place=place, times=times):
            times.update([here])
            if here == place and times[here] == nth + 1:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt), lines_watched(interrupt, only=place[0]):
            serve_once(engine)
        serve(engine)
        assert_all_served(engine)


def broken(engine, where):
    """Make one call that the loop makes raise, once; the call itself may have been made before."""
    owner, name, when = where
    target = owner(engine)
    method, calls = getattr(target, name), []

    def fail(*arguments, **keywords):
        calls.append(name)
        if len(calls) == 2:
            if when == "after":
                method(*arguments, **keywords)
            raise RuntimeError(f"a fault in {name}")
        return method(*arguments, **keywords)

    setattr(target, name, fail)


CALLS = {
    "scheduler": ("add", "plan", "check", "update", "retire", "release", "admit", "grow"),
    "pool": ("allocate", "free"),
    "runner": ("run",),
    "clock": ("tick",),
    "trace": ("record", "complete"),
}


@pytest.mark.parametrize("options", [{}, AHEAD], ids=["in order", "overlap"])
@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize(
    ("owner", "name"), [(owner, name) for owner, names in CALLS.items() for name in names]
)
def test_after_a_fault_in_any_call_the_next_step_goes_on(owner, name, when, options):
    if options and name == "tick":
        pytest.skip("with overlap a virtual clock does not tick: the device is modelled")
    engine = engine_of(mb.Continuous(max_batch_size=2), **options)
    for each in REQUESTS:
        engine.add(request(each))
    broken(engine, (lambda e: getattr(e, owner), name, when))
    with pytest.raises(RuntimeError, match="a fault in"):
        serve(engine)
    serve(engine)
    assert_all_served(engine)


@pytest.mark.parametrize(
    ("owner", "name"), [(owner, name) for owner, names in CALLS.items() for name in names]
)
def test_after_a_fault_in_any_call_reset_begins_anew(owner, name):
    engine = engine_of(mb.Continuous(max_batch_size=2))
    for each in REQUESTS:
        engine.add(request(each))
    broken(engine, (lambda e: getattr(e, owner), name, "after"))
    with pytest.raises(RuntimeError, match="a fault in"):
        serve(engine)
    engine.reset()
    assert not engine.has_work
    assert engine.pool.num_free == engine.pool.num_blocks
    engine.run(request(name) for name in REQUESTS)
    assert_all_served(engine)


def sequences_of(plan):
    return [row.sequence for row in plan.rows]


WRONG_ANSWERS = [  # method, what it makes of the right answer, and what the engine says to that
    ("plan", lambda plan: None, "plan returned None; it must return a StepPlan: .*`return`"),
    ("plan", lambda plan: plan.rows, r"plan returned a list; .* a StepPlan: .*StepPlan\(rows\)"),
    ("plan", lambda plan: mb.StepPlan(plan.rows[0]), r"plan .* rows are a Row; .* a list of Row"),
    ("plan", lambda plan: mb.StepPlan(None), r"plan .* rows are None; .* a list of Row"),
    (
        "plan",
        lambda plan: mb.StepPlan(sequences_of(plan)),
        r"plan .* rows\[0\] is a Sequence; .* Row",
    ),
    ("plan", lambda plan: mb.StepPlan([*plan.rows, 7]), r"plan .* rows\[\d\] is 7; .* Row\("),
    ("plan", lambda plan: mb.StepPlan(wake_at="soon"), "plan .* wake_at is 'soon'; .* seconds"),
    ("update", lambda finished: None, "update returned None; .* list of the sequences .*`return`"),
    ("update", lambda finished: 3, "update returned 3; .* list of the sequences"),
    ("update", lambda finished: ["A"], r"update returned a list with 'A' in it; .* sequences"),
]


@pytest.mark.parametrize(("method", "wrong", "says"), WRONG_ANSWERS)
def test_a_wrong_answer_of_a_policy_is_told_and_loses_nothing(method, wrong, says):
    engine = engine_of(mb.Continuous(max_batch_size=2))
    for name in REQUESTS:
        engine.add(request(name))
    right, calls = getattr(engine.scheduler, method), []

    def answer(*arguments):
        calls.append(method)
        return wrong(right(*arguments)) if len(calls) == 2 else right(*arguments)

    setattr(engine.scheduler, method, answer)
    with pytest.raises(TypeError, match=rf"^Continuous\.{says}"):
        serve(engine)
    serve(engine)
    assert_all_served(engine)


def test_a_sequence_that_goes_on_is_not_taken_for_a_finished_one():
    class Hasty(mb.Continuous):
        def update(self, plan, tokens, now):
            super().update(plan, tokens, now)
            return sequences_of(plan)

    engine = engine_of(Hasty(max_batch_size=1))
    engine.add(request("A"))
    with pytest.raises(
        ValueError, match=r"^Hasty\.update returned 'A', which has not finished: 1 of"
    ):
        engine.step()
    assert engine.has_work


@pytest.mark.parametrize("second", ["step", "add", "abort", "reset"])
def test_a_second_thread_is_refused_and_nothing_is_lost(second):
    """The other one comes while the model computes."""
    engine = engine_of(mb.Continuous(max_batch_size=2))
    acts = {
        "step": engine.step,
        "add": lambda: engine.add(request("A")),
        "abort": lambda: engine.abort(engine.scheduler.running[0].request_id),
        "reset": engine.reset,
    }
    compute, refusals = engine.model.run, []

    def run_and_be_called(plan):
        def call():
            with pytest.raises(RuntimeError, match="another thread; only one thread at a time"):
                acts[second]()
            refusals.append(second)

        thread = threading.Thread(target=call)
        thread.start()
        thread.join()
        return compute(plan)

    for name in ("B", "C") if second == "add" else REQUESTS:
        engine.add(request(name))
    engine.runner.run = run_and_be_called
    serve(engine)
    assert len(refusals) == engine.trace.num_steps
    engine.runner.run = compute
    if second == "add":
        engine.run([request("A")])
    assert_all_served(engine)


def test_one_thread_after_the_other_may_drive_an_engine():
    engine = engine_of(mb.Continuous(max_batch_size=2))
    for name in REQUESTS:
        engine.add(request(name))
    while engine.has_work:
        thread = threading.Thread(target=engine.step)
        thread.start()
        thread.join()
    assert_all_served(engine)


def test_a_request_that_ended_in_a_step_that_failed_has_ended():
    engine = engine_of(mb.Continuous(max_batch_size=2))
    engine.add(mb.Request([1], max_tokens=1, request_id="A"))
    record, engine.trace.record = engine.trace.record, None
    with pytest.raises(TypeError):
        engine.step()
    engine.trace.record = record
    assert not engine.has_work
    assert [c.finish_reason for c in engine.trace.completions] == ["length"]
    assert engine.pool.num_free == engine.pool.num_blocks


def test_a_policy_that_cannot_retire_loses_no_answer():
    class Broken(mb.Continuous):
        def retire(self, finished):
            raise TypeError("half done")

    engine = engine_of(Broken(max_batch_size=2))
    engine.add(mb.Request([1], max_tokens=1, request_id="A"))
    with pytest.raises(TypeError, match="half done"):
        engine.step()
    assert [len(c.token_ids) for c in engine.trace.completions] == [1]
    assert (engine.has_work, engine.pool.num_free) == (False, engine.pool.num_blocks)


def test_after_an_exception_what_ran_is_requeued_in_order_and_counted_apart():
    engine = engine_of(mb.Continuous(max_batch_size=2))
    for name in REQUESTS:
        engine.add(request(name))
    engine.step()
    running = [s.request_id for s in engine.scheduler.running]
    tokens = [list(s.token_ids) for s in engine.scheduler.running]
    compute, engine.runner.run = engine.runner.run, None
    with pytest.raises(TypeError):
        engine.step()
    engine.runner.run = compute
    waiting = list(engine.scheduler.waiting)
    assert [s.request_id for s in waiting[: len(running)]] == running
    assert [s.token_ids for s in waiting[: len(running)]] == tokens
    assert {(len(s.block_table), s.num_computed_tokens) for s in waiting} == {(0, 0)}
    step = engine.step()
    assert list(step.requeued) == running
    assert step.preempted == ()
    assert dict(step.recomputed).keys() == set(running)
    serve(engine)
    assert engine.trace.summary()["num_requeued"] == len(running)
    assert_all_served(engine)


def test_padding_rows_of_a_static_batch_are_not_requeued():
    engine = engine_of(mb.Static(max_batch_size=2))
    for name in ("C", "B"):  # C ends first, and its slot is padding from then on
        engine.add(mb.Request([ord(name) - 60] * 2, max_tokens=REQUESTS[name][1], request_id=name))
    for _ in range(4):
        engine.step()
    compute, engine.runner.run = engine.runner.run, None
    with pytest.raises(TypeError):
        engine.step()
    engine.runner.run = compute
    assert [s.request_id for s in engine.scheduler.waiting] == ["B"]
    serve(engine)
    assert sorted(c.request_id for c in engine.trace.completions) == ["B", "C"]
    assert engine.trace.summary()["num_requeued"] == 1


def test_a_call_that_is_refused_before_it_begins_requeues_nothing():
    engine = engine_of(mb.Continuous(max_batch_size=2))
    engine.add(request("A"))
    engine.step()
    for wrong in (lambda: engine.abort("Z"), lambda: engine.fork("Z"), lambda: engine.add(None)):
        with pytest.raises((ValueError, TypeError)):
            wrong()
    assert [s.request_id for s in engine.scheduler.running] == ["A"]


def test_a_callback_that_raises_leaves_the_step_taken():
    engine = engine_of(mb.Continuous(max_batch_size=3))
    engine.on_step(lambda record: 1 / 0)
    for name in REQUESTS:
        engine.add(request(name))
    while engine.has_work:
        with pytest.raises(ZeroDivisionError):
            engine.step()
        engine.check_invariants()
    assert_all_served(engine)


class AddsAnother(mb.Continuous):
    """A policy that has the engine take in a request while it is handed another."""

    def add(self, sequence):
        super().add(sequence)
        if sequence.request_id == "A":
            self.engine.add(request("B"))


def test_a_request_added_while_another_is_handed_over_is_served_once():
    scheduler = AddsAnother(max_batch_size=3)
    engine = scheduler.engine = engine_of(scheduler)
    engine.add(request("A"))
    engine.add(request("C"))
    serve(engine)
    assert_all_served(engine)


def test_a_request_given_up_before_it_arrives_never_does():
    engine = engine_of(mb.Continuous(max_batch_size=3))
    engine.add(mb.Request([1], max_tokens=2, arrival_time=5.0, request_id="late"))
    engine.add(mb.Request([1], max_tokens=2, arrival_time=9.0, request_id="later"))
    engine.abort("late")
    serve(engine)
    assert [c.finish_reason for c in engine.trace.completions] == ["abort", "length"]
    assert [row.request_id for step in engine.trace.steps for row in step.rows] == ["later"] * 2


# Interrupts at any line -------------------------------------------------------------------------


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="Windows has no timers of signals")
def test_a_real_interrupt_at_any_moment_leaves_no_guard_taken():
    """Signals arrive between any two instructions, also in the guard's own lines."""
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    try:
        for k in range(600):
            engine = engine_of(mb.Continuous(4))
            for name in "ABCD":
                engine.add(mb.Request([1, 2], max_tokens=3, request_id=name))
            with suppress(KeyboardInterrupt):
                signal.setitimer(signal.ITIMER_REAL, (2 + k % 120) * 1e-6)
                for _ in range(3):
                    engine.step()
            signal.setitimer(signal.ITIMER_REAL, 0)
            while engine.has_work:
                engine.step()
                engine.check_invariants()
                slots = [row.slot for row in engine.trace.steps[-1].rows]
                assert len(set(slots)) == len(slots)
            assert engine._guard._owner is None
            assert engine.pool.num_free == engine.pool.num_blocks
            assert sorted(c.request_id for c in engine.trace.completions) == list("ABCD")
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


# What a refusal must not break ------------------------------------------------------------------


def test_an_engine_that_is_refused_leaves_the_pool_s_owner_its_cache():
    first = mb.Engine(
        Answering(), mb.Continuous(2), num_blocks=6, block_size=2, prefix_caching=True
    )
    cache = first.pool.prefixes
    for caching in (False, True):
        with pytest.raises(RuntimeError, match="already serves"):
            mb.Engine(Answering(), mb.Continuous(2), pool=first.pool, prefix_caching=caching)
        assert first.pool.prefixes is cache


@pytest.mark.parametrize("keep", [None, 2])
def test_a_request_is_recorded_once_when_the_proposer_fails_at_its_end(keep):
    class Forgetful(mb.PromptLookup):
        fails = True

        def leave(self, sequence):
            if self.fails:
                self.fails = False
                raise ValueError("once")

    engine = mb.Engine(
        Answering(),
        mb.Budget(4, 16, order=mb.schedulers.orders.Priority()),
        num_blocks=64,
        speculation=Forgetful(),
        clock=mb.VirtualClock(),
        trace=mb.Trace(keep=keep),
    )
    for name, priority in (("a", 0), ("b", 1)):
        engine.add(mb.Request([1, 2], max_tokens=1, request_id=name, priority=priority))
    with pytest.raises(ValueError, match="once"):
        engine.step()
    while engine.has_work:
        engine.step()
    assert sorted(c.request_id for c in engine.trace.completions) == ["a", "b"]
    assert engine.trace.summary()["num_requests"] == 2


def updating(change):
    class Own(mb.Continuous):
        def update(self, plan, tokens, now):
            return change(super().update, plan, tokens, now)

    return engine_of(Own(2))


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (
            lambda up, plan, tokens, now: up(plan, tokens, now) and [],
            "without 'C', which has finished",
        ),
        (lambda up, plan, tokens, now: [], "has advanced"),
    ],
)
def test_an_update_that_loses_an_end_or_advances_nothing_is_named(change, says):
    engine = updating(change)
    engine.add(request("C"))
    with pytest.raises(ValueError, match=says):
        serve(engine)


def test_an_end_is_reported_once():
    ended = []

    def again(up, plan, tokens, now):
        ended.extend(up(plan, tokens, now))
        return list(ended)

    engine = updating(again)
    for name in "CA":
        engine.add(request(name))
    with pytest.raises(ValueError, match="'C', which finished in an earlier step"):
        serve(engine)


def test_a_policy_that_admits_by_hand_starts_its_request():
    """A request that runs is not ended at its deadline."""

    class ByHand(mb.Continuous):
        def plan(self, now):
            while self.waiting:
                sequence = self.waiting.popleft()
                self.grow(sequence, sequence.max_num_tokens)
                self.running.append(sequence)
            return mb.StepPlan([mb.Row(s, s.num_uncomputed_tokens) for s in self.running])

    engine = engine_of(ByHand(2))
    engine.add(mb.Request([1, 2], max_tokens=4, deadline=2.5 * engine.clock.step_time))
    while engine.has_work:
        engine.step()
    (completion,) = engine.trace.completions
    assert completion.finish_reason == "length"
    assert completion.first_scheduled_time == 0


def test_a_plan_over_its_budget_gets_no_drafts():
    asked = []

    def many(ids, most):
        asked.append(most)
        return [1] * most

    class Over(mb.Budget):
        def plan(self, now):
            while self.waiting:
                self.admit(now, self.waiting[0].max_num_tokens)
            return mb.StepPlan([mb.Row(s, s.num_uncomputed_tokens) for s in self.running])

    engine = mb.Engine(
        Answering(), Over(4, 8), num_blocks=64, speculation=many, clock=mb.VirtualClock()
    )
    engine.add(mb.Request([1] * 4, max_tokens=30))
    engine.step()
    engine.add(mb.Request([1] * 20, max_tokens=3))
    engine.step()
    assert all(most > 0 for most in asked)
    assert all(not row.draft for row in engine.trace.steps[-1].rows)


@pytest.mark.parametrize("time", [float("nan"), float("inf")])
def test_a_time_to_wake_up_is_a_number(time):
    class Sleepy(mb.Continuous):
        def plan(self, now):
            return mb.StepPlan([], wake_at=time)

    engine = engine_of(Sleepy(2))
    engine.add(request("A"))
    with pytest.raises(ValueError, match="wake_at"):
        engine.step()


def test_forks_of_a_fork_have_seeds_of_their_own():
    engine = engine_of(mb.Continuous(1))
    engine.add(mb.Request([1], max_tokens=2, request_id="A", seed=7))
    engine.fork("A", 2)
    engine.fork("A")
    engine.fork("A/1", 2)
    seeds = [sequence.seed for sequence in engine._live.values()]
    assert len(set(seeds)) == len(seeds) == 6
    assert seeds[1:4] == [8, 9, 10]

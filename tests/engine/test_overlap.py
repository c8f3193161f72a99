"""Overlapped steps: the tokens are those of the other loop, and nothing is lost on the way.

The fuzz (test_fuzz.py) and the interrupts at every line (test_recovery.py) run with overlap, too.
"""

import random
import threading

import policies
import pytest
import torch
from late_rows import LateRowsModel
from oracle import assert_same_sample, assert_same_tokens, generate, sample
from stand_in_gpu import WAIT
from token_store import expected
from torch.utils._python_dispatch import TorchDispatchMode

import minibatch as mb
from minibatch.engine.held_blocks import HeldBlocks
from minibatch.memory.block_manager import BlockManager
from minibatch.model import sampling

SIZES = [(1, 9), (17, 12), (5, 1), (33, 7), (2, 20), (16, 16), (8, 5), (24, 2)]
STOPS = [2, 11, 20, 29, 38, 47, 56, 65, 74, 83, 92, 101]
every_policy = policies.every_policy(max_batch_size=4, max_batch_tokens=6)


@pytest.fixture(scope="module")
def bank(tiny_model):
    """Requests, some of which stop early or sample, and their answers computed alone."""
    chance = random.Random(1)
    requests = [
        mb.Request(
            chance.choices(range(2, 128), k=prompt),
            max_tokens=answer,
            request_id=f"r{i}",
            stop_token_ids=STOPS if i % 2 else (),
            temperature=2.0 if i % 3 == 2 else 0.0,
            seed=i,
        )
        for i, (prompt, answer) in enumerate(SIZES)
    ]
    alone = [(sample if r.temperature else generate)(tiny_model, r) for r in requests]
    return list(zip(requests, alone, strict=True))


def assert_right(model, request, token_ids, alone):
    check = assert_same_sample if request.temperature else assert_same_tokens
    check(model, request, token_ids, alone)


def overlapped(model, scheduler, **options):
    options = {"attention": "gather", "block_size": 4, "clock": mb.VirtualClock()} | options
    return mb.Engine(model, scheduler, overlap=True, **options)


def serve(engine):
    while engine.has_work:
        engine.step()
        engine.check_invariants()
    assert engine.pool.num_free == engine.pool.num_blocks
    return {completion.request_id: completion for completion in engine.trace.completions}


def pretend(scheduler, *lengths, clock=None, **options):
    """A pretend engine, and requests of (prompt, answer) tokens, named A, B, C …"""
    engine = overlapped(mb.PretendModel(), scheduler, clock=clock or mb.VirtualClock(), **options)
    for name, (prompt, answer) in zip("ABCDEFGH", lengths, strict=False):
        engine.add(mb.Request([0] * prompt, max_tokens=answer, request_id=name))
    return engine


# Same tokens --------------------------------------------------------------------------------------


@every_policy
@pytest.mark.parametrize("room", ["roomy", "tight", "cached"])
def test_tokens_are_those_of_transformers(tiny_model, bank, make, room):
    tight = max(-(-(prompt + answer) // 4) for prompt, answer in SIZES) + 1
    options = {"num_blocks": tight} if room != "roomy" else {}
    engine = overlapped(tiny_model, make(), prefix_caching=room == "cached", **options)
    for request, _ in bank:
        engine.add(request)
    done = serve(engine)
    for request, alone in bank:
        assert_right(tiny_model, request, done[request.request_id].token_ids, alone)


@pytest.mark.parametrize(
    "make", [mb.PrefillFirst, lambda size: mb.Budget(size, 12)], ids=["prefill first", "budget"]
)
@pytest.mark.parametrize("attention", ["cpu", "reference"])
def test_tokens_do_not_depend_on_the_attention_either(tiny_model, bank, make, attention):
    engine = overlapped(tiny_model, make(3), attention=attention)
    for (request, alone), done in zip(bank, engine.run([r for r, _ in bank]), strict=True):
        assert_right(tiny_model, request, done.token_ids, alone)


def test_a_stream_and_real_time_give_the_same_tokens(tiny_model, bank):
    engine = overlapped(tiny_model, mb.Continuous(3), clock=mb.WallClock())
    got = {request.request_id: [] for request, _ in bank}
    for event in engine.stream([request for request, _ in bank]):
        got[event.request_id].append(event.token_id)
    for request, alone in bank:
        assert_right(tiny_model, request, got[request.request_id], alone)


@pytest.mark.parametrize("caching", [False, True])
def test_forks_and_prefixes_share_what_is_collected(tiny_model, bank, caching):
    request, alone = bank[3]
    engine = overlapped(tiny_model, mb.Continuous(4), prefix_caching=caching)
    engine.add(request)
    engine.step()
    assert len(engine._loop.flights) == 1
    names = engine.fork(request.request_id, 2)
    done = serve(engine)
    for name in (request.request_id, *names):
        assert_right(tiny_model, request, done[name].token_ids, alone)
    shared = [step.sharing.num_shared for step in engine.trace.steps if step.sharing]
    assert max(shared) == len(request.prompt) // 4


class RowForEach(mb.Scheduler):
    """A learner's: a row for each that runs, though the last token of some is in flight."""

    def plan(self, now):
        while self.waiting and len(self.running) < self.max_batch_size:
            self.admit(now, self.waiting[0].max_num_tokens)
        return mb.StepPlan([mb.Row(s, max(1, s.num_uncomputed_tokens)) for s in self.running])


def test_a_policy_may_plan_a_row_for_each_that_runs(tiny_model, bank):
    engine = overlapped(tiny_model, RowForEach(3))
    for (request, alone), done in zip(bank, engine.run([r for r, _ in bank]), strict=True):
        assert_right(tiny_model, request, done.token_ids, alone)


class PreemptsAtWill(mb.Continuous):
    """Preempts while a plan is made, though blocks are free. at_once: and admits again in the same
    plan, before the step in flight is collected."""

    def __init__(self, size, at_once):
        super().__init__(size)
        self.at_once, self.in_flight = at_once, 0

    def plan(self, now):
        if len(self.running) > 1 and self.running[-1].num_tokens % 3 == 0:
            self.in_flight += self.running[-1].num_in_flight > 0
            self.preempt(self.running[-1])
            if not self.at_once:
                plan = mb.StepPlan()
                for sequence in self.running:
                    self.add_row(plan, sequence)
                return plan
        return super().plan(now)


@pytest.mark.parametrize("at_once", [False, True])
def test_a_request_preempted_in_flight_keeps_its_token(tiny_model, bank, at_once):
    engine = overlapped(tiny_model, PreemptsAtWill(3, at_once))
    for request, _ in bank:
        engine.add(request)
    done = serve(engine)
    assert engine.scheduler.in_flight > 3
    for request, alone in bank:
        assert_right(tiny_model, request, done[request.request_id].token_ids, alone)


# Blocks of rows in flight -------------------------------------------------------------------------


def released_at_once(self, sequence):
    """What `HeldBlocks.release` must not do."""
    BlockManager.release(self, sequence)
    self._overlap.drop_rows(sequence)


class Unchecked(LateRowsModel):
    """As a real model: it reads what it finds, and notices nothing."""

    def runner(self, pool, attention):
        runner = super().runner(pool, attention)
        runner.check = lambda row, own: own.__setitem__(slice(None), self.found(runner, row, own))
        return runner

    def found(self, runner, row, own):
        places = [runner.place(row.sequence, mark.position) for mark in own]
        wrong = [runner.blocks[b][i] for b, i in places]
        number = sum(mark.prefix for mark in wrong if mark is not None)
        right = sum(mark.prefix for mark in own)
        last = own[-1]
        return own if number == right else [*own[:-1], last._replace(prefix=number)]


def answers(model):
    """Of 30 requests that stop at different places, in a pool that is always nearly full."""
    chance = random.Random(3)
    requests = [
        mb.Request(
            chance.choices(range(1, 5), k=chance.randint(1, 9)), max_tokens=14, request_id=f"r{i}"
        )
        for i in range(30)
    ]
    engine = overlapped(model, mb.Continuous(4), num_blocks=24, block_size=1)
    got = [completion.token_ids for completion in engine.run(requests)]
    return got, [expected(request) for request in requests]


@pytest.mark.parametrize("late", [0.0, 0.5, 1.0])
def test_a_device_may_execute_rows_in_flight_as_late_as_it_likes(late):
    got, right = answers(Unchecked(late=late))
    assert got == right


def test_blocks_given_back_at_once_change_tokens(monkeypatch):
    monkeypatch.setattr(HeldBlocks, "release", released_at_once)
    got, right = answers(Unchecked(late=0.5))
    assert got != right


def test_a_device_that_executes_in_order_hides_that(monkeypatch):
    """So no run of the real model on one thread, or on one stream, would find it."""
    monkeypatch.setattr(HeldBlocks, "release", released_at_once)
    got, right = answers(Unchecked(late=0.0))
    assert got == right


def test_the_invariants_find_blocks_given_back_at_once(monkeypatch):
    monkeypatch.setattr(HeldBlocks, "release", released_at_once)
    engine = pretend(mb.Continuous(2), (5, 9), (3, 9))
    engine.step()
    engine.step()
    engine.check_invariants()
    engine.abort("A")
    with pytest.raises(mb.InvariantError, match="is free, and a step in flight still .* for 'A'"):
        engine.check_invariants()


def test_blocks_of_an_aborted_request_come_back_with_its_last_step():
    engine = pretend(mb.Continuous(2), (5, 9), (3, 9))
    engine.step()
    engine.step()
    held = len(engine.sequence("A").block_table)
    free = engine.pool.num_free
    engine.abort("A")
    engine.check_invariants()
    assert engine.pool.num_free == free
    record = engine.step()
    assert [(row.request_id, row.kind) for row in record.rows] == [("A", "wasted"), ("B", "decode")]
    assert engine.pool.num_free >= free + held - 1  # B may have taken one
    serve(engine)


@every_policy
def test_after_the_last_abort_nothing_is_in_flight(make):
    seen = []
    engine = pretend(make(), (5, 9), (3, 9), (2, 9))
    engine.on_step(seen.append)
    engine.step()
    engine.step()
    for name in "ABC":
        engine.abort(name)
        engine.check_invariants()
    assert not engine.has_work
    assert engine.pool.num_free == engine.pool.num_blocks
    assert seen == engine.trace.steps


# What is recorded ---------------------------------------------------------------------------------


def test_a_stop_token_is_known_one_step_late_and_a_length_is_not(tiny_model, bank):
    engine = overlapped(tiny_model, mb.Continuous(8))
    done = engine.run([request for request, _ in bank])
    rows = [row for step in engine.trace.steps for row in step.rows if row.kind == "wasted"]
    ends = {c.request_id: c for c in done}
    assert {row.request_id for row in rows} == {
        c.request_id for c in done if c.finish_reason == "stop" and len(c.token_ids) < 20
    } - {name for name, c in ends.items() if len(c.token_ids) == SIZES[int(name[1])][1]}
    assert len(rows) == engine.trace.summary()["num_wasted_rows"] > 0
    assert all(row.token_ids == () and row.num_tokens == 1 for row in rows)


def test_records_tell_of_admissions_and_preemptions_as_in_the_other_loop():
    def run(overlap):
        clock = mb.VirtualClock()
        engine = mb.Engine(
            mb.PretendModel(), mb.Continuous(3), num_blocks=7, block_size=2, clock=clock,
            overlap=overlap, prefix_caching=True,
        )  # fmt: skip
        lengths = [(3, 5), (4, 6), (5, 4), (2, 7), (6, 3)]
        requests = [
            mb.Request([0] * prompt, max_tokens=answer, request_id=name)
            for name, (prompt, answer) in zip("ABCDE", lengths, strict=True)
        ]
        engine.run(requests)
        return engine.trace

    plain, ahead = run(False), run(True)
    assert plain.summary()["num_preemptions"] > 0
    for trace in (plain, ahead):
        admitted = [name for step in trace.steps for name in step.admitted]
        preempted = [name for step in trace.steps for name in step.preempted]
        assert sorted(admitted) == sorted([*"ABCDE", *preempted])
        looked_up = [[lookup.request_id for lookup in step.sharing.lookups] for step in trace.steps]
        for step, names in zip(trace.steps, looked_up, strict=True):
            assert set(step.admitted) <= set(names)  # one may be preempted in the same plan
        for step in trace.steps:
            assert len({row.slot for row in step.rows}) == len(step.rows)
            assert max(row.slot for row in step.rows) < 3
    assert ahead.summary()["output_tokens"] == plain.summary()["output_tokens"] == 25


@pytest.mark.parametrize(
    ("step_time", "scheduling_time", "in_order", "ahead"),
    [(0.02, 0.005, 0.025, 0.02), (0.02, 0.03, 0.05, 0.03), (0.02, 0.0, 0.02, 0.02)],
)
def test_a_virtual_step_takes_the_longer_of_forward_and_scheduling(
    step_time, scheduling_time, in_order, ahead
):
    for overlap, period in ((False, in_order), (True, ahead)):
        clock = mb.VirtualClock(step_time, scheduling_time=scheduling_time)
        engine = mb.Engine(mb.PretendModel(), mb.Continuous(2), clock=clock, overlap=overlap)
        engine.run([mb.Request([0] * 3, max_tokens=12)])
        ends = [step.end_time for step in engine.trace.steps]
        gaps = [after - before for before, after in zip(ends, ends[1:], strict=False)]
        assert gaps[:-1] == pytest.approx([period] * 10)  # nothing is planned beside the last one


def test_times_of_a_step_follow_one_another_and_two_steps_overlap():
    clock = mb.VirtualClock(0.02, scheduling_time=0.005)
    engine = pretend(mb.Continuous(2), (3, 9), clock=clock)
    serve(engine)
    steps = [step.times for step in engine.trace.steps]
    for times in steps:
        marks = [*times.plan, *times.launch, *times.forward, *times.collect]
        assert marks == sorted(marks)
    for this, following in zip(steps, steps[1:], strict=False):
        assert following.plan[1] <= this.forward[1] <= following.forward[0]


def test_the_real_model_has_real_times(tiny_model, bank):
    engine = overlapped(tiny_model, mb.Continuous(4), clock=mb.WallClock())
    engine.run([request for request, _ in bank])
    for step in engine.trace.steps:
        plan, launch, forward, collect = step.times
        assert plan[0] <= plan[1] <= launch[1] <= collect[0] <= collect[1]
        assert launch[0] <= forward[0] <= forward[1] <= collect[0]


def test_while_blocks_are_short_no_step_is_planned_ahead():
    engine = pretend(mb.Continuous(2), (5, 9), (5, 9), num_blocks=4, block_size=4)
    in_flight = []
    while engine.has_work:
        engine.step()
        engine.check_invariants()
        in_flight.append(len(engine._loop.flights))
    assert set(in_flight) == {0, 1}
    assert engine.trace.summary()["num_preemptions"] == 1


# Errors and interrupts ----------------------------------------------------------------------------


def test_an_error_in_a_step_discards_the_next_one(tiny_model, bank):
    calls = []

    def attention(*arguments):
        calls.append(threading.current_thread())
        if len(calls) == 9:
            raise RuntimeError("a fault on the device")
        return mb.attention.gather_sdpa.gather_sdpa_attention(*arguments)

    engine = overlapped(tiny_model, mb.Continuous(3), attention=attention)
    for request, _ in bank:
        engine.add(request)
    with pytest.raises(RuntimeError, match="a fault on the device"):
        serve(engine)
    engine.check_invariants()
    assert engine._loop.flights == []
    assert engine.pool.num_free == engine.pool.num_blocks
    done = serve(engine)
    for request, alone in bank:
        assert_right(tiny_model, request, done[request.request_id].token_ids, alone)
    assert threading.main_thread() not in calls[:9]  # then some steps go in order
    assert threading.main_thread() not in calls[-9:]


def test_an_error_in_a_step_without_a_live_request_harms_none(tiny_model):
    """An answer ends with a stop token, and the step beside it fails: it has a wasted row only."""
    request = mb.Request([18, 5, 9], max_tokens=3, request_id="A", ignore_eos=True)
    ((first, second, _),) = (
        c.token_ids for c in mb.Engine(tiny_model, mb.Sequential()).run([request])
    )
    passes = []

    def attention(query, *rest):
        passes.append(len(query))
        if len(passes) > 2 * tiny_model.hf.config.num_hidden_layers:
            raise RuntimeError("a fault on the device")
        return mb.attention.gather_sdpa.gather_sdpa_attention(query, *rest)

    engine = overlapped(tiny_model, mb.Sequential(), attention=attention)
    engine.add(mb.Request([18, 5, 9], max_tokens=3, request_id="B", stop_token_ids=[second]))
    done = serve(engine)
    assert done["B"].token_ids == [first, second]
    assert done["B"].finish_reason == "stop"
    assert len(passes) > 2 * tiny_model.hf.config.num_hidden_layers  # it did fail


def test_logits_that_are_not_finite_name_the_request_and_not_the_next_step(tiny_model, bank):
    def attention(*arguments):
        out = mb.attention.gather_sdpa.gather_sdpa_attention(*arguments)
        return torch.full_like(out, torch.nan) if arguments[-2].seq_lens.max() > 8 else out

    engine = overlapped(tiny_model, mb.Continuous(2), attention=attention)
    engine.add(bank[4][0])  # 2 + 20 tokens
    with pytest.raises(FloatingPointError, match="'r4': after its 9 tokens .* nan"):
        serve(engine)
    engine.check_invariants()


def test_an_interrupt_waits_for_the_step_in_flight(tiny_model, bank, monkeypatch):
    engine = overlapped(tiny_model, mb.Continuous(3))
    for request, _ in bank:
        engine.add(request)
    engine.step()
    may_end, events = threading.Event(), []
    compute, reset = engine.runner.compute, engine.pool.reset

    def slow(*arguments):
        may_end.wait(20)
        logits = compute(*arguments)
        events.append("executed")
        return logits

    def interrupted(now):
        engine.scheduler.plan = plan
        raise KeyboardInterrupt

    def settle():
        may_end.set()
        type(engine.runner).settle(engine.runner)

    plan = engine.scheduler.plan
    engine._loop.wait(engine._loop.flights[0])  # it must not be the slow one
    monkeypatch.setattr(engine.runner, "compute", slow)
    engine.step()  # leaves a step in flight that cannot end yet
    monkeypatch.setattr(engine.runner, "settle", settle)
    monkeypatch.setattr(engine.pool, "reset", lambda: (events.append("free"), reset()))
    engine.scheduler.plan = interrupted
    with pytest.raises(KeyboardInterrupt):
        engine.step()
    assert events == ["executed", "free"]
    done = serve(engine)
    for request, alone in bank:
        assert_right(tiny_model, request, done[request.request_id].token_ids, alone)


def test_a_reset_waits_and_forgets(tiny_model, bank):
    engine = overlapped(tiny_model, mb.Continuous(3))
    for _ in range(2):
        for request, _ in bank:
            engine.add(request)
        engine.step()
        engine.reset()
        engine.check_invariants()
        assert engine._loop.flights == []
        assert engine.pool.num_free == engine.pool.num_blocks
    done = engine.run([request for request, _ in bank])
    for (request, alone), completion in zip(bank, done, strict=True):
        assert_right(tiny_model, request, completion.token_ids, alone)


# Refused, and what a GPU needs --------------------------------------------------------------------


def test_speculation_is_refused_by_name():
    scheduler = mb.Continuous(2)
    with pytest.raises(ValueError, match="overlap=True .* speculation .*PromptLookup"):
        mb.Engine(mb.PretendModel(), scheduler, overlap=True, speculation=mb.PromptLookup())
    mb.Engine(mb.PretendModel(), scheduler)  # the policy was not used up


class NeverWaits(TorchDispatchMode):
    """Raises at an operation that waits for the device."""

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        if function in WAIT or function.overloadpacket in WAIT:
            raise AssertionError(f"{function} waits for the device")
        return function(*args, **(kwargs or {}))


def test_sampling_does_not_wait_for_the_device():
    ways = [{}, {"temperature": 1.0}, {"temperature": 1.0, "top_k": 3, "top_p": 0.7}]
    draws = [sampling.Draw(i, 0.5, mb.Request([1], **way)) for i, way in enumerate(ways) if i]
    logits = torch.randn(3, 16, generator=torch.Generator().manual_seed(0))
    with NeverWaits():
        tokens, _ = sampling.choose(logits, draws)
    picked = [
        sampling.pick(logits[d.row], 0.5, 1.0, d.request.top_k, d.request.top_p) for d in draws
    ]
    assert tokens.tolist() == [int(logits[0].argmax()), *picked]
    with NeverWaits(), pytest.raises(AssertionError, match="waits for the device"):
        tokens[0].item()

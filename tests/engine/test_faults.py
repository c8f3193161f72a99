"""A fault loses nothing: exceptions, the stop button, aborts, resets, and policies gone wrong."""

import policies
import pytest
from oracle import assert_same_tokens, generate

import minibatch as mb
from minibatch.attention.gather_sdpa import gather_sdpa_attention

REQUESTS = {"A": (9, 5), "B": (4, 8), "C": (13, 3), "D": (2, 6)}  # prompt and answer, tokens

every_policy = policies.every_policy(max_batch_size=3, max_batch_tokens=4)
every_fault = pytest.mark.parametrize("fault", [RuntimeError, KeyboardInterrupt])


class Breakable:
    """Attention that raises in its `at`-th call; each step calls it once for each of two layers."""

    def __init__(self, fault=RuntimeError, at=None):
        self.fault, self.at, self.calls = fault, at, 0

    def __call__(self, *arguments):
        self.calls += 1
        if self.calls == self.at:
            raise self.fault("a fault in attention")
        return gather_sdpa_attention(*arguments)


def engine_of(model, scheduler, attention="gather", num_blocks=12):
    """12 blocks of 2 tokens: enough for any one request, not for all, so Continuous preempts."""
    return mb.Engine(
        model,
        scheduler,
        num_blocks=num_blocks,
        block_size=2,
        attention=attention,
        clock=mb.VirtualClock(),
    )


def requests():
    return [
        mb.Request([ord(name) % 100 + i for i in range(n)], max_tokens=answer, request_id=name)
        for name, (n, answer) in REQUESTS.items()
    ]


@pytest.fixture(scope="module")
def answers(tiny_model):
    return {request.request_id: generate(tiny_model, request) for request in requests()}


def books(sequences):
    """What only a finished forward pass may change, by request."""
    return {
        s.request_id: (list(s.token_ids), list(s.token_times), s.finish_reason) for s in sequences
    }


def sequences_of(engine):
    return [*engine.scheduler.running, *engine.scheduler.waiting]


def finish(engine, answers):
    """Serve what is left; every answer is the right one and every block comes back."""
    while engine.has_work:
        engine.step()
        engine.check_invariants()
    assert engine.pool.num_free == engine.pool.num_blocks
    for completion in engine.trace.completions:
        if completion.finish_reason != "abort":
            request = next(r for r in requests() if r.request_id == completion.request_id)
            expected = answers[completion.request_id]
            assert_same_tokens(engine.model, request, completion.token_ids, expected)


# Faults in the forward pass -------------------------------------------------------------------


@every_policy
@every_fault
@pytest.mark.parametrize("at", [1, 2, 3, 6, 9, 12])
def test_a_fault_in_attention_changes_no_token_and_the_next_step_goes_on(
    tiny_model, answers, make, fault, at
):
    engine = engine_of(tiny_model, make(), Breakable(fault, at))
    for request in requests():
        engine.add(request)
    faults = 0
    while engine.has_work:
        before = books(sequences_of(engine))
        computed = {s.request_id: s.num_computed_tokens for s in sequences_of(engine)}
        state = (len(engine.trace.steps), len(engine.trace.completions))
        try:
            engine.step()
        except fault:
            faults += 1
            after = books(sequences_of(engine))  # whoever has just arrived has no token yet
            assert all(
                after[name] == before.get(name, (after[name][0], [], None)) for name in after
            )
            assert before.keys() <= after.keys()
            assert (len(engine.trace.steps), len(engine.trace.completions)) == state
            for s in engine.scheduler.running:
                assert s.num_computed_tokens == computed.get(s.request_id, 0)
        engine.check_invariants()
    assert faults == 1
    assert len(engine.trace.completions) == 4
    finish(engine, answers)


@every_policy
@every_fault
def test_a_fault_after_the_last_layer_changes_no_token(tiny_model, answers, make, fault):
    engine = engine_of(tiny_model, make())
    for request in requests():
        engine.add(request)

    def fail(module, inputs, output):
        raise fault("a fault at the very end")

    engine.step()
    for _ in range(3):  # every K and V of the step has been written when this raises
        hook = tiny_model.hf.lm_head.register_forward_hook(fail)
        try:
            before = books(sequences_of(engine))
            with pytest.raises(fault):
                engine.step()
        finally:
            hook.remove()
        assert books(sequences_of(engine)) == before
        engine.check_invariants()
        if engine.has_work:
            engine.step()
    finish(engine, answers)


@every_policy
def test_ten_faults_in_a_row_leak_nothing(tiny_model, answers, make):
    attention = Breakable()
    engine = engine_of(tiny_model, make(), attention)
    for request in requests():
        engine.add(request)
    engine.step()
    free = None
    for _ in range(10):
        attention.at = attention.calls + 1
        with pytest.raises(RuntimeError, match="a fault in attention"):
            engine.step()
        engine.check_invariants()
        assert free in {None, engine.pool.num_free}
        free = engine.pool.num_free
    finish(engine, answers)


@every_policy
def test_after_a_fault_requests_can_be_aborted_instead(tiny_model, make):
    attention = Breakable(at=3)
    engine = engine_of(tiny_model, make(), attention)
    for request in requests():
        engine.add(request)
    engine.step()
    with pytest.raises(RuntimeError):
        engine.step()
    for name in REQUESTS:
        engine.abort(name)
        engine.check_invariants()
    assert not engine.has_work
    assert engine.pool.num_free == engine.pool.num_blocks


@every_policy
@every_fault
def test_a_run_that_fails_leaves_its_requests_live(tiny_model, answers, make, fault):
    engine = engine_of(tiny_model, make(), Breakable(fault, at=5))
    with pytest.raises(fault):
        engine.run(requests())
    assert engine.has_work
    engine.check_invariants()
    finish(engine, answers)
    assert {c.request_id for c in engine.trace.completions} == set(REQUESTS)


def test_a_fault_in_sampling_changes_no_token(tiny_model, answers, monkeypatch):
    engine = engine_of(tiny_model, mb.Continuous(3))
    for request in requests():
        engine.add(request)
    engine.step()
    before = books(sequences_of(engine))
    with monkeypatch.context() as patch:
        patch.setattr("minibatch.model.runner.sample", lambda *arguments: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            engine.step()
    assert books(sequences_of(engine)) == before
    finish(engine, answers)


# Aborts and resets ----------------------------------------------------------------------------


@every_policy
@pytest.mark.parametrize("after", range(8))
@pytest.mark.parametrize("name", ["A", "C", "D"])
def test_a_request_can_be_aborted_at_any_step(tiny_model, answers, make, after, name):
    engine = engine_of(tiny_model, make())
    for request in requests():
        engine.add(request)
    for _ in range(after):
        engine.step()
    done = {completion.request_id for completion in engine.trace.completions}
    if name in done:
        with pytest.raises(ValueError, match=f"no live request '{name}'"):
            engine.abort(name)
    else:
        engine.abort(name)
        last = engine.trace.completions[-1]
        assert (last.request_id, last.finish_reason) == (name, "abort")
        assert last.token_ids == answers[name][: len(last.token_ids)]
        assert last.finish_time == engine.clock.now()
    engine.check_invariants()
    finish(engine, answers)


@every_policy
def test_a_request_that_has_not_arrived_can_be_aborted(tiny_model, make):
    engine = engine_of(tiny_model, make())
    engine.add(mb.Request([5], max_tokens=2, arrival_time=9.0, request_id="later"))
    engine.abort("later")
    assert not engine.has_work
    assert engine.trace.completions[0].first_scheduled_time is None
    assert engine.trace.completions[0].ttft is None


def test_a_preempted_request_can_be_aborted(tiny_model, answers):
    engine = engine_of(tiny_model, mb.Continuous(3))
    for request in requests():
        engine.add(request)
    while not (preempted := engine.step().preempted):
        pass
    engine.abort(preempted[0])
    engine.check_invariants()
    finish(engine, answers)


@every_policy
def test_a_callback_may_abort_another_request(tiny_model, answers, make):
    engine = engine_of(tiny_model, make())

    @engine.on_step
    def abort_d(record):
        if record.index == 1:
            engine.abort("D")

    completions = engine.run(requests())
    assert [c.finish_reason == "abort" for c in completions] == [False, False, False, True]
    finish(engine, answers)


@every_policy
def test_a_callback_may_add_a_request(tiny_model, answers, make):
    engine = engine_of(tiny_model, make())
    [late] = [request for request in requests() if request.request_id == "D"]

    @engine.on_step
    def add_d(record):
        if record.index == 1:
            engine.add(late)

    engine.run([request for request in requests() if request.request_id != "D"])
    finish(engine, answers)
    assert {c.request_id for c in engine.trace.completions} == set(REQUESTS)


def test_a_callback_that_raises_loses_nothing(tiny_model, answers):
    engine = engine_of(tiny_model, mb.Continuous(3))

    @engine.on_step
    def fail(record):
        if record.index == 2:
            raise RuntimeError("a fault in a callback")

    with pytest.raises(RuntimeError, match="in a callback"):
        engine.run(requests())
    engine.check_invariants()
    finish(engine, answers)


@every_policy
@pytest.mark.parametrize("after", [1, 2, 5])
def test_a_stream_closed_early_aborts_what_is_left(tiny_model, make, after):
    engine = engine_of(tiny_model, make())
    stream = engine.stream(requests())
    for _ in range(after):
        next(stream)
    stream.close()
    engine.check_invariants()
    assert not engine.has_work
    assert engine.pool.num_free == engine.pool.num_blocks


@every_policy
def test_leaving_a_stream_in_the_middle_spares_other_requests(tiny_model, answers, make):
    engine = engine_of(tiny_model, make())
    *streamed, other = requests()
    engine.add(other)
    for event in engine.stream(streamed):
        if event.request_id == "A":
            break
    else:
        pytest.fail("A said nothing")
    del event
    finish(engine, answers)
    reasons = {c.request_id: c.finish_reason for c in engine.trace.completions}
    assert reasons["D"] == "length"


def test_a_stream_that_was_never_started_adds_nothing(tiny_model):
    engine = engine_of(tiny_model, mb.Continuous(3))
    engine.stream(requests()).close()
    assert not engine.has_work


@every_policy
def test_the_last_event_of_each_request_and_no_other_has_a_reason(tiny_model, make):
    engine = engine_of(tiny_model, make())
    events = list(engine.stream(requests()))
    for name, (_, answer) in REQUESTS.items():
        reasons = [event.finish_reason for event in events if event.request_id == name]
        assert reasons == [None] * (answer - 1) + ["length"]


@every_policy
@pytest.mark.parametrize("after", [0, 1, 3, 6])
def test_a_reset_forgets_everything_and_the_engine_serves_as_new(tiny_model, answers, make, after):
    engine = engine_of(tiny_model, make())
    for request in requests():
        engine.add(request)
    engine.add(mb.Request([5], max_tokens=1, arrival_time=99.0, request_id="later"))
    for _ in range(after):
        engine.step()
    engine.reset()
    engine.check_invariants()
    assert not engine.has_work
    assert engine.pool.num_free == engine.pool.num_blocks
    assert engine.clock.now() == 0.0
    assert engine.trace.steps == engine.trace.completions == []
    engine.run(requests())
    finish(engine, answers)


def test_after_a_reset_a_run_is_the_same_as_the_first(tiny_model):
    engine = engine_of(tiny_model, mb.Continuous(3))
    first = engine.run(requests())
    steps = engine.trace.steps
    engine.reset()
    assert engine.run(requests()) == first
    assert engine.trace.steps == steps


@every_policy
def test_an_id_may_be_used_again_once_its_request_has_ended(tiny_model, answers, make):
    engine = engine_of(tiny_model, make())
    for _ in range(2):
        engine.run(requests())
    engine.add(requests()[0])
    engine.step()
    engine.abort("A")
    engine.run(requests()[:1])
    finish(engine, answers)
    assert [c.request_id for c in engine.trace.completions].count("A") == 4


def test_requests_without_an_id_get_one_that_is_not_in_use(tiny_model):
    engine = engine_of(tiny_model, mb.Continuous(3))
    engine.add(mb.Request([5], max_tokens=1, request_id="request-0"))
    names = [engine.add(mb.Request([5], max_tokens=1)) for _ in range(3)]
    assert len({"request-0", *names}) == 4


# Arrivals -------------------------------------------------------------------------------------


def test_a_step_sleeps_until_the_first_arrival(tiny_model):
    engine = engine_of(tiny_model, mb.Continuous(3))
    engine.add(mb.Request([5], max_tokens=1, arrival_time=2.0))
    record = engine.step()
    assert record.start_time == pytest.approx(2.0)


def test_a_run_counts_arrivals_from_its_own_beginning(tiny_model):
    engine = engine_of(tiny_model, mb.Continuous(3))
    for _ in range(2):
        begin = engine.clock.now()
        [completion] = engine.run([mb.Request([5], max_tokens=1, arrival_time=1.0)])
        assert completion.arrival_time == pytest.approx(begin + 1.0)
        assert completion.ttft == pytest.approx(0.025)


def test_a_dynamic_batch_starts_when_its_window_closes(tiny_model):
    engine = engine_of(tiny_model, mb.Dynamic(max_batch_size=3, max_wait=0.1))
    times = {"A": 1.0, "B": 1.05, "C": 1.2}
    done = engine.run(
        [mb.Request([5], max_tokens=1, arrival_time=t, request_id=n) for n, t in times.items()]
    )
    starts = [completion.first_scheduled_time for completion in done]
    assert starts == pytest.approx([1.1, 1.1, 1.3])


@pytest.mark.parametrize("arrival_time", [0.1, 1 / 3, 1e6 / 7, 1e9 / 7])
def test_an_arrival_is_reached_whatever_its_rounding(tiny_model, arrival_time):
    engine = engine_of(tiny_model, mb.Dynamic(max_batch_size=3, max_wait=0.1 / 3))
    engine.clock.tick(mb.StepPlan())
    [completion] = engine.run([mb.Request([5], max_tokens=1, arrival_time=arrival_time)])
    assert completion.finish_reason == "length"


# A learner's policies -------------------------------------------------------------------------


class PlansNothing(mb.Continuous):
    def plan(self, now):
        return mb.StepPlan()


class WakesInThePast(mb.Continuous):
    def plan(self, now):
        return mb.StepPlan(wake_at=now - 1.0)


class PlansTwice(mb.Continuous):
    def plan(self, now):
        rows = super().plan(now).rows
        return mb.StepPlan(rows + rows)


class TakesTooFewBlocks(mb.Continuous):
    def plan(self, now):
        while self.waiting:
            self.running.append(self.waiting.popleft())
        return mb.StepPlan([mb.Row(s, s.num_uncomputed_tokens) for s in self.running])


class PlansTooMuch(mb.Continuous):
    def plan(self, now):
        rows = super().plan(now).rows
        return mb.StepPlan([mb.Row(row.sequence, row.num_tokens + 1) for row in rows])


class PlansEmptyRows(mb.Continuous):
    def plan(self, now):
        return mb.StepPlan([mb.Row(row.sequence, 0) for row in super().plan(now).rows])


class NeverRetires(mb.Continuous):
    def retire(self, finished):
        pass


@pytest.mark.parametrize(
    ("policy", "error", "says"),
    [
        (PlansNothing, RuntimeError, "PlansNothing.plan gave no rows at .* 4 requests wait and 0"),
        (WakesInThePast, RuntimeError, "WakesInThePast.plan gave no rows .* to a later time"),
        (PlansTwice, ValueError, "'A' has two rows in one plan"),
        (
            TakesTooFewBlocks,
            ValueError,
            "'A': its block table is too short for 9 tokens .KV blocks of 2: 0 there, 5 missing",
        ),
        (PlansTooMuch, ValueError, "'A': .* tokens planned, only 9 are left"),
        (PlansEmptyRows, ValueError, "'A': a row of 0 tokens|'A' has an empty row"),
        (NeverRetires, ValueError, "'A' has finished; plan no more tokens for this request"),
    ],
)
def test_a_wrong_policy_gets_an_error_that_says_what_is_wrong(tiny_model, policy, error, says):
    engine = engine_of(tiny_model, policy(max_batch_size=3))
    with pytest.raises(error, match=says):
        engine.run(requests())
    assert engine.has_work


def test_a_policy_that_forgets_blocks_is_found_by_the_invariants(tiny_model):
    class Forgets(mb.Continuous):
        def release(self, sequence):
            self.running.remove(sequence)
            sequence.block_table = []

    engine = engine_of(tiny_model, Forgets(max_batch_size=3))
    engine.add(mb.Request([5], max_tokens=1))
    engine.step()
    with pytest.raises(mb.InvariantError, match="block 0 .* 1 times .* 0 block tables"):
        engine.check_invariants()


def test_a_policy_that_wakes_now_and_plans_nothing_does_not_hang(tiny_model):
    class Insists(mb.Continuous):
        def plan(self, now):
            calls.append(now)
            if len(calls) > 1000:
                raise TimeoutError("asked 1,000 times")
            return mb.StepPlan(wake_at=now)

    calls = []
    engine = engine_of(tiny_model, Insists(max_batch_size=3))
    engine.add(mb.Request([5], max_tokens=1))
    with pytest.raises(RuntimeError, match="wake_at"):
        engine.step()


# Interruptions outside the forward pass, and what outlives what -----------------------------------


class FailsAfterUpdate(mb.Continuous):
    """Takes everything in, and then raises, in the step in which a request finishes."""

    def update(self, plan, tokens, now):
        finished = super().update(plan, tokens, now)
        if finished:
            raise KeyboardInterrupt
        return finished


@pytest.mark.parametrize("way_out", ["abort", "reset"])
def test_after_a_fault_in_update_there_is_a_way_out(tiny_model, way_out):
    engine = engine_of(tiny_model, FailsAfterUpdate(3))
    with pytest.raises(KeyboardInterrupt):
        engine.run(requests())
    if way_out == "reset":
        engine.reset()
    else:
        ended = {completion.request_id for completion in engine.trace.completions}
        for name in REQUESTS.keys() - ended:  # the step that failed has ended A
            engine.abort(name)
    engine.check_invariants()
    assert not engine.has_work
    assert engine.pool.num_free == engine.pool.num_blocks


def test_a_policy_that_fails_to_add_loses_no_request(tiny_model, answers):
    class Shy(mb.Continuous):
        refusals = 2

        def add(self, sequence):
            if self.refusals:
                self.refusals -= 1
                raise RuntimeError("not yet")
            super().add(sequence)

    engine = engine_of(tiny_model, Shy(3))
    for request in requests():
        engine.add(request)
    for _ in range(2):
        with pytest.raises(RuntimeError, match="not yet"):
            engine.step()
    finish(engine, answers)
    assert len(engine.trace.completions) == len(REQUESTS)


def test_a_stream_that_outlives_a_reset_spares_the_next_request_of_that_name(tiny_model, answers):
    engine = engine_of(tiny_model, mb.Continuous(3))
    stream = engine.stream(requests())
    next(stream)
    engine.reset()
    engine.add(requests()[0])
    stream.close()
    assert engine.has_work
    finish(engine, answers)


def test_an_aborted_request_ends_its_stream_with_an_event_without_a_token(tiny_model):
    engine = engine_of(tiny_model, mb.Continuous(3))
    events = []
    for event in engine.stream(requests()):
        events.append(event)
        if event.request_id == "B" and event.finish_reason is None:
            engine.abort("B")
    last = {name: [e for e in events if e.request_id == name][-1] for name in REQUESTS}
    assert (last["B"].token_id, last["B"].finish_reason) == (None, "abort")
    assert all(last[name].finish_reason == "length" for name in "ACD")
    assert sum(event.token_id is None for event in events) == 1


def test_an_arrival_time_counts_from_the_first_add_to_an_idle_engine(tiny_model):
    engine = engine_of(tiny_model, mb.Continuous(3))
    engine.run(requests())
    now = engine.clock.now()
    engine.add(mb.Request([5], max_tokens=2, arrival_time=0.5, request_id="later"))
    while engine.has_work:
        engine.step()
    completion = engine.trace.completions[-1]
    assert completion.arrival_time == pytest.approx(now + 0.5)
    assert completion.ttft == pytest.approx(0.025)


def test_after_a_reset_names_begin_anew(tiny_model):
    engine = engine_of(tiny_model, mb.Continuous(3))
    assert engine.add(mb.Request([5], max_tokens=2)) == "request-0"
    engine.reset()
    assert engine.add(mb.Request([5], max_tokens=2)) == "request-0"


def test_a_pool_of_ones_own_serves(tiny_model, answers):
    class Counting(mb.BlockPool):
        handed_out = 0

        def allocate(self, num_blocks):
            self.handed_out += num_blocks
            return super().allocate(num_blocks)

    pool = Counting(num_blocks=12, block_size=2)
    engine = mb.Engine(
        tiny_model, mb.Continuous(3), pool=pool, attention="gather", clock=mb.VirtualClock()
    )
    assert engine.pool is pool
    engine.run(requests())
    finish(engine, answers)
    assert pool.handed_out > 12


def test_a_row_kept_from_an_earlier_step_is_refused(tiny_model):
    class Keeps(mb.Continuous):
        kept = None

        def plan(self, now):
            self.kept = self.kept or super().plan(now)
            return self.kept

    engine = engine_of(tiny_model, Keeps(3))
    engine.add(requests()[1])
    engine.step()
    with pytest.raises(ValueError, match="'B': this row is from an earlier step; make a new row"):
        engine.step()

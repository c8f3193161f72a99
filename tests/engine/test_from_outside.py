"""Whoever drives the engine from outside: a server, a simulator, two engines in step."""

import pytest

import minibatch as mb


def request(name, arrival_time=None, max_tokens=2):
    return mb.Request([0], max_tokens=max_tokens, request_id=name, arrival_time=arrival_time)


def engine_of(scheduler=None, **options):
    clock = mb.VirtualClock(step_time=1.0)
    return mb.Engine(mb.PretendModel(), scheduler or mb.Continuous(2), clock=clock, **options)


def test_without_work_nothing_is_to_come():
    assert engine_of().next_event_time is None


def test_a_step_that_would_wait_answers_at_once():
    engine = engine_of()
    engine.add(request("A", arrival_time=5.0))
    assert engine.next_event_time == 5.0
    assert engine.step(wait=False) is None
    assert (engine.clock.now(), engine.trace.steps) == (0.0, [])
    engine.clock.sleep(engine.next_event_time)
    assert engine.step(wait=False).admitted == ("A",)
    assert engine.next_event_time == engine.clock.now() == 6.0


def test_a_policy_that_waits_says_until_when_and_an_arrival_may_come_first():
    engine = engine_of(mb.Dynamic(2, max_wait=10.0))
    engine.add(request("A"))
    assert engine.step(wait=False) is None
    assert engine.next_event_time == 10.0
    engine.add(request("B", arrival_time=4.0))
    assert engine.next_event_time == 4.0
    engine.clock.sleep(4.0)
    assert engine.step(wait=False).admitted == ("A", "B")


class AfterTheLast(mb.Continuous):
    """Waits, without saying until when, until nobody is to come."""

    def plan(self, now):
        return super().plan(now) if now >= 7.0 else mb.StepPlan()


def test_a_policy_that_waits_for_an_arrival_is_not_asked_before():
    engine = engine_of(AfterTheLast(2))
    engine.add(request("A"))
    engine.add(request("B", arrival_time=7.0))
    assert engine.step(wait=False) is None
    assert engine.next_event_time == 7.0


def test_an_abort_has_the_policy_asked_again():
    engine = engine_of(mb.Dynamic(2, max_wait=10.0))
    engine.add(request("A"))
    engine.step(wait=False)
    engine.abort("A")
    assert engine.next_event_time is None


def test_driven_from_outside_a_run_is_the_same():
    requests = [request(str(i), arrival_time=1.5 * i, max_tokens=3 + i % 4) for i in range(9)]
    inside, outside = engine_of(mb.Dynamic(3, 2.0)), engine_of(mb.Dynamic(3, 2.0))
    inside.run(requests)
    for each in requests:
        outside.add(each)
    while outside.has_work:
        if outside.step(wait=False) is None:
            outside.clock.sleep(outside.next_event_time - outside.clock.now())
    assert outside.trace.steps == inside.trace.steps


def test_a_callback_can_be_taken_back():
    engine, seen = engine_of(), []
    callback = engine.on_step(seen.append)
    engine.add(request("A"))
    engine.step()
    engine.off_step(callback)
    engine.step()
    assert len(seen) == 1
    with pytest.raises(ValueError, match="never given to on_step"):
        engine.off_step(callback)


def test_a_callback_may_take_itself_back():
    engine, seen = engine_of(), []

    def once(record):
        seen.append(record.index)
        engine.off_step(once)

    engine.on_step(once)
    engine.on_step(lambda record: seen.append("another"))
    engine.run([request("A")])
    assert seen == [0, "another", "another"]


# A bounded trace -------------------------------------------------------------------------------


@pytest.mark.parametrize("keep", [0, 1, 3, 1000])
def test_a_bounded_trace_keeps_the_newest_and_its_figures_are_those_of_the_whole_run(keep):
    requests = [request(str(i), max_tokens=1 + i % 5) for i in range(20)]
    whole, bounded = engine_of(), engine_of(trace=mb.Trace(keep=keep))
    whole.run(requests)
    bounded.run(requests)
    assert bounded.trace.steps == whole.trace.steps[max(0, len(whole.trace.steps) - keep) :]
    assert len(bounded.trace.completions) == min(keep, 20)
    assert bounded.trace.num_steps == len(whole.trace.steps)
    assert bounded.trace.summary() == whole.trace.summary()


def test_a_trace_without_latencies_stores_nothing_of_the_requests_that_have_ended():
    engine = engine_of(trace=mb.Trace(keep=2, latencies=False))
    engine.run([request(name) for name in "ABCDE"])
    assert len(engine.trace.completions) == 2
    summary = engine.trace.summary()
    assert summary["num_requests"] == 0
    assert summary["ttft_mean_s"] is None
    assert summary["output_tokens"] == 10


def test_a_bound_survives_a_reset():
    engine = engine_of(trace=mb.Trace(keep=2, names=True))
    engine.run([request("A", max_tokens=5)])
    engine.reset()
    engine.run([request("A", max_tokens=5)])
    assert [step.index for step in engine.trace.steps] == [3, 4]
    assert engine.trace.steps[0].waiting == ()


def test_names_that_were_not_kept_are_missed_with_a_sentence():
    engine = engine_of()
    engine.add(request("A"))
    step = engine.step()
    assert step.num_waiting == 0
    with pytest.raises(ValueError, match=r"trace=Trace\(names=True\)"):
        _ = step.waiting


def test_one_trace_serves_as_a_pattern_for_many_engines():
    pattern = mb.Trace(keep=1)
    first, second = engine_of(trace=pattern), engine_of(trace=pattern)
    first.run([request("A")])
    assert second.trace.steps == []


# Several tokens a row ---------------------------------------------------------------------------


class Guessing(mb.PretendModel):
    """Answers three tokens at once, as verified guesses do; 9 ends an answer."""

    eos_token_ids = frozenset({9})
    vocab_size = 10

    def runner(self, pool, attention):
        return self

    def run(self, plan):
        firsts = [3 * ((row.sequence.num_output_tokens + 2) // 3) for row in plan.rows]
        return [
            [1 + first, 2 + first, 3 + first] if row.reaches_end else []
            for row, first in zip(plan.rows, firsts, strict=True)
        ]


def guessing_engine():
    return mb.Engine(Guessing(), mb.Static(2), num_blocks=8, clock=mb.VirtualClock(1.0))


def test_a_row_of_three_tokens_one_of_which_ends_the_answer():
    engine = guessing_engine()
    [long, short] = engine.run(
        [
            mb.Request([5] * 4, max_tokens=20, request_id="to the end token"),
            mb.Request([5] * 4, max_tokens=5, request_id="to the limit"),
        ]
    )
    assert (long.token_ids, long.finish_reason) == ([1, 2, 3, 4, 5, 6, 7, 8, 9], "stop")
    assert long.token_times == [1.0] * 3 + [2.0] * 3 + [3.0] * 3
    assert (short.token_ids, short.finish_reason) == ([1, 2, 3, 4, 5], "length")
    rows = [[(row.kind, row.token_ids) for row in step.rows] for step in engine.trace.steps]
    assert rows == [
        [("prefill", (1, 2, 3)), ("prefill", (1, 2, 3))],
        [("decode", (4, 5, 6)), ("decode", (4, 5))],
        [("decode", (7, 8, 9)), ("padding", ())],
    ]
    assert engine.trace.summary()["output_tokens"] == 14
    assert engine.pool.num_free == 8


def test_a_stream_yields_each_of_several_tokens():
    events = list(guessing_engine().stream([mb.Request([5] * 4, max_tokens=5)]))
    assert [(event.token_id, event.finish_reason) for event in events] == [
        (1, None),
        (2, None),
        (3, None),
        (4, None),
        (5, "length"),
    ]

"""Clocks: real time starts at zero; made-up time moves by whole steps and through every sleep."""

import math
import time

import pytest
from by_hand import make_sequence
from hypothesis import given
from hypothesis import strategies as st

import minibatch as mb

PLAN = mb.StepPlan()


def test_two_hundred_virtual_steps_of_25_ms_are_exactly_5_seconds():
    clock = mb.VirtualClock(step_time=0.025)
    for _ in range(200):
        clock.tick(PLAN)
    assert clock.now() == 5.0


@given(st.integers(0, 2000), st.floats(1e-6, 10))
def test_virtual_time_is_the_number_of_steps_times_their_length(steps, step_time):
    clock = mb.VirtualClock(step_time)
    for _ in range(steps):
        clock.tick(PLAN)
    assert clock.now() == steps * step_time


def test_a_virtual_sleep_passes_at_once():
    clock = mb.VirtualClock(step_time=0.5)
    clock.tick(PLAN)
    clock.sleep(3600.0)
    assert clock.now() == 3600.5
    clock.tick(PLAN)
    assert clock.now() == 3601.0


@given(st.lists(st.one_of(st.none(), st.floats(-5, 100)), max_size=50))
def test_virtual_time_never_runs_backwards(moves):
    clock = mb.VirtualClock(step_time=0.025)
    for seconds in moves:
        before = clock.now()
        if seconds is None:
            clock.tick(PLAN)
        else:
            clock.sleep(seconds)
        assert clock.now() >= before


def test_a_virtual_clock_set_back_starts_at_zero():
    clock = mb.VirtualClock()
    clock.tick(PLAN)
    clock.sleep(1.0)
    clock.reset()
    assert clock.now() == 0.0


def test_a_step_may_take_what_its_plan_says():
    clock = mb.VirtualClock(lambda plan: 0.01 + 0.001 * len(plan.rows))
    clock.tick(mb.StepPlan([mb.Row(make_sequence(name), 3) for name in "ABC"]))
    clock.sleep(1.0)
    clock.tick(PLAN)
    assert clock.now() == pytest.approx(0.013 + 1.0 + 0.01)


@pytest.mark.parametrize("seconds", [0.0, -1.0, math.nan])
def test_a_step_that_takes_no_time_is_refused(seconds):
    clock = mb.VirtualClock(lambda plan: seconds)
    with pytest.raises(ValueError, match=rf"step_time\(plan\) is {seconds}"):
        clock.tick(PLAN)
    assert clock.now() == 0.0


@pytest.mark.parametrize("step_time", [0.0, -0.025, math.nan, math.inf])
def test_a_virtual_step_must_last(step_time):
    with pytest.raises(ValueError, match=f"step_time is {step_time}"):
        mb.VirtualClock(step_time)


@pytest.fixture
def real_time(monkeypatch):
    """Stands for the machine's clock: a list with the current second, and the sleeps asked for."""
    now, sleeps = [100.0], []
    monkeypatch.setattr(time, "perf_counter", lambda: now[0])
    monkeypatch.setattr(time, "sleep", sleeps.append)
    return now, sleeps


def test_a_wall_clock_counts_from_its_making_and_from_its_reset(real_time):
    now, _ = real_time
    clock = mb.WallClock()
    assert clock.now() == 0.0
    now[0] = 102.5
    assert clock.now() == 2.5
    clock.reset()
    assert clock.now() == 0.0


def test_a_tick_does_not_move_a_wall_clock(real_time):
    clock = mb.WallClock()
    clock.tick(PLAN)
    assert clock.now() == 0.0


def test_a_wall_clock_never_sleeps_a_negative_time(real_time):
    _, sleeps = real_time
    clock = mb.WallClock()
    clock.sleep(0.5)
    clock.sleep(-0.5)
    assert sleeps == [0.5, 0.0]


def test_a_process_clock_counts_cpu_seconds_and_a_sleep_passes_at_once(monkeypatch):
    cpu = [7.0]
    monkeypatch.setattr(time, "process_time", lambda: cpu[0])
    clock = mb.ProcessClock()
    cpu[0] = 9.0
    assert clock.now() == 2.0
    clock.sleep(3600.0)
    clock.sleep(-1.0)
    assert clock.now() == 3602.0
    clock.reset()
    assert clock.now() == 0.0


def test_an_engine_on_process_time_holds_requests_until_they_arrive():
    engine = mb.Engine(mb.PretendModel(), mb.Continuous(2), clock=mb.ProcessClock())
    requests = [mb.Request([0], max_tokens=2, arrival_time=t) for t in (0.0, 3600.0)]
    first, second = engine.run(requests)
    assert first.finish_time < 3600
    assert second.first_scheduled_time >= second.arrival_time >= 3600

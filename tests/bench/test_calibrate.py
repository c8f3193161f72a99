"""Calibration: known costs are found again from traces, errors are what they say, and real runs and
training take turns. "Real" runs here are on a virtual clock whose costs are known."""

import json
from dataclasses import replace

import pytest

import minibatch as mb
from minibatch.bench import calibrate as module
from minibatch.bench.calibrate import calibrate, fit
from minibatch.bench.calibration import CPU_TIME, Calibration
from minibatch.bench.held_out import HeldOut, RunTimes, compare
from minibatch.bench.step_periods import PlanRecorder, Steps
from minibatch.simulator.cost import CostModel

KNOWN = CostModel(0.006, 0.0007, 0.0002, 1.5e-7, 8, "made up", 1.5e-7)  # 8 bytes: a PretendModel's
COSTS = [f"seconds_per_{what}" for what in ("step", "row", "prompt_token", "kv_byte", "pair")]


@pytest.fixture(scope="module")
def found():
    return calibrate(mb.PretendModel(), clock=mb.VirtualClock(KNOWN), seconds=6)


def engine(clock, policy=None):
    return mb.Engine(mb.PretendModel(), policy or mb.Continuous(4), num_blocks=400, clock=clock)


def requests(n=6, gap=0.0):
    return [
        mb.Request([0] * (20 + 10 * i), max_tokens=5 + i, arrival_time=gap * i) for i in range(n)
    ]


def times(ttft, tpot=(0.1, 0.1), makespan=10.0, arrival=(0.0, 1.0), busy=0.6):
    finish = tuple(a + 5 for a in arrival)
    return RunTimes(arrival, ttft, tpot, finish, makespan, busy)


def test_known_costs_are_found_in_the_steps_of_runs(found):
    for name in COSTS:
        assert getattr(found.cost_model, name) == pytest.approx(getattr(KNOWN, name), rel=1e-4)


def test_without_noise_a_simulation_is_exact_on_workloads_that_the_fit_has_not_seen(found):
    assert [error.metric for error in found.errors] == ["makespan", "TTFT", "TPOT"] * 2
    for error in found.errors:
        assert error.simulated == pytest.approx(0, abs=1e-3)
        assert error.real_again == 0


def test_it_says_at_which_load_the_errors_were_measured(found):
    assert found.load[0] == "all at once"
    busy = found.held_out[1].busy
    assert found.load[1] == f"{busy:.0%} busy"
    assert 0.45 < busy < 0.75


def test_all_runs_together_take_about_the_time_allowed(monkeypatch):
    clock = mb.VirtualClock(KNOWN)
    spent, reset = [], clock.reset
    monkeypatch.setattr(clock, "reset", lambda: (spent.append(clock.now()), reset()))
    calibrate(mb.PretendModel(), clock=clock, seconds=12)
    assert 0.6 * 12 < sum(spent) + clock.now() < 1.4 * 12


def test_training_and_held_out_runs_take_turns_and_all_training_steps_are_used(monkeypatch):
    order, num_steps = [], []
    train, run = module._train, module.run

    def noted_train(*arguments):
        order.append("train")
        steps = train(*arguments)
        num_steps.append(len(steps.seconds))
        return steps

    def noted_run(*arguments):
        order.append("held out")
        return run(*arguments)

    monkeypatch.setattr(module, "_train", noted_train)
    monkeypatch.setattr(module, "run", noted_run)
    found = calibrate(mb.PretendModel(), clock=mb.VirtualClock(KNOWN), seconds=2, rounds=3)
    assert order == ["train"] + ["held out", "train"] * 6
    assert found.num_steps == sum(num_steps)


def test_the_fit_sees_no_step_of_a_held_out_run(monkeypatch):
    """A clock that is ten times slower in held-out runs does not change the costs."""
    clock, usual = mb.VirtualClock(KNOWN), module.run

    def slowly(*arguments):
        clock.step_time = lambda plan: 10 * KNOWN(plan)
        result = usual(*arguments)
        clock.step_time = KNOWN
        return result

    monkeypatch.setattr(module, "run", slowly)
    found = calibrate(mb.PretendModel(), clock=clock, seconds=4)
    assert found.cost_model.seconds_per_step == pytest.approx(KNOWN.seconds_per_step, rel=1e-3)
    assert found.errors[0].simulated == pytest.approx(-0.9, abs=0.01)


def test_a_fit_costs_as_much_in_all_as_the_steps_took_stalls_included():
    recorder = PlanRecorder(mb.VirtualClock(KNOWN))
    ours = engine(recorder)
    ours.run(requests())
    steps = recorder.steps(ours.trace)
    steps.seconds[::5] = [5 * s for s in steps.seconds[::5]]
    model = fit(mb.PretendModel(), steps, "")
    assert sum(map(model, steps.plans)) == pytest.approx(sum(steps.seconds))


# Periods of steps ---------------------------------------------------------------------------------


def test_a_period_ends_where_the_next_step_starts_and_what_is_slept_belongs_to_no_step():
    recorder = PlanRecorder(mb.VirtualClock(KNOWN))
    ours = engine(recorder)
    ours.run(requests(3, gap=2.0))
    steps = recorder.steps(ours.trace)
    assert len(steps.plans) == len(steps.seconds) == ours.trace.num_steps
    assert steps.seconds == pytest.approx([KNOWN(plan) for plan in steps.plans])


def test_the_time_between_two_steps_is_part_of_the_first():
    clock = mb.VirtualClock(1.0)
    recorder = PlanRecorder(clock)
    ours = engine(recorder)
    ours.on_step(lambda record: clock.sleep(0.5))  # as long as updating and planning take
    ours.run(requests(1))
    assert recorder.steps(ours.trace).seconds == pytest.approx([1.5] * 4 + [1.0])


def test_plans_of_another_trace_are_refused():
    recorder = PlanRecorder(mb.VirtualClock(1.0))
    engine(recorder).run(requests(1))
    with pytest.raises(ValueError, match="the trace has 0 steps, and 5 plans"):
        recorder.steps(engine(mb.VirtualClock(1.0)).trace)


def test_steps_of_several_runs_add_up():
    steps = Steps(["plan"], [1.0])
    steps.extend(Steps(["other"], [2.0]))
    assert steps == Steps(["plan", "other"], [1.0, 2.0])


# Errors -------------------------------------------------------------------------------------------


def test_an_error_stands_beside_the_difference_of_the_real_runs():
    real = times((1.0, 2.0)), times((1.1, 2.2), makespan=11.0)
    makespan, ttft, tpot = HeldOut(real, times((1.2, 2.4), (0.09, 0.1), makespan=9.9)).errors
    assert makespan.simulated == pytest.approx((9.9 / 10 - 1 + 9.9 / 11 - 1) / 2)
    assert makespan.real_again == pytest.approx(abs(10 / 11 - 1))
    assert ttft.simulated == pytest.approx((0.2 + (1.2 / 1.1 - 1)) / 2)
    assert ttft.real_again == pytest.approx(1 - 1 / 1.1)
    assert (tpot.simulated, tpot.real_again) == (pytest.approx(0.05), 0)


def test_the_error_of_ttft_is_the_median_over_requests_without_sign():
    run = times((1.0, 1.0, 1.0), (0.1, None, 0.1), arrival=(0.0, 1.0, 2.0))
    other = times((0.8, 1.3, 9.0), (0.1, None, 0.2), arrival=(0.0, 1.0, 2.0))
    _, ttft, tpot = HeldOut((run, run), other).errors
    assert ttft.simulated == pytest.approx(0.3)
    assert tpot.simulated == pytest.approx(0.5)


def test_three_real_runs_are_compared_two_by_two():
    real = tuple(times((t, t)) for t in (1.0, 2.0, 4.0))
    assert HeldOut(real, real[0]).errors[1].real_again == pytest.approx((0.5 + 0.75 + 0.5) / 3)


def test_a_run_has_the_times_of_its_requests_in_the_order_given():
    ours = engine(mb.VirtualClock(KNOWN))
    completions = ours.run(requests(4, gap=1.0)[::-1])
    run = RunTimes.of(completions, ours.trace)
    assert run.arrival == pytest.approx((3, 2, 1, 0))
    assert run.ttft == tuple(c.ttft for c in completions)
    steps = ours.trace.steps
    assert run.makespan == pytest.approx(steps[-1].end_time - steps[0].start_time)
    assert run.busy == pytest.approx(sum(s.end_time - s.start_time for s in steps) / run.makespan)
    assert run.busy < 0.5


@pytest.mark.parametrize("policy", [mb.Continuous(2), mb.Static(3)])
def test_any_workload_under_any_policy_is_run_simulated_and_run_again(found, policy):
    known = replace(found, cost_model=KNOWN)
    clock = mb.VirtualClock(KNOWN)
    held_out = known.compare(mb.PretendModel(), policy, requests(gap=0.05), clock)
    assert held_out.real[0] == held_out.real[1] == held_out.simulated
    assert len(held_out.simulated.ttft) == 6


def test_a_simulation_is_given_the_lengths_of_answers_that_end_by_themselves(tiny_model):
    some = [mb.Request(list(range(2, 12)), max_tokens=60, stop_token_ids=range(2, 128))]
    held_out = compare(tiny_model, mb.Continuous(2), some, KNOWN, clock=mb.VirtualClock(KNOWN))
    assert held_out.simulated.finish == held_out.real[0].finish


# The result ---------------------------------------------------------------------------------------


def test_what_is_saved_is_loaded(found, tmp_path):
    found.save(tmp_path / "costs.json")
    again = Calibration.from_file(tmp_path / "costs.json", mb.PretendModel())
    assert again == replace(found, held_out=tuple(found.held_out))
    assert again.errors == found.errors
    assert repr(again) == repr(found)


def test_the_costs_of_another_model_are_refused(found, tmp_path, tiny_model):
    path = tmp_path / "costs.json"
    found.save(path)
    with pytest.raises(ValueError, match="has the costs of a PretendModel.*Llama.*mb.calibrate"):
        Calibration.from_file(path, tiny_model)


def test_a_file_that_is_no_calibration_is_refused(tmp_path):
    for content in ({}, [], {"format": 99}):
        (tmp_path / "a.json").write_text(json.dumps(content))
        with pytest.raises(ValueError, match="is not a calibration of this version"):
            Calibration.from_file(tmp_path / "a.json", mb.PretendModel())


def test_the_table_shows_error_floor_load_costs_and_machine(found):
    text = repr(found)
    for words in ("simulated against real", "all at once", "TPOT", "busy", "6.0 ms", "700 µs"):
        assert words in text
    assert found.machine.cpu in text
    assert found._repr_html_().count("<tr>") == 7


def test_on_a_busy_computer_it_says_that_the_numbers_mean_little(found):
    busy = replace(found, other_programs=0.4)
    assert "This computer was busy" in repr(busy)
    assert "This computer was busy" not in repr(replace(found, other_programs=0.04))
    assert "mb.ProcessClock()" in repr(busy)
    assert "mb.ProcessClock()" not in repr(replace(busy, kind_of_time=CPU_TIME))


def test_a_real_model_can_be_calibrated(tiny_model):
    """Its times are not looked at: only that everything fits the model's short context."""
    found = calibrate(tiny_model, seconds=1, max_batch_size=2)
    assert found.num_steps > 5
    assert sum(getattr(found.cost_model, name) for name in COSTS) > 0
    assert [run.makespan > 0 for each in found.held_out for run in each.real] == [True] * 4


@pytest.mark.parametrize(
    ("options", "words"), [({"seconds": 0.5}, "1 or more"), ({"rounds": 1}, "2")]
)
def test_too_little_time_and_a_single_real_run_are_refused(options, words):
    with pytest.raises(ValueError, match=words):
        calibrate(mb.PretendModel(), **options)

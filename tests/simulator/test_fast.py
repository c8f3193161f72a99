"""The fast simulator is equal, bit for bit, to the engine on a pretend model."""

import copy
import random
import warnings

import numpy as np
import pytest

import minibatch as mb
from minibatch.simulator import fast, fast_path
from minibatch.simulator.cost import CostModel
from minibatch.simulator.fast import FastSimulator
from minibatch.simulator.traffic import Lengths

COST = CostModel(0.005, 0.0002, 0.00018, 4e-10, 6144, "made up", 1e-7)
TIMES = ("first_scheduled", "first_token", "finish", "preemptions")


class Workload:
    """A policy, traffic, step times and a pool, drawn at random. The pool is often too small for a
    batch, and arrivals often fall on the end of a step."""

    def __init__(self, seed):
        draw = random.Random(seed)
        n, size = draw.randint(1, 25), draw.randint(1, 8)
        prompt = [draw.randint(1, draw.choice((4, 40))) for _ in range(n)]
        output = [draw.randint(1, draw.choice((1, 3, 12, 40))) for _ in range(n)]
        gap = draw.choice((0, 0.001, 0.02, 0.3))
        arrival = np.cumsum([draw.expovariate(1 / gap) if gap else 0.0 for _ in range(n)])
        if draw.random() < 0.5:
            arrival = np.round(arrival, 1)
        self.traffic = mb.Traffic(arrival, np.array(prompt), np.array(output))
        self.step_time = draw.choice((0.1, 0.025, draw.uniform(0.001, 0.1), COST, COST, COST))
        budget = draw.choice((None, size + draw.randint(0, 20)))
        self.policy, self.args = draw.choice(
            [(mb.Continuous, (size, budget))] * 3 + [(mb.Static, (size,)), (mb.Sequential, ())]
        )
        block_size = draw.choice((1, 2, 3, 4, 16))
        largest = max(-(-(p + o - 1) // block_size) for p, o in zip(prompt, output, strict=True))
        num_blocks = draw.choice((None, *[largest + draw.randint(0, largest * size // 2)] * 3))
        self.pool = {"num_blocks": num_blocks, "block_size": block_size}
        self.pauses = sorted(draw.uniform(0, arrival[-1] + 1) for _ in range(draw.randint(0, 5)))
        self.one_by_one = draw.random() < 0.5

    def by_engine(self):
        class Own(self.policy):
            """Not one of the classes that the fast simulator knows."""

        return mb.simulate(Own(*self.args), self.traffic, self.step_time, **self.pool)

    def simulator(self, compiled=False):
        policy = self.policy(*self.args)
        return FastSimulator(policy, self.step_time, compiled=compiled, **self.pool)

    def by_fast(self, compiled=False):
        simulator = self.simulator(compiled)
        if self.one_by_one:
            columns = self.traffic.arrival, self.traffic.prompt, self.traffic.output
            for row in zip(*(column.tolist() for column in columns), strict=True):
                simulator.run_until(row[0])
                simulator.add(*row)
        else:
            simulator.add_all(self.traffic)
            for time in self.pauses:
                simulator.run_until(time)
        end = simulator.run_until()
        return simulator.columns(), end


def check(seed, compiled=False):
    """Compare the two on one workload; returns how many preemptions there were."""
    workload = Workload(seed)
    engine = workload.by_engine()
    columns, end = workload.by_fast(compiled)
    for name in TIMES:
        np.testing.assert_array_equal(columns[name], getattr(engine, name), f"{seed}: {name}")
    assert end.num_steps == engine.num_steps, seed
    assert (end.num_running, end.num_waiting, end.num_stored_tokens) == (0, 0, 0), seed
    assert end.num_free_blocks == workload.pool["num_blocks"], seed
    assert end.num_finished == len(engine), seed
    return int(engine.preemptions.sum())


def compare(seeds, compiled=False):
    preemptions = [check(seed, compiled) for seed in seeds]
    assert sum(map(bool, preemptions)) > len(preemptions) / 50  # the draw reaches them


def test_120_workloads_not_tried_before(seed_of_run, monkeypatch):
    monkeypatch.setattr(fast, "WHEEL", 7)  # answers are longer than one turn
    compare(f"fast {seed_of_run} {i}" for i in range(120))


@pytest.mark.full
def test_500_workloads_not_tried_before(seed_of_run):
    compare(f"all {seed_of_run} {i}" for i in range(500))


@pytest.mark.full
def test_compiled_it_is_the_same(seed_of_run):
    compare((f"compiled {seed_of_run} {i}" for i in range(100)), compiled=True)


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_5000_workloads_not_tried_before(seed_of_run):
    compare(f"release {seed_of_run} {i}" for i in range(5_000))


@pytest.mark.parametrize("seed", range(8))
def test_it_stands_where_the_engine_stands_after_every_step(seed):
    workload = Workload(seed)
    simulator = workload.simulator()
    simulator.add_all(workload.traffic)
    engine = mb.Engine(
        mb.PretendModel(),
        workload.policy(*workload.args),
        clock=mb.VirtualClock(workload.step_time),
        **workload.pool,
    )
    for request in workload.traffic.requests():
        engine.add(request)
    while engine.has_work:
        engine.step()
        now, scheduler = simulator.run_until(most_steps=1), engine.scheduler
        busy = [s for s in scheduler.running if not s.is_finished]
        arrived = sum(engine.clock.now() >= workload.traffic.arrival)
        assert now.now == engine.clock.now()
        assert now.num_running == len(scheduler.running)
        assert now.num_finished == len(engine.trace.completions)
        assert now.num_waiting == arrived - len(busy) - now.num_finished
        assert now.num_stored_tokens == sum(s.num_computed_tokens for s in scheduler.running)
        if workload.pool["num_blocks"]:
            assert now.num_free_blocks == engine.pool.num_free


def test_a_copy_goes_on_by_itself():
    first = FastSimulator(mb.Continuous(4), COST, num_blocks=40)
    first.add_all(mb.traffic.poisson(3.0, 50, Lengths.equal(20, 30)))
    first.run_until(5.0)
    second, stand = copy.deepcopy(first), first.snapshot()
    second.run_until()
    assert first.snapshot() == stand
    first.run_until()
    assert first.snapshot() == second.snapshot()
    np.testing.assert_equal(first.columns(), second.columns())


def test_any_object_with_seconds_gives_step_times():
    class Slower:
        def seconds(self, rows, prompt_tokens, context, pairs):
            return COST.seconds(rows, prompt_tokens, context, pairs)

        def __call__(self, plan):
            return COST(plan)

    traffic = mb.traffic.poisson(3.0, 50, Lengths.equal(20, 30))
    found = []
    for step_time in (COST, Slower()):
        simulator = FastSimulator(mb.Continuous(4), step_time)
        simulator.add_all(traffic)
        found.append(simulator.run_until())
    assert found[0] == found[1]


def test_a_request_may_be_added_at_the_time_it_stopped_at():
    simulator = FastSimulator(mb.Continuous(4), 0.1)
    assert simulator.add(0.0, 5, 3) == 0
    now = simulator.run_until(0.2)
    assert (now.now, now.num_running, now.num_steps) == (0.2, 1, 2)
    assert simulator.add(0.2, 5, 1) == 1
    simulator.run_until()
    assert simulator.columns()["finish"].tolist() == [3 * 0.1, 3 * 0.1]


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ((2.0, 0, 1), "prompt is empty; give at least one token"),
        ((2.0, 1, -3), "max_tokens is -3; it must be 1 or more"),
        ((-2.0, 1, 1), "arrival_time is -2.0; it must be 0 or more seconds"),
        ((float("inf"), 1, 1), "arrival_time is inf"),
        ((0.5, 1, 1), "request '1' arrives at 0.5 s, the one before it at 1.0 s"),
        ((2.0, 30, 20), r"request '1' needs 30 \+ 20 tokens = 4 blocks of 16; this engine has 3"),
    ],
)
def test_a_bad_request_is_refused_and_changes_nothing(row, message):
    simulator = FastSimulator(mb.Continuous(4), 0.1, num_blocks=3)
    simulator.add(1.0, 5, 3)
    with pytest.raises(ValueError, match=message):
        simulator.add(*row)
    assert simulator.run_until().num_finished == len(simulator.columns()["finish"]) == 1


def test_a_step_that_takes_no_time_is_refused():
    simulator = FastSimulator(mb.Continuous(4), CostModel(0, 0, 0, 0, 1, "nothing"))
    simulator.add(0.0, 5, 3)
    with pytest.raises(ValueError, match=r"step_time\(plan\) is 0.0; give seconds above 0"):
        simulator.run_until()
    with pytest.raises(RuntimeError, match="was interrupted in a step; make a new one"):
        simulator.run_until()


def test_without_numba_it_runs_as_it_is(monkeypatch):
    monkeypatch.setattr(fast, "find_spec", lambda name: None)
    monkeypatch.setattr(fast, "MANY", 1)
    simulator = FastSimulator(mb.Continuous(4), COST)
    simulator.add(0.0, 5, 3)
    assert simulator.run_until().num_finished == 1


# Which path -------------------------------------------------------------------------------------


def test_the_recorded_files_are_those_of_this_version():
    """A change of such a file is a change of the rules: does fast_loop.py follow it? If it does,
    or need not: `python -m minibatch.simulator.fast_path`."""
    assert fast_path.edited() == []


@pytest.mark.parametrize("policy", [mb.Continuous(2, 8), mb.Static(2), mb.Sequential()])
@pytest.mark.parametrize("step_time", [0.1, 1, COST])
def test_our_own_policies_take_the_fast_path(policy, step_time):
    found = mb.simulate(policy, mb.traffic.all_at_once(3), step_time)
    assert found.path == "fast"
    assert found.why.startswith("The fast simulator ran")


def with_change(policy, name, value):
    setattr(policy, name, value)
    return policy


class Continuous(mb.Continuous):
    pass


@pytest.mark.parametrize(
    ("policy", "why"),
    [
        (mb.Budget(2, max_batch_tokens=8), "knows Continuous, Static, Sequential, and this is Bud"),
        (Continuous(2), "this Continuous is not the class"),
        (with_change(mb.Continuous(2), "limits", mb.QueueLimits(9)), "this Continuous has limits"),
        (with_change(mb.Continuous(2), "choose_victim", min), "has choose_victim"),
        (with_change(mb.Static(2), "max_batch_tokens", 9), "this Static has a token budget"),
    ],
)
def test_other_policies_take_the_engine(policy, why):
    found = mb.simulate(policy, mb.traffic.all_at_once(3, Lengths.equal(2, 2)), 0.1)
    assert found.path == "engine"
    assert why in found.why


def test_other_requests_and_step_times_take_the_engine():
    traffic = mb.traffic.all_at_once(3, Lengths.equal(2, 2))
    assert "function of the plan" in mb.simulate(mb.Static(2), traffic, lambda plan: 0.1).why
    assert "deadline" in mb.simulate(mb.Static(2), [mb.Request([0], deadline=9)], 0.1).why


def test_an_edited_file_takes_the_engine(tmp_path, monkeypatch):
    for name in fast_path.FINGERPRINTS:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes((fast_path.PACKAGE / name).read_bytes())
    monkeypatch.setattr(fast_path, "PACKAGE", tmp_path)
    traffic = mb.traffic.all_at_once(3, Lengths.equal(2, 2))
    assert mb.simulate(mb.Static(2), traffic, 0.1).path == "fast"
    with (tmp_path / "schedulers" / "base.py").open("a") as file:
        file.write("# mine\n")
    said = "takes many minutes. .* restore minibatch/schedulers/base.py"
    with pytest.warns(UserWarning, match=said) as one:
        assert "schedulers/base.py was edited" in mb.simulate(mb.Static(2), traffic, 0.1).why
    with pytest.warns(UserWarning, match=said) as fleet:
        mb.Fleet(mb.Continuous(2), 0.1, 2).run(traffic)
    assert {each.filename for each in (*one, *fleet)} == {__file__}  # the caller's line
    with warnings.catch_warnings(action="error"):  # the engine ran for another reason, too
        assert "function of the plan" in mb.simulate(mb.Static(2), traffic, lambda plan: 0.1).why
        mb.Fleet(mb.Continuous(2), 0.1, 2, prefix_caching=True).run(traffic)


def test_a_probe_in_the_engine_keeps_the_fast_simulator_and_a_new_rule_does_not():
    """Exercise 4.3 changes what a step records. Lessons 5 to 14 would take many minutes then."""
    engine = (fast_path.PACKAGE / "engine" / "engine.py").read_text(encoding="utf-8")
    probe = engine.replace("tokens, finished, self.scheduler, now)", "tokens, kv_bytes(1), now)")
    probe = probe.replace("import PrefixIndex\n", "import PrefixIndex\nfrom ..a import kv_bytes\n")
    rule = engine.replace("now = self.clock.now()", "now = self.clock.now() + 1", 1)
    rules = fast_path.without_records(engine)
    assert probe.count("kv_bytes") == 2
    assert fast_path.without_records(probe) == rules
    assert rule != engine
    assert fast_path.without_records(rule) != rules


def test_a_replaced_method_takes_the_engine(monkeypatch):
    traffic = mb.traffic.all_at_once(3, Lengths.equal(2, 2))
    monkeypatch.setattr(mb.Continuous, "can_admit", lambda self: not self.running)
    found = mb.simulate(mb.Continuous(2), traffic, 0.1)
    assert "Continuous.can_admit was replaced" in found.why
    assert len(set(found.first_token)) == 3

"""Requests, forks and deadlines at the queue, and what a reset forgets."""

import pytest

import minibatch as mb
from minibatch.schedulers import admission, orders, victims

STEP = 0.025


def engine_of(scheduler, num_blocks=64, block_size=16, **options):
    clock = mb.VirtualClock(STEP)
    return mb.Engine(
        mb.PretendModel(),
        scheduler,
        num_blocks=num_blocks,
        block_size=block_size,
        clock=clock,
        **options,
    )


def asked(num_prompt, num_answer, **options):
    return mb.Request([0] * num_prompt, max_tokens=num_answer, **options)


def finish(engine, most=1000):
    for _ in range(most):
        if not engine.has_work:
            break
        engine.step()
        engine.check_invariants()
    assert not engine.has_work, "it does not come to an end"
    assert engine.pool.num_free == engine.pool.num_blocks
    return {c.request_id: c for c in engine.trace.completions}


# Forks ------------------------------------------------------------------------------------------


def test_a_fork_in_a_pool_without_room_waits_and_is_served():
    engine = engine_of(mb.Continuous(8), num_blocks=4)
    name = engine.add(asked(50, 14))
    engine.step()
    engine.fork(name)
    assert len(finish(engine)) == 2
    assert engine.trace.summary()["num_preemptions"] == 0


@pytest.mark.parametrize("policy", [mb.Static, mb.Dynamic, mb.Continuous, mb.Budget])
def test_every_policy_serves_two_forks_in_four_blocks(policy):
    engine = engine_of(policy(4), num_blocks=4, block_size=4)
    name = engine.add(asked(12, 4))
    engine.step()
    engine.fork(name, 2)
    assert len(finish(engine)) == 3


def test_a_fork_beside_a_cache_hit_in_the_same_plan():
    engine = engine_of(mb.Continuous(8), num_blocks=4, block_size=4, prefix_caching=True)
    name = engine.add(asked(8, 2))
    engine.step()
    engine.fork(name)
    engine.add(asked(9, 2))
    assert len(finish(engine)) == 3


def test_a_fork_is_refused_when_the_queue_is_full_and_nothing_is_left_of_it():
    limits = mb.QueueLimits(max_waiting=1)
    engine = engine_of(mb.Budget(1, limits=limits))
    name = engine.add(asked(20, 9))
    engine.step()
    with pytest.raises(mb.QueueFull):
        engine.fork(name, 2)
    engine.fork(name)
    assert sorted(finish(engine)) == sorted([name, f"{name}/1"])


def test_a_fork_has_the_deadline_of_its_request_from_its_own_arrival():
    engine = engine_of(mb.Continuous(1))
    name = engine.add(asked(20, 100, deadline=1.0))
    engine.step()
    engine.fork(name)
    done = finish(engine)
    assert done[f"{name}/1"].finish_reason == "deadline"
    assert done[f"{name}/1"].finish_time == pytest.approx(STEP + 1.0)


# Deadlines --------------------------------------------------------------------------------------


def test_a_request_ends_at_its_deadline_and_not_when_the_policy_wakes_up():
    engine = engine_of(mb.Dynamic(8, max_wait=10.0))
    engine.add(asked(20, 4, deadline=1.0))
    assert engine.step(wait=False) is None
    assert engine.next_event_time == 1.0
    assert engine.step() is None
    (completion,) = engine.trace.completions
    assert (completion.finish_reason, completion.finish_time) == ("deadline", 1.0)


def test_a_deadline_of_a_request_that_runs_is_no_event():
    engine = engine_of(mb.Dynamic(8, max_wait=10.0))
    engine.run([asked(20, 4, deadline=11.0)])
    engine.add(asked(20, 4))
    engine.step(wait=False)
    assert engine.next_event_time == pytest.approx(20.0 + 4 * STEP)


# Adding -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("limits", [None, mb.QueueLimits(max_waiting=100_000)])
def test_adding_looks_at_no_request_that_is_still_to_arrive(limits, monkeypatch):
    engine = engine_of(mb.Budget(8, limits=limits))
    for i in range(50):
        engine.add(asked(4, 2, arrival_time=100.0 + i))
    looked_at = []
    finished = mb.Sequence.is_finished.fget
    monkeypatch.setattr(
        mb.Sequence, "is_finished", property(lambda s: looked_at.append(s) or finished(s))
    )
    engine.add(asked(4, 2))
    assert len(looked_at) < 5


def test_stream_checks_its_requests_when_it_is_called():
    engine = engine_of(mb.Continuous(2))
    with pytest.raises(ValueError, match="has no tokens|prompt is empty"):
        engine.stream([mb.Request([], max_tokens=2)])
    with pytest.raises(ValueError, match="outside the vocabulary"):
        engine.stream([mb.Request([7], max_tokens=2)])


def test_a_stream_closed_before_its_first_token_leaves_no_request():
    engine = engine_of(mb.Continuous(2))
    engine.stream([asked(4, 2)]).close()
    assert not engine.has_work


# Reset ------------------------------------------------------------------------------------------


def two_clients_and_little_room():
    sizes = [(20, 30), (40, 30), (25, 20), (33, 26), (20, 30), (18, 9)]
    return [
        asked(n, m, request_id=f"r{i}", client="ab"[i % 2 == 0], arrival_time=0.2 * i)
        for i, (n, m) in enumerate(sizes)
    ]


@pytest.mark.parametrize(
    "parts",
    [
        {"order": orders.FairShare()},
        {"admission": admission.Optimistic(ratio=0.4, least=0.0, num_steps=30)},
        {"victim": victims.Random(3)},
    ],
    ids=["order", "admission", "victim"],
)
def test_after_a_reset_the_same_requests_run_in_the_same_way(parts):
    engine = engine_of(mb.Budget(3, 24, **parts), num_blocks=9)
    runs = []
    for _ in range(2):
        engine.run(two_clients_and_little_room())
        runs.append([step.row_values for step in engine.trace.steps])
        engine.reset()
    assert runs[0] == runs[1]


def test_a_policy_s_own_reset_is_called_after_the_queues_are_empty():
    class Counts(mb.Continuous):
        def reset(self):  # does not call super
            self.seen = len(self.waiting), len(self.running), self.pool.num_free

    engine = engine_of(Counts(2))
    engine.add(asked(4, 9))
    engine.step()
    engine.reset()
    assert engine.scheduler.seen == (0, 0, 64)

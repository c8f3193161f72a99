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
    engine.add(asked(10, 1))
    engine.step()
    engine.add(asked(13, 3))
    engine.fork(name)
    assert len(finish(engine)) == 4


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


def test_adding_looks_at_no_other_request(monkeypatch):
    """4,000 additions took 3.3 s when each looked at all that had been added before."""
    engine = engine_of(mb.Continuous(8))
    for _ in range(50):
        engine.add(asked(4, 2))
    looked_at = []
    finished = mb.Sequence.is_finished.fget
    monkeypatch.setattr(
        mb.Sequence, "is_finished", property(lambda s: looked_at.append(s) or finished(s))
    )
    engine.add(asked(4, 2))
    assert looked_at == []


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


@pytest.mark.parametrize(
    ("part", "learned"),
    [
        ({"order": orders.FairShare()}, lambda policy: dict(policy.order.computed)),
        ({"admission": admission.Optimistic()}, lambda policy: policy.admission.ratio),
        ({"victim": victims.Random(3)}, lambda policy: policy.victim.random.getstate()),
    ],
    ids=["order", "admission", "victim"],
)
def test_a_reset_forgets_what_a_part_of_the_policy_has_learned(part, learned):
    policy = mb.Budget(3, 24, **part)
    engine = engine_of(policy, num_blocks=9)
    before = learned(policy)
    for _ in range(2):
        engine.run([asked(20, 60, client=client) for client in "abab"])
        assert learned(policy) != before
        engine.reset()
        assert learned(policy) == before


def test_a_policy_s_own_reset_is_called_after_the_queues_are_empty():
    class Counts(mb.Continuous):
        def reset(self):  # does not call super
            self.seen = len(self.waiting), len(self.running), self.pool.num_free

    engine = engine_of(Counts(2))
    engine.add(asked(4, 9))
    engine.step()
    engine.reset()
    assert engine.scheduler.seen == (0, 0, 64)


# A request ended from outside -------------------------------------------------------------------


@pytest.mark.parametrize("policy", [mb.Static, mb.Continuous, mb.Budget])
def test_a_finished_request_counts_as_served_and_gives_its_blocks_back(policy):
    engine = engine_of(policy(2))
    engine.add(asked(20, 50, request_id="A"))
    while engine.sequence("A").num_output_tokens < 3:
        engine.step()
    engine.finish("A")
    engine.check_invariants()
    assert engine.pool.num_free == engine.pool.num_blocks
    (completion,) = engine.trace.completions
    assert completion.was_served
    assert completion.finish_reason == "stop"
    assert len(completion.token_ids) == len(completion.token_times) == 3
    assert completion.finish_time == completion.token_times[-1]
    assert engine.trace.summary()["tpot_mean_s"] == pytest.approx(STEP)


def test_a_preempted_request_can_be_finished():
    engine = engine_of(mb.Continuous(2), num_blocks=4)
    for name in "AB":
        engine.add(asked(20, 40, request_id=name))
    while not engine.sequence("B").num_preemptions:
        engine.step()
    engine.finish("B", "length")
    engine.check_invariants()
    assert finish(engine)["B"].finish_reason == "length"


def test_a_request_without_a_token_cannot_be_finished():
    engine = engine_of(mb.Continuous(2))
    engine.add(asked(4, 4, request_id="A"))
    with pytest.raises(ValueError, match="'A' has no token yet; call abort"):
        engine.finish("A")
    engine.step()
    with pytest.raises(ValueError, match='give "stop" or "length"'):
        engine.finish("A", "abort")
    assert finish(engine)["A"].finish_reason == "length"


def test_a_sequence_is_found_while_it_is_live():
    engine = engine_of(mb.Continuous(2))
    engine.add(asked(4, 2, request_id="A"))
    assert engine.sequence("A").num_tokens == 4
    finish(engine)
    with pytest.raises(ValueError, match="no live request 'A'"):
        engine.sequence("A")

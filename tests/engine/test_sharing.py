"""Blocks with several holders: found by prefix, or shared with a fork; the tokens stay the same."""

import contextlib
import random
from dataclasses import dataclass, field

import policies
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from oracle import assert_same_tokens, generate

import minibatch as mb
from minibatch.attention.gather_sdpa import gather_sdpa_attention
from minibatch.memory.prefix import root

every_policy = policies.every_policy(max_batch_size=3, max_batch_tokens=5)


def ids(seed, n):
    return random.Random(seed).choices(range(2, 128), k=n)


TRUNK, OTHER = ids(1, 24), ids(2, 24)


def engine_of(model, scheduler=None, num_blocks=24, block_size=4, **options):
    return mb.Engine(
        model,
        scheduler or mb.Continuous(3),
        num_blocks=num_blocks,
        block_size=block_size,
        attention=options.pop("attention", "gather"),
        clock=mb.VirtualClock(0.01),
        prefix_caching=options.pop("prefix_caching", True),
        **options,
    )


def request(prompt, max_tokens=4, name=None, **options):
    return mb.Request(prompt, max_tokens=max_tokens, request_id=name, ignore_eos=True, **options)


def all_lookups(engine):
    return [lookup for step in engine.trace.steps for lookup in step.sharing.lookups]


def lookups(engine):
    return {lookup.request_id: lookup for lookup in all_lookups(engine)}


def finish(engine):
    while engine.has_work:
        engine.step()
        check(engine)
    assert engine.pool.num_free == engine.pool.num_blocks
    return {c.request_id: c for c in engine.trace.completions}


def check(engine):
    """The engine's own invariants, and the counters of the pool against a count."""
    engine.check_invariants()
    pool = engine.pool
    counts = [pool.ref_count(block) for block in range(pool.num_blocks)]
    assert pool.num_shared == sum(count > 1 for count in counts)
    known = pool.prefixes or ()
    assert pool.num_cached == sum(not n and block in known for block, n in enumerate(counts))


def check_contents(engine):
    """Every block that is known holds the K and V that its tokens have when computed afresh."""
    model, index, cache = engine.model, engine.pool.prefixes, engine.runner.kv_cache
    by_hash = {index.link_of(block).hash: index.link_of(block) for block in index}
    for block in index:
        link = index.link_of(block)
        prompt = list(link.ids)
        while link.parent in by_hash:
            link = by_hash[link.parent]
            prompt = [*link.ids, *prompt]
        if link.parent != root(None):
            continue  # its trunk is gone, so what it was is not to be told
        alone = engine_of(model, mb.Sequential(), 64, index.block_size, prefix_caching=False)
        alone.add(request([*prompt, 5], 1))
        plan = alone._next_plan(wait=False)
        alone.runner.run(plan)
        sequence = plan.rows[0].sequence
        theirs = sequence.block_table[len(prompt) // index.block_size - 1]
        for mine, fresh in zip(
            (*cache.keys, *cache.values),
            (*alone.runner.kv_cache.keys, *alone.runner.kv_cache.values),
            strict=True,
        ):
            torch.testing.assert_close(mine[block], fresh[theirs], atol=1e-4, rtol=1e-4)


# What is found ----------------------------------------------------------------------------------


@every_policy
@pytest.mark.parametrize("block_size", [1, 4, 7])
def test_what_one_has_computed_the_next_need_not_and_says_the_same(tiny_model, make, block_size):
    engine = engine_of(tiny_model, make(), 140, block_size)
    requests = [request(TRUNK[:20] + ids(n, 5), 6, f"r{n}") for n in range(3)]
    for each in [*requests, requests[0]]:
        (done,) = engine.run([each])
        assert_same_tokens(tiny_model, each, done.token_ids)
        check(engine)
    hits = [lookup.num_hits for lookup in all_lookups(engine)]
    common = 20 // block_size * block_size
    assert hits[0] == 0
    assert hits[1] >= common
    assert hits[3] == 24 // block_size * block_size  # all of its prompt but for the last token
    check_contents(engine)


def test_a_prompt_that_is_there_as_a_whole_has_its_last_token_computed(tiny_model):
    engine = engine_of(tiny_model)
    engine.run([request(TRUNK[:16], 4, "A")])
    engine.run([request(TRUNK[:16], 4, "B")])
    assert lookups(engine)["B"].num_hits == 12  # of 16: the last block is computed for its end
    first = engine.trace.steps[-4].rows[0]
    assert (first.request_id, first.num_tokens) == ("B", 4)


def test_an_answer_s_blocks_count_too(tiny_model):
    engine = engine_of(tiny_model)
    (turn,) = engine.run([request(TRUNK[:8], 9, "A")])
    engine.run([request(TRUNK[:8] + turn.token_ids + [5, 6], 1, "B")])
    assert lookups(engine)["B"].num_hits == 16  # 8 of the prompt, 8 of the answer's 9


def test_neither_of_two_in_one_step_reads_what_is_not_computed_yet(tiny_model):
    engine = engine_of(tiny_model)
    both = [request(TRUNK[:10], 3, "A"), request(TRUNK[:10], 3, "B")]
    engine.run(both)
    assert [lookups(engine)[name].num_hits for name in "AB"] == [0, 0]
    assert lookups(engine)["B"].miss.reason == "computed now"
    assert lookups(engine)["B"].miss.other == "A"


def test_the_summary_counts_hits_and_evictions(tiny_model):
    engine = engine_of(tiny_model, num_blocks=8)
    engine.run([request(TRUNK[:17], 1, "A")])  # blocks 0 to 4, four of them full
    engine.run([request(TRUNK[:17], 1, "B")])  # finds four, takes another
    engine.run([request(OTHER[:24], 1, "C")])  # takes six of the eight
    summary = engine.trace.summary()
    assert summary["prefix_hit_rate"] == 16 / (17 + 17 + 24)
    assert summary["num_evictions"] == sum(s.sharing.num_evicted for s in engine.trace.steps) > 0
    assert [step.sharing.num_cached for step in engine.trace.steps][:2] == [4, 4]


def test_whoever_has_another_salt_finds_nothing(tiny_model):
    engine = engine_of(tiny_model)
    for name, salt in (("A", None), ("B", "hers"), ("C", "his"), ("D", "hers")):
        engine.run([request(TRUNK[:9], 1, name, cache_salt=salt)])
    assert [lookups(engine)[name].num_hits for name in "ABCD"] == [0, 0, 0, 8]


def test_a_victim_finds_its_own_blocks_again(tiny_model):
    engine = engine_of(tiny_model, mb.Continuous(2), num_blocks=8)
    requests = [request(TRUNK[:8], 10, "A"), request(OTHER[:8], 12, "B")]
    for each in requests:
        engine.add(each)
    done = finish(engine)
    again = [lookup for lookup in all_lookups(engine) if lookup.request_id == "B"]
    assert len(again) > 1
    assert again[1].num_hits > 0
    for each in requests:
        assert_same_tokens(tiny_model, each, done[each.request_id].token_ids)


def test_a_block_is_not_found_once_the_same_plan_has_given_it_away(tiny_model):
    engine = engine_of(tiny_model, mb.Continuous(2), num_blocks=8)
    engine.run([request(TRUNK[:12], 1, "A")])
    engine.add(request(OTHER[:24], 5, "B"))  # takes seven of eight blocks, A's among them
    engine.add(request(TRUNK[:12], 1, "C"))
    done = finish(engine)
    assert lookups(engine)["C"].num_hits < 12
    assert_same_tokens(tiny_model, request(TRUNK[:12], 1, "C"), done["C"].token_ids)


@pytest.mark.parametrize(
    ("prompt", "reason", "at", "other"),
    [
        (TRUNK[:10], "partial block", 8, None),
        (TRUNK[:9] + OTHER[:8], "diverged", 9, "A"),
        (TRUNK[:8] + OTHER[:8], "diverged", 8, "A"),
        (OTHER[:8] + TRUNK[:8], "never seen", 0, None),
    ],
)
def test_every_miss_has_a_reason(tiny_model, prompt, reason, at, other):
    engine = engine_of(tiny_model)
    engine.run([request(TRUNK[:20], 1, "A")])
    engine.run([request(prompt, 1, "B")])
    miss = lookups(engine)["B"].miss
    assert (miss.reason, miss.at, miss.other) == (reason, at, other)


def test_what_was_evicted_says_so_and_how_long_ago(tiny_model):
    engine = engine_of(tiny_model, num_blocks=6)
    engine.run([request(TRUNK[:9], 1, "A")])
    engine.run([request(OTHER[:23], 1, "B")])
    engine.run([request(TRUNK[:9], 1, "C")])
    miss = lookups(engine)["C"].miss
    assert (miss.reason, miss.at) == ("evicted", 0)
    assert miss.num_blocks_since >= 1


def test_a_hash_alone_is_not_trusted(tiny_model, monkeypatch):
    from minibatch.memory import prefix

    monkeypatch.setattr(prefix, "hash_of", lambda parent, ids: parent)
    engine = engine_of(tiny_model)
    for prompt in (TRUNK[:10], OTHER[:10]):
        (done,) = engine.run([request(prompt, 4)])
        assert_same_tokens(tiny_model, request(prompt, 4), done.token_ids)


def test_without_prefix_caching_nothing_is_looked_up_or_known(tiny_model):
    engine = engine_of(tiny_model, prefix_caching=False)
    engine.run([request(TRUNK[:9], 1), request(TRUNK[:9], 1)])
    assert engine.pool.prefixes is None
    assert engine.pool.num_cached == 0
    assert {step.sharing for step in engine.trace.steps} == {None}
    assert engine.trace.summary()["prefix_hit_rate"] is None


def test_after_a_reset_nothing_is_found(tiny_model):
    engine = engine_of(tiny_model)
    engine.run([request(TRUNK[:9], 1, "A")])
    engine.reset()
    assert (engine.pool.num_cached, len(engine.pool.prefixes)) == (0, 0)
    engine.run([request(TRUNK[:9], 1, "B")])
    assert lookups(engine)["B"].num_hits == 0


def test_of_two_equal_blocks_one_is_found_after_the_other_is_gone(tiny_model):
    """A and B compute the same blocks in one step. A leaves, and its blocks are used again."""
    engine = engine_of(tiny_model, mb.Continuous(3), num_blocks=14)
    engine.add(request(TRUNK[:17], 1, "A"))
    engine.add(request(TRUNK[:17], 9, "B"))
    engine.step()
    engine.add(request(ids(3, 36), 1, "C"))  # takes every free block: all that A has left, too
    engine.step()
    assert engine.trace.steps[-1].num_free_blocks == 0
    engine.add(request(TRUNK[:17], 1, "D"))
    done = finish(engine)
    assert lookups(engine)["D"].num_hits == 16
    check_contents(engine)
    assert_same_tokens(tiny_model, request(TRUNK[:17], 1), done["D"].token_ids)


# Forks ------------------------------------------------------------------------------------------


def shares_when_admitted(make):
    """Under these policies a fork is admitted while its parent still runs."""
    return isinstance(make(), mb.Continuous)


@every_policy
@pytest.mark.parametrize("prefix_caching", [False, True])
def test_forks_share_full_blocks_and_answer_as_if_alone(tiny_model, make, prefix_caching):
    engine = engine_of(tiny_model, make(), prefix_caching=prefix_caching)
    engine.add(request(TRUNK[:10], 8, "A"))
    for _ in range(3):
        engine.step()
    assert engine.fork("A", 2) == ["A/1", "A/2"]
    expected = generate(tiny_model, request(TRUNK[:10], 8))
    done = finish(engine)
    for name in ("A", "A/1", "A/2"):
        assert_same_tokens(tiny_model, request(TRUNK[:10], 8), done[name].token_ids, expected)
    rows = [row for step in engine.trace.steps for row in step.rows if row.request_id == "A/1"]
    shared = 8 if prefix_caching or shares_when_admitted(make) else 0  # two blocks of 4
    assert rows[0].num_tokens == min(10 - shared, engine.scheduler.max_batch_tokens or 10)


def test_a_fork_holds_nothing_while_it_waits_and_writes_into_no_shared_block(tiny_model):
    engine = engine_of(tiny_model, mb.Continuous(2), prefix_caching=False)
    engine.add(request(TRUNK[:10], 8, "A"))
    engine.step()
    engine.fork("A", 2)
    engine.step()
    one, other = (s.block_table for s in engine.scheduler.running)
    assert one[:2] == other[:2]
    assert not set(one[2:]) & set(other[2:])
    (waiting,) = engine.scheduler.waiting
    assert (waiting.block_table, waiting.num_computed_tokens) == ([], 0)
    finish(engine)


def test_with_one_block_for_each_sequence_a_fork_shares_nothing(tiny_model):
    engine = engine_of(tiny_model, num_blocks=3, block_size=256, prefix_caching=False)
    engine.add(request(TRUNK[:10], 4, "A"))
    engine.step()
    engine.fork("A")
    engine.step()
    assert engine.pool.num_shared == 0
    finish(engine)


def test_a_fork_s_seed_is_another_and_its_answer_repeats(tiny_model):
    answers = []
    for _ in range(2):
        engine = engine_of(tiny_model)
        engine.add(request(TRUNK[:9], 8, "A", temperature=4.0, seed=7))
        engine.step()
        engine.fork("A", 2)
        answers.append({name: c.token_ids for name, c in finish(engine).items()})
    assert answers[0] == answers[1]
    assert len({tuple(a) for a in answers[0].values()}) == 3
    (alone,) = engine_of(tiny_model).run([request(TRUNK[:9], 8, temperature=4.0, seed=8)])
    assert alone.token_ids == answers[0]["A/1"]


def test_a_fork_of_a_fork_and_of_one_that_only_waits(tiny_model):
    engine = engine_of(tiny_model, mb.Continuous(2), num_blocks=16)
    engine.add(request(TRUNK[:10], 8, "A"))
    engine.step()
    engine.fork("A", 2)  # one of them waits
    engine.fork("A/2")
    check(engine)
    engine.step()
    engine.fork("A/1")
    expected = generate(tiny_model, request(TRUNK[:10], 8))
    done = finish(engine)
    assert set(done) == {"A", "A/1", "A/2", "A/2/1", "A/1/1"}
    for completion in done.values():
        assert_same_tokens(tiny_model, request(TRUNK[:10], 8), completion.token_ids, expected)


@pytest.mark.parametrize("leaves", ["A", "A/1", "A/2"])
def test_a_holder_may_be_given_up_at_any_time(tiny_model, leaves):
    engine = engine_of(tiny_model, mb.Continuous(2))
    engine.add(request(TRUNK[:10], 8, "A"))
    engine.step()
    engine.fork("A", 2)
    engine.step()
    engine.abort(leaves)
    check(engine)
    expected = generate(tiny_model, request(TRUNK[:10], 8))
    for name, completion in finish(engine).items():
        if name != leaves:
            assert_same_tokens(tiny_model, request(TRUNK[:10], 8), completion.token_ids, expected)


def test_forks_that_wait_take_no_room_from_those_that_run(tiny_model):
    engine = engine_of(tiny_model, mb.Continuous(1), num_blocks=5, prefix_caching=False)
    engine.add(request(TRUNK[:10], 8, "A"))
    engine.step()
    engine.fork("A", 3)
    engine.add(request(OTHER[:16], 4, "B"))
    done = finish(engine)
    assert len(done) == 5
    assert engine.trace.summary()["num_preemptions"] == 0
    assert done["A"].finish_time < done["A/1"].first_token_time


def test_a_reset_forgets_forks_too(tiny_model):
    engine = engine_of(tiny_model, mb.Continuous(1))
    engine.add(request(TRUNK[:10], 8, "A"))
    engine.step()
    engine.fork("A", 2)
    engine.reset()
    check(engine)
    assert engine.pool.num_free == engine.pool.num_blocks
    engine.run([request(TRUNK[:10], 2)])


def test_only_a_live_request_is_forked_and_how_often_is_a_number(tiny_model):
    engine = engine_of(tiny_model)
    with pytest.raises(ValueError, match="no live request 'A'"):
        engine.fork("A")
    engine.add(request(TRUNK[:10], 8, "A"))
    with pytest.raises(ValueError, match="n is 0"):
        engine.fork("A", 0)


# Whatever happens -------------------------------------------------------------------------------

STEMS = [TRUNK[:n] for n in (3, 8, 9, 16)] + [OTHER[:5], TRUNK[:8] + OTHER[:8]]
TAILS = [[7], [8, 9], [3, 4, 5, 6]]


@dataclass
class Workload:
    scheduler: mb.Scheduler
    block_size: int
    spare_blocks: int
    prompts: list[tuple[list[int], int, float, str | None]]  # with max_tokens, arrival, salt
    forks: dict[int, tuple[int, int]] = field(default_factory=dict)  # step -> whose, how many
    aborts: dict[int, int] = field(default_factory=dict)
    faults: set[int] = field(default_factory=set)


sizes = st.integers(1, 4)
workloads = st.builds(
    Workload,
    scheduler=st.one_of(
        st.builds(mb.Sequential),
        st.builds(mb.Static, sizes),
        st.builds(mb.Continuous, sizes),
        st.builds(lambda n, more: mb.Continuous(n, n + more), sizes, st.integers(0, 9)),
    ),
    block_size=st.sampled_from([1, 2, 4, 7, 64]),
    spare_blocks=st.integers(0, 8),
    prompts=st.lists(
        st.tuples(
            st.builds(lambda a, b: a + b, st.sampled_from(STEMS), st.sampled_from(TAILS)),
            st.integers(1, 8),
            st.integers(0, 20).map(lambda n: n * 0.01),
            st.sampled_from([None, None, "salt"]),
        ),
        min_size=2,
        max_size=8,
    ),
    forks=st.dictionaries(
        st.integers(0, 25), st.tuples(st.integers(0, 9), st.integers(1, 3)), max_size=4
    ),
    aborts=st.dictionaries(st.integers(0, 25), st.integers(0, 9), max_size=4),
    faults=st.sets(st.integers(1, 60), max_size=4),
)


class Fault(Exception):
    pass


@pytest.fixture(scope="module")
def alone(tiny_model):
    known = {}

    def answer(prompt):
        if tuple(prompt) not in known:
            known[tuple(prompt)] = generate(tiny_model, request(prompt, 8))
        return known[tuple(prompt)]

    return answer


@given(workload=workloads)
def test_whatever_happens_books_balance_and_tokens_are_right(tiny_model, alone, workload):
    calls = iter(range(1, 10**9))

    def attention(*arguments):
        call = next(calls)
        if call in workload.faults:
            raise KeyboardInterrupt if call % 2 else Fault
        return gather_sdpa_attention(*arguments)

    size = workload.block_size
    longest = max(len(prompt) + n for prompt, n, _, _ in workload.prompts)
    num_blocks = -(-longest // size) + workload.spare_blocks
    engine = engine_of(tiny_model, workload.scheduler, num_blocks, size, attention=attention)
    for i, (prompt, n, arrival, salt) in enumerate(workload.prompts):
        engine.add(request(prompt, n, f"r{i}", arrival_time=arrival, cache_salt=salt))
    num_steps = 0
    while engine.has_work:
        live = sorted(engine._live)
        if num_steps in workload.forks and live:
            who, times = workload.forks[num_steps]
            engine.fork(live[who % len(live)], times)
        if num_steps in workload.aborts and live:
            engine.abort(live[workload.aborts[num_steps] % len(live)])
        check(engine)
        if not engine.has_work:
            break
        with contextlib.suppress(Fault, KeyboardInterrupt):
            engine.step()
        check(engine)
        num_steps += 1
        assert num_steps < 1000, "does not come to an end"
    assert engine.pool.num_free == engine.pool.num_blocks
    check_contents(engine)
    for completion in engine.trace.completions:
        prompt, n, _, _ = workload.prompts[int(completion.request_id[1])]
        expected = alone(prompt)[: len(completion.token_ids)]
        same = request(prompt, len(completion.token_ids) or 1, completion.request_id)
        assert_same_tokens(tiny_model, same, completion.token_ids, expected)

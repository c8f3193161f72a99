"""Random workloads against what must always hold (design, section 5), checked after every step.

Hypothesis draws policies, pools, requests, arrivals, aborts and faults. Prompts come from a short
list, so that each answer has to be worked out by transformers only once.
"""

import functools
import random
from dataclasses import dataclass, field, replace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from oracle import assert_same_sample, assert_same_tokens, generate, sample

import minibatch as mb
from minibatch.attention.gather_sdpa import gather_sdpa_attention
from minibatch.schedulers import admission, chunks, victims

LONGEST_ANSWER = 10  # tokens
PROMPTS = [
    random.Random(n).choices(range(2, 128), k=n) for n in (1, 1, 2, 3, 4, 5, 7, 8, 11, 15, 16, 22)
]
WAYS = [  # of sampling; seeds are few, so that answers can be remembered
    {},
    {"temperature": 2.0, "top_k": 4, "seed": 1},
    {"temperature": 4.0, "top_p": 0.9, "seed": 2},
    {"temperature": 3.0, "seed": 3},
]


@dataclass
class Workload:
    scheduler: mb.Scheduler
    block_size: int
    spare_blocks: int
    requests: list[mb.Request]
    aborts: dict[int, set[int]] = field(default_factory=dict)  # step -> which requests
    faults: set[int] = field(default_factory=set)  # calls of attention that raise
    overlap: bool = False

    @property
    def num_blocks(self):
        longest = max(len(r.prompt) + r.max_tokens for r in self.requests)
        return -(-longest // self.block_size) + self.spare_blocks


sizes = st.integers(1, 5)
policies = st.one_of(
    st.builds(mb.Sequential),
    st.builds(mb.Static, sizes),
    st.builds(mb.Dynamic, sizes, st.sampled_from([0.0, 0.01, 0.05, 0.3])),
    st.builds(mb.Continuous, sizes),
    st.builds(
        lambda size, more: mb.Continuous(size, max_batch_tokens=size + more),
        sizes,
        st.integers(0, 12),
    ),
    st.builds(mb.PrefillFirst, sizes),
    st.builds(
        lambda size, more, **parts: mb.Budget(size, size + more, **parts),
        sizes,
        st.integers(0, 12),
        chunks=st.sampled_from([chunks.first_come_first_served, chunks.equal_progress]),
        victim=st.sampled_from([victims.newest, victims.most_computed, victims.oldest]),
        admission=st.sampled_from([admission.PromptOnly, admission.Optimistic]).map(lambda a: a()),
    ),
)


@st.composite
def requests(draw, ways):
    """stop: after how many tokens of its greedy answer a stop token is set, if at all."""
    return mb.Request(
        draw(st.sampled_from(PROMPTS)),
        max_tokens=draw(st.integers(1, LONGEST_ANSWER)),
        arrival_time=draw(st.one_of(st.none(), st.integers(0, 20).map(lambda n: n * 0.01))),
        stop_token_ids=draw(st.lists(st.integers(2, 127), max_size=12)),
        **draw(st.sampled_from(ways)),
    )


def workloads(ways=WAYS, aborts=True, faults=True):
    nothing = st.just({})
    return st.builds(
        Workload,
        scheduler=policies,
        block_size=st.sampled_from([1, 2, 3, 4, 7, 16, 256]),
        spare_blocks=st.integers(0, 9),
        requests=st.lists(requests(ways), min_size=1, max_size=9),
        aborts=st.dictionaries(
            st.integers(0, 30), st.sets(st.integers(0, 8), max_size=3), max_size=5
        )
        if aborts
        else nothing,
        faults=st.sets(st.integers(1, 60), max_size=4) if faults else st.just(set()),
        overlap=st.booleans(),
    )


class Fault(Exception):
    pass


def serve(model, workload):
    """To the end, whatever happens on the way; returns (engine, completions by request)."""
    calls = iter(range(1, 10**9))

    def attention(*arguments):
        call = next(calls)
        if call in workload.faults:
            # with overlap the pass runs in a thread of its own, which no interrupt reaches
            raise KeyboardInterrupt if call % 2 and not workload.overlap else Fault
        return gather_sdpa_attention(*arguments)

    engine = mb.Engine(
        model,
        workload.scheduler,
        num_blocks=workload.num_blocks,
        block_size=workload.block_size,
        attention=attention,
        clock=mb.VirtualClock(0.01),
        overlap=workload.overlap,
    )
    names = [engine.add(request) for request in workload.requests]
    live, num_steps = set(names), 0
    bound = 40 + sum(len(r.prompt) + 3 * r.max_tokens for r in workload.requests) * 3
    while engine.has_work:
        for i in workload.aborts.get(num_steps, ()):
            if i < len(names) and names[i] in live:
                engine.abort(names[i])
                live.remove(names[i])
                engine.check_invariants()
        if not engine.has_work:
            break
        before = [(s, list(s.token_ids)) for s in sequences_of(engine)]
        try:
            record = engine.step()
            live -= set(record.finished)
            check_record(engine, record)
        except (Fault, KeyboardInterrupt):
            assert all(s.token_ids == token_ids for s, token_ids in before)
        engine.check_invariants()
        num_steps += 1
        assert num_steps < bound, "does not come to an end"
    completions = {c.request_id: c for c in engine.trace.completions}
    return engine, [completions[name] for name in names]


def sequences_of(engine):
    return [*engine.scheduler.running, *engine.scheduler.waiting]


def check_record(engine, record):
    assert 1 <= len(record.rows) <= engine.scheduler.max_batch_size
    assert len({row.request_id for row in record.rows}) == len(record.rows)
    assert len({row.slot for row in record.rows}) == len(record.rows)
    # the next step may be planned already: it took blocks, of requests without a row in it, too
    planned = {s for flight in engine._loop.flights for s in flight.sequences}
    taken = sum(len(s.block_table) for s in planned.union(engine.scheduler.running))
    assert 0 <= record.num_free_blocks <= engine.pool.num_free + taken  # it may have freed some
    limit = getattr(engine.scheduler, "max_batch_tokens", None)
    assert limit is None or sum(row.num_tokens for row in record.rows) <= limit


@pytest.fixture(scope="module")
def alone(tiny_model):
    """The answer to a request decoded by itself, by transformers; cut at its stops and length."""

    @functools.cache
    def longest(prompt, way):
        request = mb.Request(list(prompt), max_tokens=LONGEST_ANSWER, ignore_eos=True, **dict(way))
        return (sample if request.temperature else generate)(tiny_model, request)

    def answer(request):
        way = tuple(
            (name, getattr(request, name))
            for name in ("temperature", "top_k", "top_p", "seed")
            if request.temperature
        )
        answer = longest(tuple(request.prompt), way)[: request.max_tokens]
        stops = set(request.stop_token_ids) | tiny_model.eos_token_ids
        for i, token_id in enumerate(answer):
            if token_id in stops:
                return answer[: i + 1]
        return answer

    return answer


def assert_right(model, request, completion, expected):
    if completion.finish_reason == "abort":
        expected = expected[: len(completion.token_ids)]
    check = assert_same_sample if request.temperature else assert_same_tokens
    check(model, request, completion.token_ids, expected)


@given(workload=workloads())
def test_whatever_happens_books_balance_all_end_and_tokens_are_right(tiny_model, alone, workload):
    engine, completions = serve(tiny_model, workload)
    assert engine.pool.num_free == engine.pool.num_blocks
    assert sequences_of(engine) == []
    for request, completion in zip(workload.requests, completions, strict=True):
        assert_right(tiny_model, request, completion, alone(request))


@given(workload=workloads(aborts=False, faults=False))
def test_a_quiet_run_serves_every_request_to_its_end(tiny_model, alone, workload):
    engine, completions = serve(tiny_model, workload)
    summary = engine.trace.summary()
    assert summary["num_requests"] == len(workload.requests)
    assert summary["output_tokens"] == sum(len(c.token_ids) for c in completions)
    for request, completion in zip(workload.requests, completions, strict=True):
        assert completion.finish_reason in {"stop", "length"}
        assert completion.arrival_time <= completion.first_scheduled_time
        assert completion.first_scheduled_time < completion.first_token_time
        assert completion.token_times == sorted(completion.token_times)
        assert completion.finish_time == completion.token_times[-1]
        assert_right(tiny_model, request, completion, alone(request))


ADMITTED_WITHOUT_A_ROW = Workload(  # request 2 gets its block in the plan of request 4's prompt
    mb.PrefillFirst(3),
    block_size=1,
    spare_blocks=0,
    requests=[
        mb.Request([18], max_tokens=1),
        mb.Request([18], max_tokens=1),
        mb.Request([18], max_tokens=1, arrival_time=0.05),
        mb.Request([18], max_tokens=2),
        mb.Request([122, 121], max_tokens=1, arrival_time=0.05),
    ],
    overlap=True,
)


@given(workload=workloads(aborts=False), seed=st.integers(0, 2**31))
@example(workload=ADMITTED_WITHOUT_A_ROW, seed=0)
def test_faults_and_neighbours_do_not_shift_a_draw(tiny_model, workload, seed):
    """Two runs of one request with one seed: among others and faults, and first in an empty one."""
    request = mb.Request(PROMPTS[5], max_tokens=6, temperature=3.0, top_k=6, seed=seed)
    workload = replace(workload, requests=[*workload.requests, request])
    _, completions = serve(tiny_model, workload)
    [lonely] = mb.Engine(tiny_model, mb.Sequential(), attention="gather").run([request])
    assert_same_sample(tiny_model, request, completions[-1].token_ids, lonely.token_ids)

"""The same requests through four memories: what every place is good for adds up to the pool."""

import dataclasses

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import minibatch as mb
from minibatch.memory.contiguous import (
    Buddy,
    FirstFit,
    next_power_of_two,
    the_maximum,
    told_the_length,
)
from minibatch.simulator.replay import Contiguous, Paged, replay

SIZE = 256
MEMORIES = {
    "the maximum": lambda: Contiguous(FirstFit(SIZE), the_maximum(100)),
    "power of two": lambda: Contiguous(Buddy(SIZE), next_power_of_two),
    "told, first fit": lambda: Contiguous(FirstFit(SIZE), told_the_length),
    "told, buddy": lambda: Contiguous(Buddy(SIZE), told_the_length),
    "paged": lambda: Paged(SIZE // 16, 16),
    "paged, by one": lambda: Paged(SIZE, 1),
}
streams = st.lists(
    st.tuples(st.integers(1, 50), st.integers(1, 40), st.integers(0, 30)), min_size=1, max_size=12
)


def asking(stream):
    return [
        mb.Request([0] * prompt, max_tokens=n, arrival_time=float(step), request_id=str(i))
        for i, (prompt, n, step) in enumerate(stream)
    ]


@pytest.mark.parametrize("name", MEMORIES)
@settings(max_examples=25)
@given(stream=streams)
def test_the_parts_are_the_pool_and_everybody_is_served(name, stream):
    moments = replay(asking(stream), MEMORIES[name]())
    served = dict.fromkeys(map(str, range(len(stream))), 0)
    for moment in moments:
        parts = dataclasses.astuple(moment.use)
        assert sum(parts) == SIZE
        assert min(parts) >= 0
        for who in moment.running:
            served[who] += 1
    assert served == {str(i): n for i, (_, n, _) in enumerate(stream)}


@settings(max_examples=25)
@given(stream=streams, block_size=st.sampled_from([1, 4, 16]))
def test_blocks_are_taken_as_the_engine_takes_them(stream, block_size):
    requests = asking(stream)
    moments = replay(requests, Paged(SIZE // block_size, block_size))
    engine = mb.Engine(
        mb.PretendModel(),
        mb.Continuous(len(requests)),
        num_blocks=SIZE // block_size,
        block_size=block_size,
        clock=mb.VirtualClock(1.0),
    )
    engine.run(requests)
    busy = [moment for moment in moments if moment.running]
    assert [step.num_free_blocks for step in engine.trace.steps] == [
        sum(map(len, moment.holes)) // block_size for moment in busy
    ]
    assert [moment.waiting for moment in busy][-1] == ()


def test_someone_waits_though_enough_is_free():
    """A and C leave holes of 100 and of 56 beside B, and D asks for 120."""
    stream = [(96, 5, 0), (81, 20, 0), (50, 7, 0), (110, 11, 1)]
    moments = replay(asking(stream), MEMORIES["told, first fit"]())
    blocked = [i for i, moment in enumerate(moments) if moment.waits_though_enough_is_free]
    assert blocked == list(range(7, 20))
    assert moments[7].use.external == 156
    assert moments[7].use.free == 0
    paged = replay(asking(stream), MEMORIES["paged"]())
    assert not any(moment.waits_though_enough_is_free for moment in paged)
    assert len(paged) < len(moments)


def test_what_never_fits_is_refused_and_named():
    with pytest.raises(ValueError, match="'0' asks for 304 tokens; this memory has 256"):
        replay(asking([(294, 11, 0)]), MEMORIES["paged"]())
    with pytest.raises(ValueError, match="request '0' does not fit even into an empty memory"):
        replay(asking([(190, 11, 0)]), Contiguous(Buddy(200), told_the_length))

"""What the pool was good for at each step, found in the trace alone."""

import dataclasses

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import minibatch as mb
from minibatch.engine.memory_use import memory_use
from minibatch.simulator.replay import Paged, replay

streams = st.lists(st.tuples(st.integers(1, 50), st.integers(1, 40)), min_size=1, max_size=8)


def served(policy, stream, block_size, num_tokens=256, **options):
    engine = mb.Engine(
        mb.PretendModel(),
        policy,
        num_blocks=num_tokens // block_size,
        block_size=block_size,
        clock=mb.VirtualClock(1.0),
        **options,
    )
    engine.run([mb.Request([0] * prompt, max_tokens=n) for prompt, n in stream])
    return engine


@settings(max_examples=25)
@given(stream=streams, block_size=st.sampled_from([1, 4, 16]))
def test_the_engine_uses_its_pool_as_the_replay_says(stream, block_size):
    engine = served(mb.Continuous(len(stream)), stream, block_size)
    requests = [mb.Request([0] * prompt, max_tokens=n) for prompt, n in stream]
    moments = replay(requests, Paged(256 // block_size, block_size))
    uses = [moment.use for moment in moments]
    assert [use.tokens for use in memory_use(engine)] == [use.tokens for use in uses]
    assert [use.internal for use in memory_use(engine)] == [use.internal for use in uses]


@settings(max_examples=25)
@given(
    stream=streams,
    policy=st.sampled_from([mb.Static, mb.Continuous]),
    size=st.sampled_from([16, 128]),
)
def test_the_parts_are_the_pool(stream, policy, size):
    for use in memory_use(served(policy(3), stream, size)):
        assert sum(dataclasses.astuple(use)) == 256
        assert min(dataclasses.astuple(use)) >= 0


def test_a_static_batch_holds_its_blocks_to_its_end():
    uses = memory_use(served(mb.Static(2), [(16, 1), (16, 17)], 16))
    assert [use.tokens for use in uses] == [32 + i for i in range(17)]
    assert uses[0] == dataclasses.replace(uses[0], reserved=16, internal=0, free=208)


def test_a_block_with_two_holders_is_refused():
    engine = served(mb.Continuous(2), [(16, 4)], 16, prefix_caching=True)
    with pytest.raises(ValueError, match="without shared blocks"):
        memory_use(engine)

"""Sharing is broken on purpose, and the checks find each break."""

import pytest
from oracle import assert_same_tokens
from test_sharing import OTHER, TRUNK, check, check_contents, engine_of, finish, lookups, request

import minibatch as mb
from minibatch.memory import prefix
from minibatch.memory.block_manager import BlockManager
from minibatch.memory.blocks import BlockPool
from minibatch.memory.prefix import PrefixIndex


def hits_and_eviction(model):
    """Shared beginnings in a pool too small to keep them all; what is known is computed afresh."""
    engine = engine_of(model, mb.Continuous(2), num_blocks=9)
    prompts = [TRUNK[:13], TRUNK[:8] + OTHER[:9], OTHER[:17], TRUNK[:13], TRUNK[:16], TRUNK[:16]]
    requests = [request(prompt, 5, f"r{i}") for i, prompt in enumerate(prompts)]
    for each in requests:
        engine.add(each)
        engine.step()
        check(engine)
        check_contents(engine)
    done = finish(engine)
    check_contents(engine)
    for each in requests:
        assert_same_tokens(model, each, done[each.request_id].token_ids)


def forks(model):
    """Forks of a request that runs on, of another seed, beside a new request."""
    for num_blocks in (24, 7):
        engine = engine_of(model, mb.Continuous(3), num_blocks, prefix_caching=False)
        prompt, sampled = TRUNK[:8], {"temperature": 4.0, "seed": 7}
        engine.add(request(prompt, 8, "A", **sampled))
        engine.step()
        engine.step()
        engine.fork("A", 2)
        engine.step()
        check(engine)
        engine.abort("A")
        engine.add(request(OTHER[:8], 6, "B"))
        for name, completion in finish(engine).items():
            if "/" in name:
                seed = 7 + int(name[-1])
                alone = engine_of(model, prefix_caching=False)
                (expected,) = alone.run([request(prompt, 8, temperature=4.0, seed=seed)])
                assert completion.token_ids == expected.token_ids


def salted(model):
    engine = engine_of(model)
    for name, salt in (("A", "hers"), ("B", "his")):
        engine.run([request(TRUNK[:9], 1, name, cache_salt=salt)])
    assert lookups(engine)["B"].num_hits == 0


def whole_prompt_is_found(self, sequence):
    found = self._chain(sequence, sequence.num_tokens // self.block_size).links
    return [min(self._blocks_of[link.hash]) for link in found if link.hash in self._blocks_of]


def known_when_admitted(self, sequence):
    share(self, sequence)
    if (index := self.pool.prefixes) is not None:
        links = index._chain(sequence, sequence.num_tokens // self.pool.block_size).links
        for link, block_id in zip(links, [*sequence.block_table, *self.pool._free], strict=False):
            if link.hash not in index._blocks_of and block_id not in index:
                index._blocks_of[link.hash] = {block_id: None}
                index._known[block_id] = link, sequence.request_id
                siblings = index._children.setdefault(link.parent, {})
                siblings[block_id] = None


share = BlockManager.share


def partial_block_too(self, sequence):
    """A fork that shares the block which its parent still writes."""
    tokens = min(sequence.num_prompt_tokens - 1, sequence.parent.num_computed_tokens)
    return sequence.parent.block_table[: -(-tokens // self.pool.block_size)]


def answer_too(self, sequence):
    """A fork that shares blocks of its parent's answer."""
    return sequence.parent.block_table[: sequence.parent.num_computed_tokens // 4]


BREAKS = {
    "a block stays known when it is given away": (
        hits_and_eviction, PrefixIndex, "forget", lambda self, block_id: None),
    "a block is hashed without its parent": (
        hits_and_eviction, prefix, "hash_of", lambda parent, ids: bytes(ids)),
    "the whole prompt is taken from the cache": (
        hits_and_eviction, PrefixIndex, "find", whole_prompt_is_found),
    "a block is known before it is computed": (
        hits_and_eviction, BlockManager, "share", known_when_admitted),
    "a cached block is taken without leaving the free ones": (
        hits_and_eviction, BlockPool, "share",
        lambda self, ids: [self._ref_counts.__setitem__(i, self._ref_counts[i] + 1) for i in ids]),
    "the salt is left out": (salted, prefix, "root", lambda salt: b""),
    "a fork shares a block that is not full": (
        forks, BlockManager, "shareable", partial_block_too),
    "a fork shares its parent's answer": (forks, BlockManager, "shareable", answer_too),
    "what is shared is not held": (
        forks, BlockPool, "share", lambda self, ids: None),
    "an equal block that is gone is still found": (
        hits_and_eviction, PrefixIndex, "forget",
        lambda self, block_id: self._known.pop(block_id, None)),
}  # fmt: skip


@pytest.mark.parametrize("scene", [hits_and_eviction, forks, salted])
def test_unbroken_it_passes(tiny_model, scene):
    scene(tiny_model)


@pytest.mark.parametrize("name", BREAKS)
def test_a_break_is_seen(tiny_model, monkeypatch, name):
    scene, where, what, broken = BREAKS[name]
    place = f"{where}.{what}" if isinstance(where, str) else where
    monkeypatch.setattr(*([place, broken] if isinstance(where, str) else [place, what, broken]))
    with pytest.raises(Exception) as caught:  # noqa: PT011
        scene(tiny_model)
    assert not isinstance(caught.value, (AttributeError, TypeError)), caught.value

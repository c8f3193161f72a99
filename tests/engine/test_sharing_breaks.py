"""Sharing is broken on purpose, ten ways, and what is checked of it sees each of them."""

import pytest
from oracle import assert_same_tokens, generate
from test_sharing import OTHER, TRUNK, check, check_contents, engine_of, finish, lookups, request

import minibatch as mb
from minibatch.memory import prefix, sharing
from minibatch.memory.blocks import BlockPool
from minibatch.memory.kv_cache import KVCache
from minibatch.memory.prefix import PrefixIndex
from minibatch.schedulers import base


class Fault(Exception):
    pass


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


def forks_and_faults(model):
    """Forks of one that runs on, in whose copies' step the forward pass fails once."""
    for num_blocks in (24, 7):
        engine = engine_of(model, mb.Continuous(3), num_blocks, prefix_caching=False)
        engine.add(request(TRUNK[:10], 8, "A"))
        engine.step()
        engine.fork("A", 2)
        forward = engine.runner.forward

        def fail(plan, forward=forward):
            forward(plan)
            raise Fault

        engine.runner.forward = fail
        with pytest.raises(Fault):
            engine.step()
        engine.runner.forward = forward
        engine.abort("A")
        engine.add(request(OTHER[:8], 6, "B"))
        check(engine)
        engine.scheduler.max_batch_size = 3
        expected = generate(model, request(TRUNK[:10], 8))
        for name, completion in finish(engine).items():
            if "/" in name:
                same = request(TRUNK[:10], 8)
                assert_same_tokens(model, same, completion.token_ids, expected)


def salted(model):
    engine = engine_of(model)
    for name, salt in (("A", "hers"), ("B", "his")):
        engine.run([request(TRUNK[:9], 1, name, cache_salt=salt)])
    assert lookups(engine)["B"].num_hits == 0


def whole_prompt_is_found(self, sequence):
    found = self._chain(sequence, sequence.num_tokens // self.block_size).links
    return [self._block_of[link.hash] for link in found if link.hash in self._block_of]


def known_when_admitted(pool, sequence):
    sharing_take_prefix(pool, sequence)
    if pool.prefixes is not None:
        pool.prefixes.begun_early = True
        links = pool.prefixes._chain(sequence, sequence.num_tokens // pool.block_size).links
        for link, block_id in zip(links, [*sequence.block_table, *pool._free], strict=False):
            if link.hash not in pool.prefixes._block_of and block_id not in pool.prefixes:
                pool.prefixes._block_of[link.hash] = block_id
                pool.prefixes._known[block_id] = link, sequence.request_id
                siblings = pool.prefixes._children.setdefault(link.parent, {})
                siblings[block_id] = None


sharing_take_prefix = sharing.take_prefix


def copy_forgotten(pool, sequence, num_tokens):
    for i in sharing._shared(pool, sequence, num_tokens):
        (target,) = pool.allocate(1)
        pool.free([sequence.block_table[i]])
        sequence.block_table[i] = target


def source_not_held(pool, sequence, num_tokens):
    for i in sharing._shared(pool, sequence, num_tokens):
        source = sequence.block_table[i]
        (target,) = pool.allocate(1)
        pool.copies_owed.append((source, target))
        pool.free([source])
        sequence.block_table[i] = target


def one_token_too_many(pool, sequence, parent):
    num_tokens = min(sequence.num_prompt_tokens, parent.num_computed_tokens)
    shared = parent.block_table[: -(-num_tokens // pool.block_size)]
    pool.share(shared)
    sequence.block_table, sequence.num_computed_tokens = shared, num_tokens


BREAKS = {
    "a block stays known when it is given away": (
        hits_and_eviction, PrefixIndex, "forget", lambda self, block_id: None),
    "a block is hashed without its parent": (
        hits_and_eviction, prefix, "hash_of", lambda parent, ids: bytes(ids)),
    "the whole prompt is taken from the cache": (
        hits_and_eviction, PrefixIndex, "find", whole_prompt_is_found),
    "a block is known before it is computed": (
        hits_and_eviction, base, "take_prefix", known_when_admitted),
    "a cached block is taken without leaving the free ones": (
        hits_and_eviction, BlockPool, "share",
        lambda self, ids: [self._ref_counts.__setitem__(i, self._ref_counts[i] + 1) for i in ids]),
    "the salt is left out": (salted, prefix, "root", lambda salt: b""),
    "a copy on write is not made": (forks_and_faults, base, "copy_on_write", copy_forgotten),
    "a copy's source is not held": (forks_and_faults, base, "copy_on_write", source_not_held),
    "the copy stays out of the tensors": (
        forks_and_faults, KVCache, "copy", lambda self, copies: None),
    "a fork takes the prompt's last token as computed": (
        forks_and_faults, "minibatch.engine.engine", "take_fork", one_token_too_many),
    "a copy is owed for ever": (
        forks_and_faults, "minibatch.engine.engine", "confirm", lambda pool, copies: None),
}  # fmt: skip


@pytest.mark.parametrize("scene", [hits_and_eviction, forks_and_faults, salted])
def test_unbroken_it_passes(tiny_model, scene):
    scene(tiny_model)


@pytest.mark.parametrize("name", BREAKS)
def test_a_break_is_seen(tiny_model, monkeypatch, name):
    scene, where, what, broken = BREAKS[name]
    place = f"{where}.{what}" if isinstance(where, str) else where
    monkeypatch.setattr(*([place, broken] if isinstance(where, str) else [place, what, broken]))
    with pytest.raises(Exception) as caught:  # noqa: PT011
        scene(tiny_model)
    assert not isinstance(caught.value, (Fault, AttributeError, TypeError)), caught.value

"""Paged attention: three paths and one definition, over ragged batches that hypothesis draws."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st
from ragged import plan_of, ragged_batches, sequence

import minibatch as mb
from minibatch.attention import choose, cpu_decode, cpu_threads, reference_attention, slot_mapping
from minibatch.attention.cpu_decode import cpu_attention
from minibatch.attention.gather_sdpa import PIECE, gather_sdpa_attention
from minibatch.attention.metadata import build_metadata
from minibatch.core.plan import Row, StepPlan
from minibatch.memory.kv_cache import KVCache, bytes_per_token
from minibatch.model.registration import ForwardContext

CPU = torch.device("cpu")
PATHS = {
    "reference": reference_attention,
    "gather": gather_sdpa_attention,
    "cpu": cpu_attention,
}


def random_tensors(plan, block_size, num_blocks, heads, kv_heads, head_dim, seed, dtype):
    """(query, key cache, value cache, metadata). Every slot that no row may read holds NaN."""
    _, metadata = build_metadata(plan, block_size, num_blocks * block_size, CPU)
    generator = torch.Generator().manual_seed(seed)
    num_tokens = len(metadata.positions)
    query = torch.randn(num_tokens, heads, head_dim, generator=generator).to(dtype)
    caches = []
    for _ in range(2):
        flat = torch.full(((num_blocks + 1) * block_size, kv_heads, head_dim), math.nan)
        for row in plan.rows:
            slots = slot_mapping(
                np.array(row.sequence.block_table, np.int32), np.arange(row.seq_len), block_size
            )
            values = torch.randn(row.seq_len, kv_heads, head_dim, generator=generator)
            flat[torch.from_numpy(slots)] = values
        caches.append(flat.view(num_blocks + 1, block_size, kv_heads, head_dim).to(dtype))
    return query, *caches, metadata


def dense_attention(plan, block_size, query, key_cache, value_cache, scale) -> torch.Tensor:
    """The definition, one token and one head at a time, in float64, without metadata."""
    output = torch.empty(query.shape, dtype=torch.float64)
    heads_per_kv_head = query.shape[1] // key_cache.shape[2]
    token = 0
    for row in plan.rows:
        table = row.sequence.block_table
        places = [(table[p // block_size], p % block_size) for p in range(row.seq_len)]
        keys = torch.stack([key_cache[place] for place in places]).double()
        values = torch.stack([value_cache[place] for place in places]).double()
        computed = row.sequence.num_computed_tokens
        positions = [*range(computed, row.seq_len), *[row.seq_len - 1] * row.num_padding_tokens]
        for position in positions:
            for head in range(query.shape[1]):
                kv_head = head // heads_per_kv_head
                scores = keys[: position + 1, kv_head] @ query[token, head].double() * scale
                weights = (scores - scores.max()).exp()
                weights /= weights.sum()
                output[token, head] = weights @ values[: position + 1, kv_head]
            token += 1
    assert token == len(query)
    return output


# The paths agree with the definition -------------------------------------------------------------

HEADS = [(1, 1), (4, 4), (4, 2), (6, 2), (5, 1)]  # query heads, KV heads
HEAD_DIMS = [8, 12, 32, 64]


@pytest.mark.parametrize("path", PATHS)
@settings(max_examples=25, deadline=None)
@given(
    batch=ragged_batches(),
    heads=st.sampled_from(HEADS),
    head_dim=st.sampled_from(HEAD_DIMS),
    scale=st.sampled_from([0.125, 1.0, 0.37]),
    seed=st.integers(0, 2**16),
)
def test_every_path_computes_the_definition(path, batch, heads, head_dim, scale, seed):
    plan, block_size, num_blocks = batch
    query, keys, values, metadata = random_tensors(
        plan, block_size, num_blocks, *heads, head_dim, seed, torch.float32
    )
    expected = dense_attention(plan, block_size, query, keys, values, scale)
    got = PATHS[path](query, keys, values, metadata, scale)
    assert got.shape == query.shape
    assert got.dtype == query.dtype
    torch.testing.assert_close(got.double(), expected, rtol=2e-5, atol=2e-5)


ROW_KINDS = {
    "one first token": (0, 1, 0),
    "a whole prompt": (0, 9, 0),
    "a prompt padded at its end": (0, 5, 4),
    "a decode": (20, 1, 0),
    "a chunk": (7, 6, 0),
    "a chunk exactly as long as what came before": (6, 6, 0),
    "a chunk in pieces": (7, 2 * PIECE - 5, 0),
    "a chunk in pieces, the last of one token, and padded": (7, 2 * PIECE + 1, 3),
    "a decode padded": (8, 1, 3),
    "a decode padded to the length of its own context": (2, 1, 2),
    "a chunk padded to the length of its own context": (2, 3, 2),
    "a finished sequence's padding": (9, 0, 1),
    "padding as long as its context": (4, 0, 4),
}


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("shape", ROW_KINDS.values(), ids=list(ROW_KINDS))
def test_a_row_of_every_kind_is_computed_between_two_others(path, shape):
    plan, block_size, num_blocks = plan_of([(3, 1, 0), shape, (0, 4, 0)], block_size=4, seed=1)
    query, keys, values, metadata = random_tensors(
        plan, block_size, num_blocks, 4, 2, 16, 5, torch.float32
    )
    expected = dense_attention(plan, block_size, query, keys, values, 0.25)
    got = PATHS[path](query, keys, values, metadata, 0.25)
    torch.testing.assert_close(got.double(), expected, rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=["bfloat16", "float16"])
@pytest.mark.parametrize("path", PATHS)
@settings(max_examples=10, deadline=None)
@given(batch=ragged_batches(), seed=st.integers(0, 2**16))
def test_half_precision_stays_within_its_rounding(path, dtype, batch, seed):
    plan, block_size, num_blocks = batch
    query, keys, values, metadata = random_tensors(
        plan, block_size, num_blocks, 4, 2, 16, seed, dtype
    )
    expected = dense_attention(plan, block_size, query, keys, values, 0.25)
    got = PATHS[path](query, keys, values, metadata, 0.25)
    assert got.dtype == dtype
    # outputs lie within +-4; a few units in the last place of bfloat16 (8 bits) or float16 (11)
    tolerance = {torch.bfloat16: 4e-2, torch.float16: 5e-3}[dtype]
    torch.testing.assert_close(got.double(), expected, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("path", PATHS)
def test_large_scores_do_not_overflow(path):
    plan, block_size, num_blocks = plan_of([(30, 1, 0), (5, 4, 0)], block_size=8, seed=2)
    query, keys, values, metadata = random_tensors(
        plan, block_size, num_blocks, 2, 1, 8, 3, torch.float32
    )
    query *= 300
    got = PATHS[path](query, keys, values, metadata, 1.0)
    expected = dense_attention(plan, block_size, query, keys, values, 1.0)
    torch.testing.assert_close(got.double(), expected, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("path", PATHS)
def test_a_query_that_is_a_transposed_view_is_read_rightly(path):
    """Models hand over [heads, T, head_dim]; attention sees its transpose, not contiguous."""
    plan, block_size, num_blocks = plan_of([(9, 1, 0), (12, 1, 0), (3, 4, 0)], block_size=4, seed=4)
    query, keys, values, metadata = random_tensors(
        plan, block_size, num_blocks, 4, 2, 8, 6, torch.float32
    )
    view = query.transpose(0, 1).contiguous().transpose(0, 1)
    assert not view.is_contiguous()
    torch.testing.assert_close(
        PATHS[path](view, keys, values, metadata, 0.3),
        PATHS[path](query, keys, values, metadata, 0.3),
    )


@pytest.mark.parametrize("num_threads", [1, 4])
def test_a_long_context_is_computed_by_the_cpu_path_as_by_the_reference(num_threads, monkeypatch):
    monkeypatch.setattr(cpu_decode, "MANY_KEYS", 1000)
    monkeypatch.setattr(cpu_decode, "num_threads", lambda: num_threads)
    monkeypatch.setattr(cpu_threads, "num_threads", lambda: num_threads)
    plan, block_size, num_blocks = plan_of([(1000, 1, 0), (1, 1, 0)], block_size=16, seed=7)
    query, keys, values, metadata = random_tensors(
        plan, block_size, num_blocks, 4, 2, 32, 8, torch.float32
    )
    torch.testing.assert_close(
        cpu_attention(query, keys, values, metadata, 0.2),
        reference_attention(query, keys, values, metadata, 0.2),
        rtol=1e-5,
        atol=1e-5,
    )


# Where a token's K and V live --------------------------------------------------------------------


@settings(deadline=None)
@given(
    block_size=st.integers(1, 20),
    num_blocks=st.integers(1, 12),
    seed=st.integers(0, 2**32 - 1),
)
def test_every_position_has_a_slot_of_its_own_in_its_own_block(block_size, num_blocks, seed):
    table = np.random.default_rng(seed).permutation(50)[:num_blocks].astype(np.int32)
    positions = np.arange(num_blocks * block_size)
    slots = slot_mapping(table, positions, block_size)
    assert slots.dtype == np.int64
    assert len(set(slots.tolist())) == len(positions)
    assert (slots // block_size).tolist() == np.repeat(table, block_size).tolist()
    assert (slots % block_size).tolist() == (positions % block_size).tolist()


@pytest.mark.parametrize("position", [8, 9, 400])
def test_a_position_past_the_last_block_has_no_slot(position):
    with pytest.raises(IndexError):
        slot_mapping(np.array([5, 2], dtype=np.int32), np.array([0, position]), block_size=4)


def test_slots_of_a_large_pool_do_not_wrap_around():
    block = 2**31 // 16 + 5  # its slots do not fit 32 bits
    slots = slot_mapping(np.array([block], dtype=np.int32), np.array([3]), block_size=16)
    assert slots.tolist() == [block * 16 + 3]


# A plan, flattened -------------------------------------------------------------------------------


def test_a_plan_is_flattened_as_drawn():
    """Blocks of 4 tokens; 7 blocks, and slots 28.. are the scratch block.

    row     sequence            computed  new  padding   block table
    0       10 11 12 13            0       3      1        [6]
    1       20 .. 29               9       1      0        [1, 4, 2]
    2       30 .. 35 (finished)    6       0      1        [0, 5]

    token            0   1   2   3  |  4  |  5
    input_ids       10  11  12  12  | 29  | 35       padding repeats the row's last token,
    positions        0   1   2   2  |  9  |  5       at its position,
    slot_mapping    24  25  26  28  |  9  | 28       and writes to scratch
    query_start_loc  0                4     5     6
    seq_lens         3                10    6
    """
    plan = StepPlan(
        [
            Row(sequence([10, 11, 12, 13], 0, [6]), 3, 1),
            Row(sequence(list(range(20, 30)), 9, [1, 4, 2]), 1),
            Row(sequence(list(range(30, 36)), 6, [0, 5]), 0, 1),
        ]
    )
    input_ids, metadata = build_metadata(plan, block_size=4, scratch_slot=28, device=CPU)
    assert input_ids.tolist() == [10, 11, 12, 12, 29, 35]
    assert metadata.positions.tolist() == [0, 1, 2, 2, 9, 5]
    assert metadata.slot_mapping.tolist() == [24, 25, 26, 28, 9, 28]
    assert metadata.query_start_loc.tolist() == [0, 4, 5, 6]
    assert metadata.seq_lens.tolist() == [3, 10, 6]
    assert metadata.block_tables.tolist() == [[6, 0, 0], [1, 4, 2], [0, 5, 0]]
    assert metadata.rows == [(0, 4, 3), (4, 5, 10), (5, 6, 6)]


def test_metadata_has_the_documented_dtypes():
    plan = StepPlan([Row(sequence([1, 2, 3], 0, [0]), 3)])
    input_ids, metadata = build_metadata(plan, block_size=4, scratch_slot=4, device=CPU)
    assert input_ids.dtype == metadata.positions.dtype == metadata.slot_mapping.dtype == torch.int64
    assert metadata.query_start_loc.dtype == torch.int32
    assert metadata.seq_lens.dtype == metadata.block_tables.dtype == torch.int32


@given(batch=ragged_batches())
@example(batch=plan_of([(0, 1, 0)], 1, 0))
def test_real_tokens_write_to_their_own_slots_and_padding_to_scratch(batch):
    plan, block_size, num_blocks = batch
    scratch = num_blocks * block_size
    _, metadata = build_metadata(plan, block_size, scratch, CPU)
    slots = metadata.slot_mapping.tolist()
    real = [slot for slot in slots if slot != scratch]
    assert len(real) == len(set(real)) == sum(row.num_tokens for row in plan.rows)
    assert all(0 <= slot < scratch for slot in real)
    for row, (start, end, seq_len) in zip(plan.rows, metadata.rows, strict=True):
        assert end - start == row.num_tokens + row.num_padding_tokens
        assert seq_len == row.seq_len
        for slot in slots[start : start + row.num_tokens]:
            assert slot // block_size in row.sequence.block_table
        assert slots[start + row.num_tokens : end] == [scratch] * row.num_padding_tokens


# The cache ---------------------------------------------------------------------------------------


def test_a_write_lands_in_its_slots_and_nowhere_else():
    cache = KVCache([(2, 3), (1, 4)], num_blocks=3, block_size=2, device=CPU, dtype=torch.float32)
    key, value = torch.randn(2, 1, 4), torch.randn(2, 1, 4)
    cache.write(1, key, value, torch.tensor([5, 0]))
    torch.testing.assert_close(cache.keys[1][2, 1], key[0])
    torch.testing.assert_close(cache.keys[1][0, 0], key[1])
    torch.testing.assert_close(cache.values[1][2, 1], value[0])
    assert cache.keys[1].count_nonzero() == cache.values[1].count_nonzero() == 8
    assert not cache.keys[0].any()
    assert not cache.values[0].any()


@pytest.mark.parametrize("slot", [-1, 8, 1000], ids=["negative", "one past", "far past"])
def test_a_write_outside_the_pool_raises_and_overwrites_no_one(slot):
    cache = KVCache([(1, 4)], num_blocks=3, block_size=2, device=CPU, dtype=torch.float32)
    assert cache.scratch_slot == 6  # slots 6 and 7 are the scratch block
    with pytest.raises(IndexError):
        cache.write(0, torch.ones(1, 1, 4), torch.ones(1, 1, 4), torch.tensor([slot]))
    assert not cache.keys[0].any()
    assert not cache.values[0].any()


def test_bytes_per_token_counts_k_and_v_of_every_layer():
    assert bytes_per_token([(4, 32)] * 6, torch.float32) == 2 * 6 * 4 * 32 * 4
    assert bytes_per_token([(4, 32), (1, 8)], torch.bfloat16) == 2 * (128 + 8) * 2


# Which function is used --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "device", "function"),
    [
        ("auto", "cpu", cpu_attention),
        ("auto", "cuda", gather_sdpa_attention),
        ("reference", "cpu", reference_attention),
        ("gather", "cpu", gather_sdpa_attention),
        ("cpu", "cpu", cpu_attention),
    ],
)
def test_a_name_chooses_its_function(name, device, function):
    assert choose(name, torch.device(device)) is function


@pytest.mark.parametrize(("name", "device"), [("flash", "cpu"), ("cpu", "cuda"), (None, "cpu")])
def test_a_name_that_cannot_serve_is_refused_with_the_choice(name, device):
    with pytest.raises(ValueError, match=rf'attention is {name!r} on {device}; choose "auto"'):
        choose(name, torch.device(device))


PROMPTS = [[3, 1, 4, 1, 5, 9, 2, 6], [2, 7], [1, 8, 2, 8, 4]]


def test_a_learners_own_function_is_called_once_per_layer_and_step(tiny_model):
    calls = []

    def mine(query, key_cache, value_cache, metadata, scale):
        calls.append((tuple(query.shape), metadata.rows))
        return reference_attention(query, key_cache, value_cache, metadata, scale)

    engine = mb.Engine(tiny_model, mb.Static(3), num_blocks=32, block_size=4, attention=mine)
    engine.run([mb.Request(ids, max_tokens=4, ignore_eos=True) for ids in PROMPTS])
    assert len(calls) == 4 * len(tiny_model.kv_shapes)
    assert calls[0][1] == [(0, 8, 8), (8, 16, 2), (16, 24, 5)]  # padded to the longest prompt


@pytest.mark.parametrize("path", [*PATHS, "learner's"])
def test_the_engine_answers_the_same_through_every_path(tiny_model, path):
    def one_token_at_a_time(query, key_cache, value_cache, metadata, scale):
        """A learner's first version: loops, no mask."""
        output = torch.empty_like(query)
        block_size, kv_heads = key_cache.shape[1:3]
        for row, (start, end, _) in enumerate(metadata.rows):
            for token in range(start, end):
                places = range(int(metadata.positions[token]) + 1)
                table = metadata.block_tables[row]
                keys = torch.stack(
                    [key_cache[table[p // block_size], p % block_size] for p in places]
                )
                values = torch.stack(
                    [value_cache[table[p // block_size], p % block_size] for p in places]
                )
                for head in range(query.shape[1]):
                    kv_head = head * kv_heads // query.shape[1]
                    weights = (keys[:, kv_head] @ query[token, head] * scale).softmax(dim=0)
                    output[token, head] = weights @ values[:, kv_head]
        return output

    def answers(attention):
        engine = mb.Engine(
            tiny_model, mb.Continuous(2, 4), num_blocks=32, block_size=4, attention=attention
        )
        requests = [mb.Request(ids, max_tokens=5, ignore_eos=True) for ids in PROMPTS]
        return [completion.token_ids for completion in engine.run(requests)]

    function = PATHS.get(path, one_token_at_a_time)
    assert answers(function) == answers("reference")


def test_a_wrong_attention_function_changes_the_answers(tiny_model):
    """Guards the test above: attention matters to the tiny model."""

    def blind(query, key_cache, value_cache, metadata, scale):
        return torch.zeros_like(query)

    def answers(attention):
        engine = mb.Engine(tiny_model, mb.Continuous(2), num_blocks=32, attention=attention)
        requests = [mb.Request(ids, max_tokens=5, ignore_eos=True) for ids in PROMPTS]
        return [completion.token_ids for completion in engine.run(requests)]

    assert answers(blind) != answers("reference")


def test_the_scale_is_the_one_the_model_passed_or_else_one_over_root_head_dim():
    scales = []

    def notice(query, key_cache, value_cache, metadata, scale):
        scales.append(scale)
        return query

    plan, block_size, num_blocks = plan_of([(0, 2, 0)], block_size=4, seed=0)
    _, metadata = build_metadata(plan, block_size, num_blocks * block_size, CPU)
    cache = KVCache([(1, 16)], num_blocks, block_size, CPU, torch.float32)
    module = torch.nn.Module()
    module.layer_idx, module.scaling = 0, 123.0
    qkv = [torch.randn(1, heads, 2, 16) for heads in (2, 1, 1)]
    context = ForwardContext(cache, metadata, notice)
    assert context.attend(module, *qkv, scaling=0.7).shape == (1, 2, 2, 16)
    context.attend(module, *qkv, scaling=None)
    assert scales == [0.7, 0.25]

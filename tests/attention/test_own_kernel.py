"""A kernel of a learner's own in the engine."""

import numpy as np
import pytest
import torch
from numba import cuda, float32
from paged import exact, paged
from tiny import make_tiny_model

import minibatch as mb
from minibatch.attention.own_kernel import on_device

pytestmark = pytest.mark.filterwarnings("error:No GPU runs these kernels")


def definition(query, key_cache, value_cache, block_tables, seq_lens, window, scale, output):
    row, head, d = cuda.blockIdx.x, cuda.blockIdx.y, cuda.threadIdx.x
    block_size, head_dim = key_cache.shape[1], query.shape[2]
    kv_head = head // (query.shape[1] // key_cache.shape[2])
    highest, total, result = float32(-1e30), float32(0), float32(0)
    for t in range(max(0, seq_lens[row] - window), seq_lens[row]):
        block, score = block_tables[row, t // block_size], float32(0)
        for e in range(head_dim):
            score += query[row, head, e] * key_cache[block, t % block_size, kv_head, e]
        top = max(highest, score * scale)
        weight = np.exp(score * scale - top)
        shrink, highest = np.exp(highest - top), top
        total = total * shrink + weight
        result = result * shrink + weight * value_cache[block, t % block_size, kv_head, d]
    output[row, head, d] = result / total


def forgets_the_barrier(query, seq_lens, output):
    thread, tile = cuda.threadIdx.x, cuda.shared.array(32, float32)
    tile[thread] = seq_lens[0]
    output[cuda.blockIdx.x, cuda.blockIdx.y, thread] = tile[0]


@pytest.mark.parametrize("watched", [6, 0])
def test_arrays_in_more_are_on_the_device_and_changed_in_place(watched):
    def counts(query, more, step, output):
        row, head, d = cuda.blockIdx.x, cuda.blockIdx.y, cuda.threadIdx.x
        output[row, head, d] = 0
        cuda.atomic.add(more, head, step)

    counted = np.zeros(4, np.int32)
    attention = mb.attention.from_kernel(
        counts, threads=16, more=(counted, np.int64(2)), watched=watched
    )
    attention(*paged(1, [(1, 9)]).arguments)
    assert counted.tolist() == [32] * 4
    assert on_device(counted, torch.device("meta")).is_meta


@pytest.mark.parametrize("watched", [6, 0])
@pytest.mark.parametrize("decode_only", [True, False])
def test_a_kernel_of_ones_own_attends_to_rows_of_every_kind(decode_only, watched):
    case = paged(1, [(1, 9), (4, 7), (1, 1)])
    attention = mb.attention.from_kernel(
        definition, threads=16, more=(99,), decode_only=decode_only, watched=watched
    )
    got = attention(*case.arguments)
    torch.testing.assert_close(got.double(), exact(case), rtol=2e-5, atol=2e-5)
    assert len(attention.reports) == (watched > 0)
    if watched:
        assert attention.reports[0].grid == (2 if decode_only else 6, 4, 1)


def test_in_the_engine_it_answers_with_the_engines_own_tokens():
    model = make_tiny_model()
    requests = [mb.Request([5, 6, 7], max_tokens=4), mb.Request([9] * 17, max_tokens=3)]
    head_dim = model.kv_shapes[0][1]
    answers = []
    for attention in (
        "auto",
        mb.attention.from_kernel(definition, threads=head_dim, more=(99,), watched=1),
    ):
        engine = mb.Engine(model, mb.Continuous(2), attention=attention)
        answers.append([completion.token_ids for completion in engine.run(requests)])
    assert answers[0] == answers[1]


def test_what_the_lab_finds_stops_the_engine_with_the_labs_sentence():
    attention = mb.attention.from_kernel(forgets_the_barrier)
    with pytest.raises(RuntimeError, match="forgets_the_barrier, line .*: race: tile"):
        attention(*paged(1, [(1, 3)], head_dim=32).arguments)

"""Chunks of ragged batches: everything once, and no multiprocessor that works on alone at the end.

And what a step on a GPU waits for, counted through a stand-in launcher."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from paged import metadata_of, paged
from stand_in_gpu import Waits
from tiny import make_tiny_llama

import minibatch as mb
from minibatch.attention.cuda.paged_attention import PagedAttention
from minibatch.attention.cuda.work_list import (
    LEAST_LIMIT,
    most_chunks,
    plan_chunks,
)
from minibatch.plots.multiprocessors import waves_of

MULTIPROCESSORS, AT_A_TIME = 132, 4  # of an H100; thread blocks of a multiprocessor


def metadata_for(rows):
    """rows: (new tokens, length) of each; whose KV blocks they have is nobody's business here."""
    return metadata_of(rows, [[0] * length for _, length in rows], 1)


@given(
    rows=st.lists(st.integers(1, 9).flatmap(lambda n: st.tuples(st.just(n), st.integers(n, 3000)))),
    together=st.sampled_from([1, 2, 4, 8]),
    num_places=st.sampled_from([1, 7, 66]),
    kernel=st.sampled_from(["auto", "tiled", "split"]),
)
def test_every_token_sees_all_of_its_context_once(rows, together, num_places, kernel):
    if not rows:
        return
    metadata = metadata_for(rows)
    work = plan_chunks(metadata, range(len(rows)), together, num_places, kernel)
    assert work.chunks.dtype == work.merges.dtype == np.int32
    assert sorted(work.merges[:, 0]) == list(range(len(metadata.positions)))
    for token, place, first, last in work.merges.tolist():
        at = 0
        for row, first_token, number, begin, end in work.chunks[first:last].tolist():
            assert row == metadata.token_rows[token]
            assert token == first_token + place
            assert place < number <= together
            assert begin == at < end
            at = end
        assert at > metadata.positions[token]
    if kernel == "tiled":
        assert not work.is_split


@given(
    lengths=st.lists(st.integers(1, 3000), min_size=1, max_size=20),
    num_places=st.sampled_from([0, 1, 7, 66]),
    kernel=st.sampled_from(["auto", "tiled", "split"]),
)
def test_there_is_room_for_any_work_list_of_so_many_rows(lengths, num_places, kernel):
    metadata = metadata_for([(1, length) for length in lengths])
    work = plan_chunks(metadata, range(len(lengths)), 1, num_places, kernel)
    most = most_chunks(len(lengths), max(lengths), num_places, kernel)
    assert len(work.chunks) <= most
    assert len(work.merges) == len(lengths)
    assert most <= most_chunks(len(lengths) + 1, max(lengths), num_places, kernel)


RAGGED = {
    "one long row among 63 short ones": [512] * 63 + [32_768],
    "one long row": [32_768],
    "64 rows of one length": [4096] * 64,
    "67 rows of one length": [4096] * 67,
    "all lengths": list(range(100, 9000, 37)),
    "two long rows among 254": [300] * 254 + [20_000] * 2,
}


@pytest.mark.parametrize("resident", [3, 4])
@pytest.mark.parametrize("kv_heads", [1, 8])
@pytest.mark.parametrize("lengths", RAGGED.values(), ids=list(RAGGED))
def test_a_ragged_batch_takes_no_longer_than_its_tokens_ask_for(lengths, kv_heads, resident):
    """On a model GPU: at most 1.3 times the time that so many tokens need, cut at will; or two of
    the smallest chunks more, for which a merge would cost too much."""
    metadata, slots = metadata_for([(1, length) for length in lengths]), MULTIPROCESSORS * resident
    work = plan_chunks(metadata, range(len(lengths)), 1, slots // kv_heads, "auto")
    costs = [end - begin for *_, begin, end in work.chunks.tolist() for _ in range(kv_heads)]
    waves = waves_of(costs, slots)
    assert waves.makespan <= max(1.3 * waves.ideal, waves.ideal + 2 * LEAST_LIMIT)


@pytest.mark.parametrize("places", [49, 66])
def test_a_long_row_alone_gives_one_chunk_to_each_place(places):
    """Group 8 and group 4, 8 KV heads, on an H100: one wave, and no more chunks to merge."""
    work = plan_chunks(metadata_for([(1, 32_768)]), [0], 1, places, "auto")
    assert len(work.chunks) == places


def test_a_long_row_of_one_kv_head_has_more_thread_blocks_than_there_are_multiprocessors():
    work = plan_chunks(metadata_for([(1, 32_768)]), [0], 1, MULTIPROCESSORS * AT_A_TIME, "auto")
    assert len(work.chunks) == 256


def test_many_short_rows_are_not_cut():
    metadata = metadata_for([(1, 500)] * 600)
    assert not plan_chunks(
        metadata, range(600), 1, MULTIPROCESSORS * AT_A_TIME // 8, "auto"
    ).is_split


# What a step waits for ---------------------------------------------------------------------------


class StandIn:
    """In a GPU's place: counts launches, and says 0 to everything."""

    num_multiprocessors, compute_capability, num_threads = 132, (9, 0), 128

    def __init__(self):
        self.launches = []

    def launch(self, kernel, grid, num_threads, *arguments):
        self.launches.append(kernel.__name__)
        for array in arguments:
            if isinstance(array, torch.Tensor) and array.is_floating_point():
                array.zero_()  # an output's memory would hold anything


def test_the_layers_of_a_step_share_one_plan():
    case, launcher = paged(1, [(1, 9), (3, 20)]), StandIn()
    attention = PagedAttention("tiled", launcher)
    attention(*case.arguments)
    case.metadata.rows = None  # the first layer has read them
    attention(*case.arguments)
    assert launcher.launches == ["paged_attention_tiled"] * 2


def test_a_decode_step_waits_for_nothing_but_the_sampled_tokens():
    launcher, waits = StandIn(), Waits()
    model = mb.Model(make_tiny_llama(hidden_size=64))  # head_dim 16: the kernels take it
    engine = mb.Engine(model, mb.Continuous(4), attention=PagedAttention("auto", launcher))
    for prompt in ([2, 7], [4, 7, 9], [5] * 40):
        engine.add(mb.Request(prompt, max_tokens=9, ignore_eos=True))
    engine.step()  # the prompts
    for _ in range(3):
        launcher.launches.clear()
        waits.seen.clear()
        with waits:
            engine.step()
        assert waits.seen == {"tolist": 1}
        assert launcher.launches == ["write_kv", "paged_attention_tiled"] * 2  # of each layer

"""The checks can fail: the engine is broken on purpose, and the check named beside it sees it.

same tokens   an answer differs from `generate`'s, or from the sample decoded alone
invariants    `check_invariants` finds books that do not add up
refusal       the engine itself refuses to go on
"""

import math

import pytest
from oracle import assert_same_sample, assert_same_tokens, generate, sample

import minibatch as mb
from minibatch.attention import metadata
from minibatch.attention.gather_sdpa import gather_sdpa_attention
from minibatch.core.request import Sequence
from minibatch.engine.engine import Engine
from minibatch.memory.kv_cache import KVCache
from minibatch.model import runner, sampling
from minibatch.schedulers import Continuous, Scheduler

build_metadata = metadata.build_metadata


class WrongTokens(AssertionError):
    """The check "same tokens" has failed."""


class Fault(Exception):
    pass


CAUGHT = {
    "same tokens": (WrongTokens, "alone|generate gives"),
    "invariants": (mb.InvariantError, "block|request"),
    "refusal": ((ValueError, IndexError), "blocks|finished|out of bounds"),
}


# What is run ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def bank(tiny_model):
    """Greedy and sampled requests, and their answers decoded alone, before anything is broken."""
    ways = [{}, {"temperature": 4.0, "seed": 11}, {}, {"temperature": 4.0, "top_k": 30, "seed": 12}]
    requests = [
        mb.Request(
            [(37 * i + 11 * k) % 126 + 2 for k in range(prompt)],
            max_tokens=answer,
            request_id=f"r{i}",
            **ways[i % 4],
        )
        for i, (prompt, answer) in enumerate([(9, 12), (5, 3), (14, 8), (3, 12), (11, 4), (6, 9)])
    ]
    return [(r, (sample if r.temperature else generate)(tiny_model, r)) for r in requests]


def compare(model, bank, completions):
    answers = {completion.request_id: completion.token_ids for completion in completions}
    for request, expected in bank:
        check = assert_same_sample if request.temperature else assert_same_tokens
        try:
            check(model, request, answers[request.request_id], expected)
        except AssertionError as error:
            raise WrongTokens(str(error)) from error


def serve(model, bank, scheduler, num_blocks=64, attention="gather"):
    engine = mb.Engine(
        model,
        scheduler,
        num_blocks=num_blocks,
        block_size=4,
        attention=attention,
        clock=mb.VirtualClock(),
    )
    for request, _ in bank:
        engine.add(request)
    for _ in range(500):
        if not engine.has_work:
            break
        try:
            engine.step()
        except Fault:
            engine.check_invariants()
            continue
        engine.check_invariants()
    compare(model, bank, engine.trace.completions)


def continuous(model, bank):
    serve(model, bank, mb.Continuous(max_batch_size=3))


def chunked(model, bank):
    serve(model, bank, mb.Continuous(max_batch_size=3, max_batch_tokens=5))


def tight(model, bank):
    serve(model, bank, mb.Continuous(max_batch_size=3), num_blocks=7)


def static(model, bank):
    serve(model, bank, mb.Static(max_batch_size=3))


def faulty(model, bank):
    """Continuous, with a fault in the second layer of every fourth step."""
    calls = iter(range(10**9))

    def attention(*arguments):
        if next(calls) % 9 == 7:
            raise Fault
        return gather_sdpa_attention(*arguments)

    serve(model, bank, mb.Continuous(max_batch_size=3), attention=attention)


# How it is broken -----------------------------------------------------------------------------


def forgets_to_free(patch):
    def release(self, sequence):
        self.running.remove(sequence)
        sequence.block_table = []

    patch.setattr(Scheduler, "release", release)


def frees_a_block_too_few(patch):
    def release(self, sequence):
        self.running.remove(sequence)
        self.pool.free(sequence.block_table[1:])
        sequence.block_table = []

    patch.setattr(Scheduler, "release", release)


def hands_a_block_to_two(patch):
    original = mb.BlockPool.allocate

    def allocate(self, num_blocks):
        taken = original(self, num_blocks)
        return [0 if block == 3 else block for block in taken]

    patch.setattr(mb.BlockPool, "allocate", allocate)


def needs_one_block_too_few(patch):
    def num_new_blocks(self, num_tokens, block_size):
        blocks = math.ceil((self.num_computed_tokens + num_tokens - 1) / block_size)
        return max(0, blocks - len(self.block_table))

    patch.setattr(Sequence, "num_new_blocks", num_new_blocks)


def slots_off_at_a_block_border(patch):
    original = metadata.slot_mapping

    def slot_mapping(block_table, positions, block_size):
        """The first token of each block but the first goes to the end of the block before."""
        border = (positions % block_size == 0) & (positions > 0)
        return original(block_table, positions - border, block_size)

    patch.setattr(metadata, "slot_mapping", slot_mapping)


def changes_metadata(patch, change):
    def build(plan, block_size, scratch_slot, device):
        input_ids, data = build_metadata(plan, block_size, scratch_slot, device)
        change(plan, data)
        return input_ids, data

    patch.setattr(runner, "build_metadata", build)


def decodes_one_position_too_far(patch):
    def change(plan, data):
        for row, (start, end, _) in zip(plan.rows, data.rows, strict=True):
            if row.sequence.num_computed_tokens:
                data.positions[start:end] += 1

    changes_metadata(patch, change)


def pads_overwrite_another_request(patch):
    original = KVCache.__init__

    def init(self, *arguments):
        original(self, *arguments)
        self.scratch_slot = 0

    patch.setattr(KVCache, "__init__", init)


def pads_are_attended_to(patch):
    """As if a short prompt stood behind its padding, and no mask hid that."""

    def change(plan, data):
        rows = []
        for row, (start, end, seq_len) in zip(plan.rows, data.rows, strict=True):
            capacity = 4 * len(row.sequence.block_table)
            data.positions[start:end] += row.num_padding_tokens
            rows.append((start, end, min(seq_len + row.num_padding_tokens, capacity)))
        data.rows = rows

    changes_metadata(patch, change)


def attends_to_one_token_too_few(patch):
    def change(plan, data):
        data.rows = [
            (start, end, seq_len - 1 if end - start == 1 else seq_len)
            for start, end, seq_len in data.rows
        ]

    changes_metadata(patch, change)


def preemption_keeps_the_counter(patch):
    def preempt(self, sequence):
        self.release(sequence)
        self.waiting.appendleft(sequence)

    patch.setattr(Continuous, "preempt", preempt)


def preemption_drops_the_last_token(patch):
    original = Continuous.preempt

    def preempt(self, sequence):
        original(self, sequence)
        if sequence.num_output_tokens > 1:
            sequence.token_ids[-2:] = sequence.token_ids[-1:]

    patch.setattr(Continuous, "preempt", preempt)


def the_finished_stay(patch):
    patch.setattr(Scheduler, "retire", lambda self, finished: None)


def draws_the_same_number_every_time(patch):
    original = sampling.uniform
    patch.setattr(sampling, "uniform", lambda seed, position: original(seed, 0))


def draws_by_row_and_not_by_seed(patch):
    def sample_by_row(logits, sequences, ahead):
        tokens = logits.argmax(dim=-1).tolist()
        for i, s in enumerate(sequences):
            if s.request.temperature:
                draw = sampling.uniform(i, s.num_output_tokens)
                tokens[i] = sampling.pick(
                    logits[i], draw, s.request.temperature, s.request.top_k, s.request.top_p
                )
        return tokens

    patch.setattr(runner, "sample", sample_by_row)


def swaps_the_rows(patch):
    original = runner.sample
    patch.setattr(runner, "sample", lambda logits, *more: original(logits.flip(0), *more))


def a_finished_request_stays_live(patch):
    patch.setattr(Engine, "_complete", lambda self, sequences: sum(1 for _ in sequences))


BREAKS = [
    (forgets_to_free, continuous, "invariants"),
    (frees_a_block_too_few, static, "invariants"),
    (hands_a_block_to_two, continuous, "invariants"),
    (needs_one_block_too_few, continuous, "refusal"),
    (slots_off_at_a_block_border, continuous, "same tokens"),
    (slots_off_at_a_block_border, chunked, "same tokens"),
    (decodes_one_position_too_far, continuous, "same tokens"),
    (decodes_one_position_too_far, chunked, "same tokens"),
    (attends_to_one_token_too_few, continuous, "same tokens"),
    (preemption_keeps_the_counter, tight, "invariants"),
    (preemption_drops_the_last_token, tight, "same tokens"),
    (the_finished_stay, continuous, "refusal"),
    (pads_overwrite_another_request, static, "same tokens"),
    (pads_are_attended_to, static, "same tokens"),
    (draws_the_same_number_every_time, continuous, "same tokens"),
    (draws_by_row_and_not_by_seed, static, "same tokens"),
    (swaps_the_rows, continuous, "same tokens"),
    (a_finished_request_stays_live, continuous, "invariants"),
]


@pytest.mark.parametrize("workload", [continuous, chunked, tight, static, faulty])
def test_the_whole_engine_passes_every_check(tiny_model, bank, workload):
    workload(tiny_model, bank)


@pytest.mark.parametrize(
    ("break_it", "workload", "check"),
    BREAKS,
    ids=[f"{b.__name__}-{w.__name__}-{c.replace(' ', '_')}" for b, w, c in BREAKS],
)
def test_a_broken_engine_is_caught(tiny_model, bank, monkeypatch, break_it, workload, check):
    break_it(monkeypatch)
    error, says = CAUGHT[check]
    with pytest.raises(error, match=says):
        workload(tiny_model, bank)

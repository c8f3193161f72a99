"""Request, Sequence, Completion: what is accepted, what is counted, when an answer ends."""

import math

import numpy as np
import pytest
import torch
from by_hand import make_sequence
from hypothesis import given
from hypothesis import strategies as st

import minibatch as mb


def test_a_prompt_may_be_any_sequence_of_integers():
    for prompt in ([1, 2], (1, 2), np.array([1, 2]), torch.tensor([1, 2]), range(1, 3)):
        request = mb.Request(prompt)
        assert request.prompt == [1, 2]
        assert all(type(token_id) is int for token_id in request.prompt)


def test_the_prompt_is_copied_so_that_later_changes_do_not_reach_the_engine():
    prompt = [1, 2]
    request = mb.Request(prompt)
    prompt.append(3)
    assert request.prompt == [1, 2]


def test_a_text_prompt_stays_text_until_the_model_encodes_it():
    assert mb.Request("Lisbon").prompt == "Lisbon"


def test_everything_but_the_prompt_is_given_by_name():
    with pytest.raises(TypeError):
        mb.Request([1], 5)


@pytest.mark.parametrize(
    ("arguments", "error", "says"),
    [
        ({"prompt": []}, ValueError, "prompt is empty"),
        ({"prompt": ""}, ValueError, "prompt is empty"),
        ({"prompt": [1, 2.5]}, TypeError, r"prompt\[1\] is 2\.5"),
        ({"prompt": [1, "2"]}, TypeError, r"prompt\[1\] is '2'"),
        ({"prompt": [True]}, TypeError, r"prompt\[0\] is True"),
        ({"prompt": 7}, TypeError, "prompt is a int"),
        ({"prompt": None}, TypeError, "prompt is a NoneType"),
        ({"max_tokens": 0}, ValueError, "max_tokens is 0; it must be 1"),
        ({"max_tokens": -3}, ValueError, "max_tokens is -3"),
        ({"max_tokens": 2.5}, TypeError, r"max_tokens is 2\.5"),
        ({"temperature": math.nan}, ValueError, "temperature is nan"),
        ({"temperature": math.inf}, ValueError, "temperature is inf"),
        ({"temperature": -0.5}, ValueError, r"temperature is -0\.5"),
        ({"top_p": 0.0}, ValueError, r"top_p is 0\.0"),
        ({"top_p": 1.5}, ValueError, r"top_p is 1\.5"),
        ({"top_p": -0.1}, ValueError, r"top_p is -0\.1"),
        ({"top_p": math.nan}, ValueError, "top_p is nan"),
        ({"top_k": -2}, ValueError, "top_k is -2"),
        ({"top_k": 1.0}, TypeError, r"top_k is 1\.0"),
        ({"seed": -1}, ValueError, "seed is -1"),
        ({"seed": 0.5}, TypeError, r"seed is 0\.5"),
        ({"arrival_time": -1.0}, ValueError, r"arrival_time is -1\.0"),
        ({"arrival_time": math.nan}, ValueError, "arrival_time is nan"),
        ({"arrival_time": math.inf}, ValueError, "arrival_time is inf"),
        ({"stop_token_ids": [1.5]}, TypeError, r"stop_token_ids\[0\] is 1\.5"),
        ({"stop_token_ids": 3}, TypeError, "stop_token_ids is a int"),
        ({"request_id": ""}, ValueError, "request_id is ''; give some text, or None"),
        ({"request_id": 7}, ValueError, "request_id is 7"),
    ],
)
def test_a_request_out_of_range_is_refused_with_the_value(arguments, error, says):
    with pytest.raises(error, match=says):
        mb.Request(**{"prompt": [1]} | arguments)


def test_top_k_may_be_switched_off_as_elsewhere():
    assert mb.Request([1], top_k=-1).top_k == mb.Request([1], top_k=0).top_k == 0


def test_tokens_are_counted_from_the_end_of_the_prompt():
    sequence = make_sequence(num_prompt_tokens=3, max_tokens=4)
    assert (sequence.num_tokens, sequence.num_output_tokens, sequence.max_num_tokens) == (3, 0, 6)
    assert sequence.num_uncomputed_tokens == 3
    sequence.advance(3, [9], now=1.0)
    assert (sequence.num_tokens, sequence.num_output_tokens, sequence.max_num_tokens) == (4, 1, 6)
    assert sequence.num_uncomputed_tokens == 1


def test_a_sequence_ends_at_its_longest_answer():
    sequence = make_sequence(max_tokens=2)
    sequence.advance(1, [9], now=1.0)
    assert not sequence.is_finished
    sequence.advance(1, [9], now=2.0)
    assert sequence.finish_reason == "length"
    assert sequence.finish_time == 2.0
    assert sequence.token_times == [1.0, 2.0]


def test_a_stop_token_ends_a_sequence_and_stays_in_it():
    sequence = make_sequence(max_tokens=5, stops=[9])
    sequence.advance(1, [8], now=1.0)
    sequence.advance(1, [9], now=2.0)
    assert sequence.finish_reason == "stop"
    assert sequence.token_ids[-1] == 9


def test_a_stop_token_in_the_last_place_counts_as_stop():
    sequence = make_sequence(max_tokens=1, stops=[9])
    sequence.advance(1, [9], now=1.0)
    assert sequence.finish_reason == "stop"


def test_several_tokens_come_back_at_once():
    sequence = make_sequence(num_prompt_tokens=3, max_tokens=9)
    sequence.advance(3, [9], now=1.0)
    sequence.advance(1, [8, 7, 6], now=2.0)
    assert sequence.token_ids[3:] == [9, 8, 7, 6]
    assert sequence.token_times == [1.0, 2.0, 2.0, 2.0]
    assert sequence.num_uncomputed_tokens == 1


@pytest.mark.parametrize(
    ("tokens", "kept", "reason"),
    [([8, 1, 6], [8, 1], "stop"), ([8, 7, 6], [8, 7], "length"), ([8, 7], [8, 7], "length")],
)
def test_what_comes_after_the_end_is_dropped(tokens, kept, reason):
    sequence = make_sequence(num_prompt_tokens=3, max_tokens=3, stops=[1])
    sequence.advance(3, [9], now=1.0)
    sequence.advance(1, tokens, now=2.0)
    assert (sequence.token_ids[4:], sequence.finish_reason) == (kept, reason)
    assert sequence.num_computed_tokens == sequence.num_tokens - 1
    assert len(sequence.token_times) == sequence.num_output_tokens


def test_a_request_cannot_be_changed():
    request = mb.Request([1], max_tokens=3)
    with pytest.raises(AttributeError):
        request.max_tokens = 4


@given(
    computed=st.integers(0, 300),
    n=st.integers(0, 300),
    held=st.integers(0, 80),
    block_size=st.integers(1, 64),
)
def test_new_blocks_are_the_fewest_that_hold_every_token(computed, n, held, block_size):
    sequence = make_sequence()
    sequence.num_computed_tokens = computed
    sequence.block_table = list(range(held))
    new = sequence.num_new_blocks(n, block_size)
    assert new >= 0
    assert (held + new) * block_size >= computed + n
    assert new == 0 or (held + new - 1) * block_size < computed + n


def make_completion(token_times, arrival_time=1.0, finish_time=None):
    return mb.Completion(
        request_id="A",
        prompt_token_ids=[5],
        token_ids=[7] * len(token_times),
        text="",
        finish_reason="length" if token_times else "abort",
        arrival_time=arrival_time,
        first_scheduled_time=1.5 if token_times else None,
        first_token_time=token_times[0] if token_times else None,
        finish_time=token_times[-1] if finish_time is None else finish_time,
        token_times=token_times,
    )


def test_latencies_count_from_arrival():
    completion = make_completion([2.0, 2.5, 4.0], arrival_time=1.0)
    assert completion.ttft == 1.0
    assert completion.e2e == 3.0
    assert completion.tpot == 1.0  # (3.0 - 1.0) / 2


def test_one_token_has_no_time_between_tokens():
    completion = make_completion([2.0])
    assert completion.tpot is None
    assert completion.ttft == completion.e2e == 1.0


def test_a_completion_without_a_token_has_no_first_token_time():
    completion = make_completion([], finish_time=3.0)
    assert completion.ttft is None
    assert completion.tpot is None
    assert completion.e2e == 2.0


def test_a_completion_cannot_be_changed():
    with pytest.raises(AttributeError):
        make_completion([2.0]).text = "other"

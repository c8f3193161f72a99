"""Row and StepPlan: what a row amounts to, and every plan that is refused."""

import pytest
from by_hand import make_sequence

import minibatch as mb

BLOCK_SIZE = 4


def planned(computed=0, blocks=1, num_prompt_tokens=3, num_output_tokens=0, **kwargs):
    """A sequence that stands at `computed`, holding this many blocks."""
    sequence = make_sequence(num_prompt_tokens=num_prompt_tokens, max_tokens=9, **kwargs)
    sequence.token_ids += [7] * num_output_tokens
    sequence.num_computed_tokens = computed
    sequence.block_table = list(range(blocks))
    return sequence


def refused(rows, says):
    with pytest.raises(ValueError, match=says):
        mb.StepPlan(rows).check(BLOCK_SIZE)


def test_a_row_attends_to_what_is_computed_and_what_it_computes():
    assert mb.Row(planned(computed=3, num_output_tokens=1), 1).seq_len == 4


def test_a_row_reaches_the_end_only_with_the_newest_token():
    sequence = planned(num_prompt_tokens=5, blocks=2)
    assert mb.Row(sequence, 5).reaches_end
    assert not mb.Row(sequence, 4).reaches_end


def test_a_padding_row_never_reaches_the_end():
    sequence = planned(computed=3)
    assert not mb.Row(sequence, 0, 2).reaches_end


def test_a_good_plan_passes():
    first, second = planned(), planned(computed=3, num_output_tokens=1, name="B")
    mb.StepPlan([mb.Row(first, 3, 1), mb.Row(second, 1, 3)]).check(BLOCK_SIZE)


def test_an_empty_plan_passes():
    mb.StepPlan(wake_at=1.0).check(BLOCK_SIZE)


def test_a_finished_sequence_may_pad():
    sequence = planned(computed=3, num_output_tokens=1)
    sequence.abort_time = 0.0
    mb.StepPlan([mb.Row(sequence, 0, 1)]).check(BLOCK_SIZE)


def test_two_rows_of_one_request_are_refused():
    sequence = planned()
    refused([mb.Row(sequence, 1), mb.Row(sequence, 2)], "'A' has two rows in one plan")


def test_negative_tokens_are_refused():
    refused([mb.Row(planned(computed=3, num_output_tokens=1), -1)], "a row of -1 tokens and 0")


def test_negative_padding_is_refused():
    refused([mb.Row(planned(), 3, -2)], "3 tokens and -2 padding tokens")


def test_padding_over_nothing_is_refused():
    refused(
        [mb.Row(planned(), 0, 3)],
        "at least 1 token if the request has no",
    )


def test_an_empty_row_is_refused():
    refused([mb.Row(planned(computed=3, num_output_tokens=1), 0)], "'A' has an empty row")


def test_tokens_for_a_finished_sequence_are_refused():
    sequence = planned(computed=3, num_output_tokens=1)
    sequence.abort_time = 0.0
    refused([mb.Row(sequence, 1)], "'A' has finished")


def test_more_tokens_than_are_left_are_refused():
    refused([mb.Row(planned(), 4)], "4 tokens planned, only 3 are left")


def test_too_few_blocks_are_refused_with_their_numbers():
    sequence = planned(num_prompt_tokens=9, blocks=1)
    refused([mb.Row(sequence, 9)], "for 9 tokens .KV blocks of 4: 1 there, 2 missing")


def test_a_refused_plan_is_named_by_its_request_among_good_ones():
    refused([mb.Row(planned(), 3), mb.Row(planned(name="B"), 4)], "request 'B'")

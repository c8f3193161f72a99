"""Leaves it to minibatch.

caught by: test_it_is_a_rectangle_of_whole_numbers
code: answer_is_withheld
"""

from minibatch.model.rectangle import left_padded


def pad_batch(prompts, pad_token_id):
    return left_padded(prompts, pad_token_id)

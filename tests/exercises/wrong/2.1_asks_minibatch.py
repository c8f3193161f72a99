"""Leaves it to minibatch.

caught by: test_the_padding_is_on_the_left
says: is what this exercise asks for
"""

from minibatch.model.rectangle import left_padded


def pad_batch(prompts, pad_token_id):
    return left_padded(prompts, pad_token_id)

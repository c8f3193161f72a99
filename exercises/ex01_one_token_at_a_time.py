"""Exercises of lesson 01: what a token costs.

Change none of your arguments: the caller still uses them.

Save this file, then press Check on its card in the lesson, or run `python -m minibatch grade 1.1`.
"""

import torch


# ---------------------------------------------------------------------------------------------
# Exercise 1.1: Bytes of a token in the cache
# 1 point, 5 minutes, difficulty 1 of 5
# lessons/01_one_token_at_a_time.ipynb, "Why a cache"
#
# How many bytes of K and V does one token keep in the cache, in all layers together?
# ---------------------------------------------------------------------------------------------
def kv_bytes_per_token(
    num_layers: int,
    num_query_heads: int,
    num_kv_heads: int,
    head_dim: int,
    bytes_per_number: int,
) -> int:
    """Bytes of K and V that one token adds to the cache.

    Example: a smaller model: `kv_bytes_per_token(2, 4, 1, 8, 2)` is 64.
    """
    # YOUR CODE for Exercise 1.1 begins here
    raise NotImplementedError("Exercise 1.1: Bytes of a token in the cache: not written yet")
    # YOUR CODE for Exercise 1.1 ends here


# ---------------------------------------------------------------------------------------------
# Exercise 1.2: Bytes that a decode step reads
# 2 points, 10 minutes, difficulty 2 of 5
# lessons/01_one_token_at_a_time.ipynb, "What a decode step has to do"
#
# A decode step generates one token for each of `batch_size` sequences, each with `context` tokens
# in the cache. What is the smallest number of bytes that the step must read? Return an exact int,
# without floats.
# ---------------------------------------------------------------------------------------------
def decode_step_bytes(
    num_weights: int,
    bytes_per_number: int,
    kv_bytes_per_token: int,
    batch_size: int,
    context: int,
) -> int:
    """Bytes that one decode step must bring from memory.

    Example: 1,000 weights of 2 bytes, 10 bytes of K and V a token, 3 rows of 100 tokens:
    decode_step_bytes(1000, 2, 10, 3, 100) is 2,000 + 3,000 = 5,000.
    """
    # YOUR CODE for Exercise 1.2 begins here
    raise NotImplementedError("Exercise 1.2: Bytes that a decode step reads: not written yet")
    # YOUR CODE for Exercise 1.2 ends here


# ---------------------------------------------------------------------------------------------
# Exercise 1.3: Operations of a decode step
# 2 points, 10 minutes, difficulty 2 of 5
# lessons/01_one_token_at_a_time.ipynb, "What a decode step has to do"
#
# How many operations (FLOPs) does a decode step compute? Each weight is multiplied and added once
# for each row. In attention, in each layer, each query head compares its query with the key of
# every token of the context: `head_dim` multiplications and `head_dim` additions for each token.
# Then the head adds up the values of these tokens: the same number of operations again.
# ---------------------------------------------------------------------------------------------
def decode_step_flops(
    num_weights: int,
    num_layers: int,
    num_query_heads: int,
    head_dim: int,
    batch_size: int,
    context: int,
) -> int:
    """Floating-point operations of one decode step.

    Example: 1,000 weights, 2 layers, 4 query heads of 8, 3 rows with 10 tokens of context:
    decode_step_flops(1000, 2, 4, 8, 3, 10) is 3 * (2,000 + 2,560) = 13,680.
    """
    # YOUR CODE for Exercise 1.3 begins here
    raise NotImplementedError("Exercise 1.3: Operations of a decode step: not written yet")
    # YOUR CODE for Exercise 1.3 ends here


# ---------------------------------------------------------------------------------------------
# Exercise 1.4: A greedy loop with a cache
# 5 points, 25 minutes, difficulty 3 of 5
# lessons/01_one_token_at_a_time.ipynb, "Why a cache"
#
# Let the model continue a prompt greedily: always take the token with the highest logit. Give the
# model the whole prompt once; after that, give it only the newest token, with the cache. Stop after
# the end token, which belongs to the answer, or after `max_tokens` tokens (at least 1). Your
# function must work for prompts of every length up to the model's limit. It is called for many
# prompts, and every call begins without a cache.
#
#     out = model(input_ids, past_key_values=cache, use_cache=True)
#     out.logits            float [1, tokens of input_ids, vocabulary]
#     out.past_key_values   the cache for the next call; the first call gets None
#
# input_ids is an int64 tensor of shape [1, tokens], on model.device, which may be any device. Do
# not change the dtype of the logits before you compare them: two logits may be nearly equal.
# ---------------------------------------------------------------------------------------------
def greedy_decode(
    model: torch.nn.Module, prompt_token_ids: list[int], max_tokens: int, end_token_id: int
) -> list[int]:
    """The tokens that continue the prompt, without the prompt.

    Example: If the model generates 7, 8 and 1 after [5, 6], and 1 is the end token:
    greedy_decode(model, [5, 6], max_tokens=10, end_token_id=1) is [7, 8, 1].
    """
    # YOUR CODE for Exercise 1.4 begins here
    raise NotImplementedError("Exercise 1.4: A greedy loop with a cache: not written yet")
    # YOUR CODE for Exercise 1.4 ends here

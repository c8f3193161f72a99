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
#
# HINT Every layer keeps a key and a value for the token: two vectors for each head that has its own
#      keys and values.
# HINT Query heads share the keys and values of KV heads; query heads store none themselves. So you
#      do not need one of the arguments.
# HINT 2 (K and V) * layers * KV heads * head_dim * bytes of a number
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
    # BEGIN SOLUTION
    return 2 * num_layers * num_kv_heads * head_dim * bytes_per_number
    # END SOLUTION


# ---------------------------------------------------------------------------------------------
# Exercise 1.2: Bytes that a decode step reads
# 2 points, 10 minutes, difficulty 2 of 5
# lessons/01_one_token_at_a_time.ipynb, "What a decode step has to do"
#
# A decode step generates one token for each of `batch_size` sequences, each with `context` tokens
# in the cache. What is the smallest number of bytes that the step must read? Return an exact int,
# without floats.
#
# HINT There are two kinds of bytes: the weights, and K and V. Which kind must be read again for a
#      second row?
# HINT The weights are read once, for all rows. But each row reads its own K and V, of every token
#      of its context.
# HINT weights * bytes of a number + rows * tokens of context * bytes of K and V of a token
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
    # BEGIN SOLUTION
    return num_weights * bytes_per_number + batch_size * context * kv_bytes_per_token
    # END SOLUTION


# ---------------------------------------------------------------------------------------------
# Exercise 1.3: Operations of a decode step
# 2 points, 10 minutes, difficulty 2 of 5
# lessons/01_one_token_at_a_time.ipynb, "What a decode step has to do"
#
# How many operations (FLOPs) does a decode step compute? Each weight is multiplied and added once
# for each row. In attention, in each layer, each query head compares its query with the key of
# every token of the context: `head_dim` multiplications and `head_dim` additions for each token.
# Then the head adds up the values of these tokens: the same number of operations again.
#
# HINT A weight is read once for all rows, but each row multiplies with it.
# HINT Each weight takes two operations per row. In attention, the comparison with one token takes
#      2 * head_dim operations, and its value takes 2 * head_dim more.
# HINT batch_size * (2 * num_weights + 4 * layers * query heads * head_dim * context)
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
    # BEGIN SOLUTION
    attention = 4 * num_layers * num_query_heads * head_dim * context
    return batch_size * (2 * num_weights + attention)
    # END SOLUTION


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
#
# HINT The last row of logits, out.logits[0, -1], predicts the token after the last token
#      of input_ids. argmax() gives this token.
# HINT The prefill already gives the first token. So an answer of n tokens takes n passes: one pass
#      reads the prompt, and n - 1 passes read a single token each. No pass reads the answer's
#      last token.
# HINT new, cache, answer = prompt_token_ids, None, []
#      while len(answer) < max_tokens:
#          ids = torch.tensor([new], device=model.device)
#          out = model(ids, past_key_values=cache, use_cache=True)
#          ...  # the next token: append it, stop if it is the end token
#          new, cache = [token], out.past_key_values
# ---------------------------------------------------------------------------------------------
def greedy_decode(
    model: torch.nn.Module, prompt_token_ids: list[int], max_tokens: int, end_token_id: int
) -> list[int]:
    """The tokens that continue the prompt, without the prompt.

    Example: If the model generates 7, 8 and 1 after [5, 6], and 1 is the end token:
    greedy_decode(model, [5, 6], max_tokens=10, end_token_id=1) is [7, 8, 1].
    """
    # BEGIN SOLUTION
    new, cache, answer = prompt_token_ids, None, []
    while len(answer) < max_tokens:
        ids = torch.tensor([new], device=model.device)
        out = model(ids, past_key_values=cache, use_cache=True)
        token = int(out.logits[0, -1].argmax())
        answer.append(token)
        if token == end_token_id:
            break
        new, cache = [token], out.past_key_values
    return answer
    # END SOLUTION

"""Adds up the values once, not for each query head.

caught by: test_attention_is_four_operations_for_each_number
code: attention_once_for_all_heads
"""


def decode_step_flops(num_weights, num_layers, num_query_heads, head_dim, batch_size, context):
    attention = 2 * num_layers * context * head_dim * (num_query_heads + 1)
    return batch_size * (2 * num_weights + attention)

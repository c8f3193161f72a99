"""Adds an operation of the softmax for each score.

caught by: test_attention_is_four_operations_for_each_number
code: softmax_counted
"""


def decode_step_flops(num_weights, num_layers, num_query_heads, head_dim, batch_size, context):
    attention = num_layers * num_query_heads * (4 * head_dim + 1) * context
    return batch_size * (2 * num_weights + attention)

"""Takes a decode step for a prefill.

caught by: test_attention_is_four_operations_for_each_number
code: attention_squares_the_context
"""


def decode_step_flops(num_weights, num_layers, num_query_heads, head_dim, batch_size, context):
    attention = 4 * num_layers * num_query_heads * head_dim * context * context
    return batch_size * (2 * num_weights + attention)

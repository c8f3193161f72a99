"""Forgets that the values are added up too.

caught by: test_attention_is_four_operations_for_each_number
code: other_operations_of_one_row
"""


def decode_step_flops(num_weights, num_layers, num_query_heads, head_dim, batch_size, context):
    attention = 2 * num_layers * num_query_heads * head_dim * context
    return batch_size * (2 * num_weights + attention)

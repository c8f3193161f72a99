"""Counts a multiplication and forgets the addition.

caught by: test_a_weight_is_two_operations_for_each_row
code: one_operation_a_weight
"""


def decode_step_flops(num_weights, num_layers, num_query_heads, head_dim, batch_size, context):
    attention = 4 * num_layers * num_query_heads * head_dim * context
    return batch_size * (num_weights + attention)

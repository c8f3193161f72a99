"""Takes shared reading for shared arithmetic.

caught by: test_a_weight_is_two_operations_for_each_row
code: weights_of_one_row
"""


def decode_step_flops(num_weights, num_layers, num_query_heads, head_dim, batch_size, context):
    attention = 4 * num_layers * num_query_heads * head_dim * context
    return 2 * num_weights + batch_size * attention

"""A chatbot's 6*N rule, which is for training.

caught by: test_a_weight_is_two_operations_for_each_row
code: six_operations_a_weight
"""


def decode_step_flops(num_weights, num_layers, num_query_heads, head_dim, batch_size, context):
    attention = 12 * num_layers * num_query_heads * head_dim * context
    return batch_size * (6 * num_weights + attention)

"""Counts attention in one layer.

caught by: test_it_agrees_with_minibatch_on_a_real_model
code: attention_in_one_layer
"""


def decode_step_flops(num_weights, num_layers, num_query_heads, head_dim, batch_size, context):
    attention = 4 * num_query_heads * head_dim * context
    return batch_size * (2 * num_weights + attention)

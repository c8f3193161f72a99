"""A tensor of floats counts, and rounds what is large.

caught by: test_it_agrees_with_minibatch_on_a_real_model
code: operations_rounded
"""

import torch


def decode_step_flops(num_weights, num_layers, num_query_heads, head_dim, batch_size, context):
    attention = 4 * num_layers * num_query_heads * head_dim * context
    return int(torch.tensor(float((2 * num_weights + attention) * batch_size)).item())

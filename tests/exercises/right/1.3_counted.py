"""Counts pass by pass, in loops over rows and layers."""


def decode_step_flops(num_weights, num_layers, num_query_heads, head_dim, batch_size, context):
    flops = 0
    for _row in range(batch_size):
        flops += num_weights + num_weights
        for _layer in range(num_layers):
            for multiply, add in ((head_dim, head_dim), (head_dim, head_dim)):
                flops += num_query_heads * context * (multiply + add)
    return flops

"""2*m*n*k of each matrix product."""


def decode_step_flops(num_weights, num_layers, num_query_heads, head_dim, batch_size, context):
    def matmul(m, k, n):
        return 2 * m * k * n

    qk = matmul(num_query_heads, head_dim, context)
    pv = matmul(num_query_heads, context, head_dim)
    return matmul(batch_size, num_weights, 1) + num_layers * (qk + pv) * batch_size

"""Counts as if each query head had its own, then divides by the size of a group."""


def kv_bytes_per_token(num_layers, num_query_heads, num_kv_heads, head_dim, bytes_per_number):
    group = num_query_heads // num_kv_heads
    return 2 * num_layers * num_query_heads * head_dim * bytes_per_number // group

"""Adds up layer by layer, head by head."""


def kv_bytes_per_token(num_layers, num_query_heads, num_kv_heads, head_dim, bytes_per_number):
    total = 0
    for _layer in range(num_layers):
        for _head in range(num_kv_heads):
            key = value = head_dim * bytes_per_number
            total += key + value
    return total

"""Counts one layer.

caught by: test_every_layer_keeps_its_own
code: one_layer
"""


def kv_bytes_per_token(num_layers, num_query_heads, num_kv_heads, head_dim, bytes_per_number):
    return 2 * num_kv_heads * head_dim * bytes_per_number

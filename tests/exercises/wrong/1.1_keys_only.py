"""Forgets the values.

caught by: test_a_token_has_a_key_and_a_value
code: key_or_value_only
"""


def kv_bytes_per_token(num_layers, num_query_heads, num_kv_heads, head_dim, bytes_per_number):
    return num_layers * num_kv_heads * head_dim * bytes_per_number

"""Keys are shared, and each query head has a value of its own.

caught by: test_only_the_heads_that_have_keys_and_values_count
code: keys_by_kv_head_values_by_query_head
"""


def kv_bytes_per_token(num_layers, num_query_heads, num_kv_heads, head_dim, bytes_per_number):
    return num_layers * (num_kv_heads + num_query_heads) * head_dim * bytes_per_number

"""Two query heads for each KV head, as in Wayfarer, and so 2 * heads / 2.

caught by: test_a_token_has_a_key_and_a_value
code: one_vector_for_each_query_head
"""


def kv_bytes_per_token(num_layers, num_query_heads, num_kv_heads, head_dim, bytes_per_number):
    return num_layers * num_query_heads * head_dim * bytes_per_number

"""Works with fractions, and leaves the answer a float.

caught by: test_a_token_has_a_key_and_a_value
code: float_for_a_whole_number
"""


def kv_bytes_per_token(num_layers, num_query_heads, num_kv_heads, head_dim, bytes_per_number):
    share = num_kv_heads / num_query_heads
    return 2 * num_layers * num_query_heads * share * head_dim * bytes_per_number

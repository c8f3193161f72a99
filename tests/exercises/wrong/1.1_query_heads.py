"""Takes the query heads for those that keep something.

caught by: test_only_the_heads_that_have_keys_and_values_count
code: query_heads_counted
"""


def kv_bytes_per_token(num_layers, num_query_heads, num_kv_heads, head_dim, bytes_per_number):
    return 2 * num_layers * num_query_heads * head_dim * bytes_per_number

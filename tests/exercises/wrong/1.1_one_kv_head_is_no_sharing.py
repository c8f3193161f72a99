"""Takes a single KV head for no sharing at all.

caught by: test_only_the_heads_that_have_keys_and_values_count
code: other_bytes_of_one_shared_head
"""


def kv_bytes_per_token(num_layers, num_query_heads, num_kv_heads, head_dim, bytes_per_number):
    heads = num_query_heads if num_kv_heads == 1 else num_kv_heads
    return 2 * num_layers * heads * head_dim * bytes_per_number

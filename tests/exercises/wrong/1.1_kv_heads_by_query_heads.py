"""Integer division the wrong way round: KV heads // query heads is 0 when heads are shared.

caught by: test_only_the_heads_that_have_keys_and_values_count
says: 0 as soon as heads share
"""


def kv_bytes_per_token(num_layers, num_query_heads, num_kv_heads, head_dim, bytes_per_number):
    share = num_kv_heads // num_query_heads
    return 2 * num_layers * num_query_heads * share * head_dim * bytes_per_number

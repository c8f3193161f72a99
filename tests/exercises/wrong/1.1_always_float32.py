"""Takes over the 4 bytes of the lesson's cell.

caught by: test_numbers_have_as_many_bytes_as_it_says
code: always_four_bytes
"""


def kv_bytes_per_token(num_layers, num_query_heads, num_kv_heads, head_dim, bytes_per_number):
    return 2 * num_layers * num_kv_heads * head_dim * 4

"""Halves the query heads, because two share K and V.

caught by: test_attention_is_four_operations_for_each_number
code: attention_of_half_the_heads
"""


def decode_step_flops(num_weights, num_layers, num_query_heads, head_dim, batch_size, context):
    return batch_size * (
        2 * num_weights + 4 * num_layers * (num_query_heads // 2) * head_dim * context
    )

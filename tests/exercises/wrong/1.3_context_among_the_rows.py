"""Takes context for that of all rows together and divides it.

caught by: test_each_row_attends_to_its_own_context
code: context_divided_among_rows
"""


def decode_step_flops(num_weights, num_layers, num_query_heads, head_dim, batch_size, context):
    return batch_size * (
        2 * num_weights + 4 * num_layers * num_query_heads * head_dim * (context // batch_size)
    )

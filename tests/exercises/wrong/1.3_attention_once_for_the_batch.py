"""Does attention for one row.

caught by: test_each_row_attends_to_its_own_context
code: attention_of_one_row
"""


def decode_step_flops(num_weights, num_layers, num_query_heads, head_dim, batch_size, context):
    attention = 4 * num_layers * num_query_heads * head_dim * context
    return batch_size * 2 * num_weights + attention

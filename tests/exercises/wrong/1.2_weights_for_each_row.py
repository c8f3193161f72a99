"""Reads the weights once a row.

caught by: test_they_are_read_once_for_all_rows
code: weights_read_for_each_row
"""


def decode_step_bytes(num_weights, bytes_per_number, kv_bytes_per_token, batch_size, context):
    return batch_size * (num_weights * bytes_per_number + context * kv_bytes_per_token)

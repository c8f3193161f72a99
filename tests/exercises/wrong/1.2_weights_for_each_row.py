"""Reads the weights once a row.

caught by: test_they_are_read_once_for_all_rows
says: read once, however many rows
"""


def decode_step_bytes(num_weights, bytes_per_number, kv_bytes_per_token, batch_size, context):
    return batch_size * (num_weights * bytes_per_number + context * kv_bytes_per_token)

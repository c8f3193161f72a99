"""Reads K and V once for the whole batch.

caught by: test_each_row_reads_its_own_keys_and_values
code: kv_read_once
"""


def decode_step_bytes(num_weights, bytes_per_number, kv_bytes_per_token, batch_size, context):
    return num_weights * bytes_per_number + context * kv_bytes_per_token

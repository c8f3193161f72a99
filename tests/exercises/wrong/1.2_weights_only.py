"""Forgets K and V.

caught by: test_each_row_reads_its_own_keys_and_values
code: kv_left_out
"""


def decode_step_bytes(num_weights, bytes_per_number, kv_bytes_per_token, batch_size, context):
    return num_weights * bytes_per_number

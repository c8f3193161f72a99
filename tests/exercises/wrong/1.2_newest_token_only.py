"""Reads the K and V of the newest token only.

caught by: test_each_row_reads_its_own_keys_and_values
code: kv_of_the_newest_alone
"""


def decode_step_bytes(num_weights, bytes_per_number, kv_bytes_per_token, batch_size, context):
    return num_weights * bytes_per_number + (context > 0) * batch_size * kv_bytes_per_token

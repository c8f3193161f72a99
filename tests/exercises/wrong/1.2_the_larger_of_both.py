"""Weights and cache are read at the same time.

caught by: test_each_row_reads_its_own_keys_and_values
code: larger_of_the_two
"""


def decode_step_bytes(num_weights, bytes_per_number, kv_bytes_per_token, batch_size, context):
    return max(num_weights * bytes_per_number, batch_size * context * kv_bytes_per_token)

"""Counts weights, not their bytes.

caught by: test_all_the_weights_are_read
code: weights_not_bytes
"""


def decode_step_bytes(num_weights, bytes_per_number, kv_bytes_per_token, batch_size, context):
    return num_weights + batch_size * context * kv_bytes_per_token

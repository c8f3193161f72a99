"""Takes every weight for a float32.

caught by: test_all_the_weights_are_read
says: bytes_per_number says how many
"""


def decode_step_bytes(num_weights, bytes_per_number, kv_bytes_per_token, batch_size, context):
    return 4 * num_weights + batch_size * context * kv_bytes_per_token

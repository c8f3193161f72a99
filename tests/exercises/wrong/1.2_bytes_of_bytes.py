"""Takes kv_bytes_per_token for a count of numbers.

caught by: test_each_row_reads_its_own_keys_and_values
code: kv_multiplied_by_bytes
"""


def decode_step_bytes(num_weights, bytes_per_number, kv_bytes_per_token, batch_size, context):
    return bytes_per_number * (num_weights + batch_size * context * kv_bytes_per_token)

"""Every context token reads those before it (prefill's triangle).

caught by: test_each_row_reads_its_own_keys_and_values
says: as in a prefill
"""


def decode_step_bytes(num_weights, bytes_per_number, kv_bytes_per_token, batch_size, context):
    per_row = context * (context + 1) // 2
    return num_weights * bytes_per_number + batch_size * per_row * kv_bytes_per_token

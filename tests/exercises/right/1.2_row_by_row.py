"""First row pays the weights, each row its K and V."""


def decode_step_bytes(num_weights, bytes_per_number, kv_bytes_per_token, batch_size, context):
    total = 0
    for row in range(batch_size):
        if row == 0:
            total += num_weights * bytes_per_number
        total += sum([kv_bytes_per_token] * context)
    return total

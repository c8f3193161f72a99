"""Works out bytes per token exactly, then multiplies back."""

from fractions import Fraction


def decode_step_bytes(num_weights, bytes_per_number, kv_bytes_per_token, batch_size, context):
    share = Fraction(num_weights * bytes_per_number, batch_size)
    return int((share + context * kv_bytes_per_token) * batch_size)

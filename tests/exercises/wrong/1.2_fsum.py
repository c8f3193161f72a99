"""Right, and a float of a whole number: math.fsum of a generator.

caught by: test_all_the_weights_are_read
code: float_for_a_whole_number
"""

import math
from itertools import repeat


def decode_step_bytes(num_weights, bytes_per_number, kv_bytes_per_token, batch_size, context):
    def reads():
        yield num_weights * bytes_per_number
        yield from repeat(kv_bytes_per_token * context, batch_size)

    return math.fsum(reads())

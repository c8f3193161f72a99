"""NaN, which no comparison finds wrong.

caught by: test_equal_lengths_waste_nothing
code: number_is_nan
"""


def padding_share(output_lengths, max_batch_size):
    return float("nan")

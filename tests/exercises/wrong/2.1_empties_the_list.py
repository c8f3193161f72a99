"""Cuts batches off the caller's list; then sums an empty list.

caught by: test_equal_lengths_waste_nothing
code: changes_the_callers_list
"""


def padding_share(output_lengths, max_batch_size):
    slots = 0
    while output_lengths:
        b = output_lengths[:max_batch_size]
        del output_lengths[:max_batch_size]
        slots += max(b) * len(b)
    return 1 - sum(output_lengths) / slots

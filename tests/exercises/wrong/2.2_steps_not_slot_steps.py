"""Divides by steps.

caught by: test_equal_lengths_waste_nothing
code: counts_steps
"""


def padding_share(output_lengths, max_batch_size):
    batches = [
        output_lengths[i : i + max_batch_size]
        for i in range(0, len(output_lengths), max_batch_size)
    ]
    return 1 - sum(output_lengths) / sum(max(b) for b in batches)

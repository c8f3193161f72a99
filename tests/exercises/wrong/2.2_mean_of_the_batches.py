"""Averages each batch's own share.

caught by: test_batches_are_formed_in_order
code: mean_of_batches
"""


def padding_share(output_lengths, max_batch_size):
    batches = [
        output_lengths[i : i + max_batch_size]
        for i in range(0, len(output_lengths), max_batch_size)
    ]
    return sum(1 - sum(b) / (max(b) * len(b)) for b in batches) / len(batches)

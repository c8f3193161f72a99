"""Forgets that a batch has a size.

caught by: test_batches_are_formed_in_order
code: all_in_one_batch
"""


def padding_share(output_lengths, max_batch_size):
    return 1 - sum(output_lengths) / (max(output_lengths) * len(output_lengths))

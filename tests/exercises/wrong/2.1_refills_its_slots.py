"""A slot that falls free takes the next request: continuous batching.

caught by: test_batches_are_formed_in_order
code: free_slot_is_filled
"""


def padding_share(output_lengths, max_batch_size):
    slots = [0] * min(max_batch_size, len(output_lengths))
    for length in output_lengths:
        slots[slots.index(min(slots))] += length
    return 1 - sum(output_lengths) / (max(slots) * len(slots))

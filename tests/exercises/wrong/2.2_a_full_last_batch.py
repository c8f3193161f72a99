"""Counts slots that the last, smaller batch does not have.

caught by: test_every_slot_step_counts_the_same
code: last_batch_has_all_slots
"""


def padding_share(output_lengths, max_batch_size):
    batches = [
        output_lengths[i : i + max_batch_size]
        for i in range(0, len(output_lengths), max_batch_size)
    ]
    return 1 - sum(output_lengths) / sum(max(b) * max_batch_size for b in batches)

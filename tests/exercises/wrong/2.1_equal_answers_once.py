"""A set of each batch's lengths: equal answers count once.

caught by: test_every_slot_step_counts_the_same
code: equal_answers_count_once
"""


def padding_share(output_lengths, max_batch_size):
    slots = tokens = 0
    for i in range(0, len(output_lengths), max_batch_size):
        batch = set(output_lengths[i : i + max_batch_size])
        slots += max(batch) * len(batch)
        tokens += sum(batch)
    return 1 - tokens / slots

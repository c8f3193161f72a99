"""Divides the tokens by //.

caught by: test_a_batch_runs_as_long_as_its_longest_answer
code: always_the_same_number
"""


def padding_share(output_lengths, max_batch_size):
    slot_steps = 0
    for start in range(0, len(output_lengths), max_batch_size):
        batch = output_lengths[start : start + max_batch_size]
        slot_steps += max(batch) * len(batch)
    return 1 - sum(output_lengths) // slot_steps

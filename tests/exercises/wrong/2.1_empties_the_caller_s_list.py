"""Takes the lengths out of the caller's list.

caught by: test_the_caller_keeps_its_lengths
code: changes_the_callers_list
"""


def padding_share(output_lengths, max_batch_size):
    tokens, slot_steps = sum(output_lengths), 0
    while output_lengths:
        size = min(max_batch_size, len(output_lengths))
        batch = [output_lengths.pop(0) for _ in range(size)]
        slot_steps += max(batch) * len(batch)
    return 1 - tokens / slot_steps

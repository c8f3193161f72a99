"""Answers with what is not padding.

caught by: test_equal_lengths_waste_nothing
code: share_of_tokens
"""


def padding_share(output_lengths, max_batch_size):
    batches = [
        output_lengths[i : i + max_batch_size]
        for i in range(0, len(output_lengths), max_batch_size)
    ]
    return sum(output_lengths) / sum(max(b) * len(b) for b in batches)

"""A batch runs as long as its first answer.

caught by: test_a_batch_runs_as_long_as_its_longest_answer
code: runs_to_the_first
"""


def padding_share(output_lengths, max_batch_size):
    batches = [
        output_lengths[i : i + max_batch_size]
        for i in range(0, len(output_lengths), max_batch_size)
    ]
    return 1 - sum(output_lengths) / sum(batch[0] * len(batch) for batch in batches)

"""Cuts every row into the same number of parts.

caught by: test_the_work_list_covers_every_token_once
says: is the most
"""


def plan_chunks(seq_lens, most):
    parts = max(1, sum(seq_lens) // len(seq_lens) // most)
    size = [-(-length // parts) for length in seq_lens]
    return [
        (row, begin, min(begin + size[row], length))
        for row, length in enumerate(seq_lens)
        for begin in range(0, length, size[row])
    ]

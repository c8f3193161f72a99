"""Loses what is left over.

caught by: test_the_work_list_covers_every_token_once
says: is in no chunk
"""


def plan_chunks(seq_lens, most):
    return [
        (row, i * most, (i + 1) * most)
        for row, length in enumerate(seq_lens)
        for i in range(length // most)
    ]

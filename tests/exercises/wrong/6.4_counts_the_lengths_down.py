"""Counts the caller's lengths down.

caught by: test_the_work_list_covers_every_token_once
code: changes_the_callers_list
"""


def plan_chunks(seq_lens, most):
    chunks = []
    for row in range(len(seq_lens)):
        begin = 0
        while seq_lens[row] > 0:
            size = min(most, seq_lens[row])
            chunks.append((row, begin, begin + size))
            begin += size
            seq_lens[row] -= size
    return chunks

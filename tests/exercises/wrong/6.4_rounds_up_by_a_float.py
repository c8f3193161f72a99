"""Rounds up by adding 0.99: 1,001 / 1,000 to one chunk.

caught by: test_the_work_list_covers_every_token_once
code: chunk_is_too_long
"""


def plan_chunks(seq_lens, most):
    chunks = []
    for row, length in enumerate(seq_lens):
        size = -(-length // max(1, int(length / most + 0.99)))
        chunks += [(row, begin, min(begin + size, length)) for begin in range(0, length, size)]
    return chunks

"""Chunks of a multiple of 16 tokens, fewer than allowed.

caught by: test_the_work_list_covers_every_token_once
code: too_many_chunks
"""


def plan_chunks(seq_lens, most):
    size = most if most < 16 else most // 16 * 16
    return [
        (row, begin, min(begin + size, length))
        for row, length in enumerate(seq_lens)
        for begin in range(0, length, size)
    ]

"""Longest rows first.

caught by: test_the_work_list_covers_every_token_once
code: chunks_out_of_order
"""


def plan_chunks(seq_lens, most):
    rows = sorted(range(len(seq_lens)), key=lambda row: -seq_lens[row])
    return [
        (row, begin, min(begin + most, seq_lens[row]))
        for row in rows
        for begin in range(0, seq_lens[row], most)
    ]

"""The last chunk of a row goes on.

caught by: test_the_work_list_covers_every_token_once
says: and its chunks
"""


def plan_chunks(seq_lens, most):
    return [
        (row, begin, begin + most)
        for row, length in enumerate(seq_lens)
        for begin in range(0, length, most)
    ]

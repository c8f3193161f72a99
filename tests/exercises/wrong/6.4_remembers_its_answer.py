"""Returns the same list again when it is asked the same question.

caught by: test_the_work_list_covers_every_token_once
code: answers_are_one_list
"""

REMEMBERED = {}


def plan_chunks(seq_lens, most):
    asked = tuple(seq_lens), most
    if asked not in REMEMBERED:
        REMEMBERED[asked] = [
            (row, begin, min(begin + most, length))
            for row, length in enumerate(seq_lens)
            for begin in range(0, length, most)
        ]
    return REMEMBERED[asked]

"""Returns the same list each time: a later call changes what an earlier one returned.

caught by: test_the_work_list_covers_every_token_once
code: answers_are_one_list
"""

FOUND = []


def plan_chunks(seq_lens, most):
    FOUND.clear()
    for row, length in enumerate(seq_lens):
        for begin in range(0, length, most):
            FOUND.append((row, begin, min(begin + most, length)))
    return FOUND

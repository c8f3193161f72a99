"""Leaves the table as it is.

caught by: test_blocks_that_only_wrong_guesses_needed_go_back
code: keeps_all_blocks
"""


def accept(draft, own, num_tokens, block_table, block_size):
    agreed = 0
    while agreed < len(draft) and draft[agreed] == own[agreed]:
        agreed += 1
    num_computed = num_tokens + agreed
    return own[: agreed + 1], num_computed, []

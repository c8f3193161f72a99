"""Cuts the caller's table.

caught by: test_draft_tokens_are_accepted_up_to_the_first_wrong_one
code: changes_the_callers_list
"""


def accept(draft, own, num_tokens, block_table, block_size):
    agreed = 0
    while agreed < len(draft) and draft[agreed] == own[agreed]:
        agreed += 1
    num_computed, back = num_tokens + agreed, []
    while len(block_table) > -(-num_computed // block_size):
        back.insert(0, block_table.pop())
    return own[: agreed + 1], num_computed, back

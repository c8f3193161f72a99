"""Counts the token that has just been chosen.

caught by: test_only_accepted_draft_tokens_count_as_computed
code: counts_the_newest
"""


def accept(draft, own, num_tokens, block_table, block_size):
    agreed = 0
    while agreed < len(draft) and draft[agreed] == own[agreed]:
        agreed += 1
    num_computed = num_tokens + agreed + 1
    return own[: agreed + 1], num_computed, block_table[-(-num_computed // block_size) :]

"""Verifies nothing.

caught by: test_guesses_are_kept_up_to_the_first_wrong_one
code: keeps_all_guesses
"""


def accept(draft, own, num_tokens, block_table, block_size):
    agreed = 0
    while agreed < len(draft) and draft[agreed] == own[agreed]:
        agreed += 1
    num_computed = num_tokens + agreed
    return [*draft, own[-1]], num_computed, block_table[-(-num_computed // block_size) :]

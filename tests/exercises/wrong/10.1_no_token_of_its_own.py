"""Keeps the right guesses, and nothing comes after them.

caught by: test_guesses_are_kept_up_to_the_first_wrong_one
code: ends_with_the_last_right_guess
"""


def accept(draft, own, num_tokens, block_table, block_size):
    agreed = 0
    while agreed < len(draft) and draft[agreed] == own[agreed]:
        agreed += 1
    num_computed = num_tokens + agreed
    return own[:agreed], num_computed, block_table[-(-num_computed // block_size) :]

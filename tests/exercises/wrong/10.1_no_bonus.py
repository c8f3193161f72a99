"""Four right guesses are four tokens.

caught by: test_guesses_are_kept_up_to_the_first_wrong_one
code: leaves_out_the_bonus
"""


def accept(draft, own, num_tokens, block_table, block_size):
    agreed = 0
    while agreed < len(draft) and draft[agreed] == own[agreed]:
        agreed += 1
    num_computed = num_tokens + agreed
    return (
        own[: min(agreed + 1, max(len(draft), 1))],
        num_computed,
        block_table[-(-num_computed // block_size) :],
    )

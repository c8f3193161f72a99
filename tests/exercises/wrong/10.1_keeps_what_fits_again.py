"""Keeps every guess that fits, also behind a wrong one.

caught by: test_draft_tokens_are_accepted_up_to_the_first_wrong_one
code: keeps_all_of_the_models
"""


def accept(draft, own, num_tokens, block_table, block_size):
    new = [guess for guess, choice in zip(draft, own, strict=False) if guess == choice]
    new.append(own[-1])
    num_computed = num_tokens + len(new) - 1
    return new, num_computed, block_table[-(-num_computed // block_size) :]

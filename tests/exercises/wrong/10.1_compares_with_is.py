"""Compares token ids with `is`: equal ids above 256 are different objects.

caught by: test_draft_tokens_are_accepted_up_to_the_first_wrong_one
code: compares_with_is
"""


def accept(draft, own, num_tokens, block_table, block_size):
    kept = 0
    while kept < len(draft) and draft[kept] is own[kept]:
        kept += 1
    computed = num_tokens + kept
    return own[: kept + 1], computed, block_table[-(-computed // block_size) :]

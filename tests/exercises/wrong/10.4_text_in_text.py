"""Searches in a text, where 2 matches the beginning of 25.

caught by: test_the_draft_is_a_list_of_at_most_that_many_token_ids
code: matches_part_of_a_number
"""


def propose(token_ids, most):
    text = "," + ",".join(map(str, token_ids))
    for size in range(min(12, len(token_ids) - 1), 0, -1):
        last = "," + ",".join(map(str, token_ids[-size:]))
        at = text.rfind(last, 0, len(text) - 1)
        if at >= 0:
            i = text[:at].count(",") + size
            return token_ids[i : i + most]
    return []

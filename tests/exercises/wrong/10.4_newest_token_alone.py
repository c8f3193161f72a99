"""Looks at one token only.

caught by: test_the_draft_is_a_list_of_at_most_that_many_token_ids
code: newest_token_alone
"""


def propose(token_ids, most):
    for i in range(len(token_ids) - 2, -1, -1):
        if token_ids[i] == token_ids[-1]:
            return token_ids[i + 1 : i + 1 + most]
    return []

"""The search begins at the end of the list, which nothing follows.

caught by: test_the_draft_is_a_list_of_at_most_that_many_token_ids
code: finds_the_end_itself
"""


def propose(token_ids, most):
    for i in range(len(token_ids) - 1, -1, -1):
        if token_ids[max(0, i - 1) : i + 1] == token_ids[-2:]:
            return token_ids[i + 1 : i + 1 + most]
    return []

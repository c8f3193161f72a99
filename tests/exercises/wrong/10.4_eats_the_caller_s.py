"""Takes the newest token off the caller's list.

caught by: test_the_draft_is_a_list_of_at_most_that_many_token_ids
code: changes_the_callers_list
"""


def propose(token_ids, most):
    newest = token_ids.pop()
    for i in range(len(token_ids) - 1, -1, -1):
        if token_ids[i] == newest:
            return token_ids[i + 1 : i + 1 + most]
    return []

"""Keeps what followed in the texts of earlier calls.

caught by: test_a_new_token_gets_no_draft
code: guess_is_not_in_the_list
"""

_SEEN = {}


def propose(token_ids, most):
    n = len(token_ids)
    for i in range(1, n):
        for size in range(1, 9):
            if i >= size:
                _SEEN[tuple(token_ids[i - size : i])] = token_ids[i : i + 8]
    for size in range(min(8, n), 0, -1):
        found = _SEEN.get(tuple(token_ids[n - size :]))
        if found:
            return found[:most]
    return []

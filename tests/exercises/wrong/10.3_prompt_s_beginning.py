"""Looks at the newest token alone in a long text.

caught by: test_of_several_places_the_one_that_matches_longest_is_taken
code: match_is_too_short
"""


def propose(token_ids, most):
    longest = 1 if len(token_ids) > 20 else 2
    for n in range(longest, 0, -1):
        for i in range(len(token_ids) - 2, n - 2, -1):
            if token_ids[i - n + 1 : i + 1] == token_ids[-n:]:
                return token_ids[i + 1 : i + 1 + most]
    return []

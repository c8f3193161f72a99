"""Off by one.

caught by: test_a_guess_is_a_list_of_token_ids_and_no_longer_than_asked
code: begins_with_the_token_found
"""


def propose(token_ids, most):
    longest, found = 0, None
    for i in range(len(token_ids) - 2, -1, -1):
        same = 0
        while same <= i and token_ids[i - same] == token_ids[-1 - same]:
            same += 1
        if same > longest:
            longest, found = same, i
    return [] if found is None else token_ids[found : found + most]

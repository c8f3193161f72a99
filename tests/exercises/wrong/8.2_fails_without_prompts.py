"""Takes the longest of nobody.

caught by: test_shares_are_never_more_than_the_budget
code: raises_value_error
"""


def capped_shares(needs, budget, cap):
    longest = max(needs)
    shares, left = [], budget
    for need in needs:
        shares.append(min(need, cap, left))
        left -= shares[-1]
    for i in range(len(needs)):
        more = min(needs[i] - shares[i], left, longest)
        shares[i] += more
        left -= more
    return shares

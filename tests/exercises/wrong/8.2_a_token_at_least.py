"""Every prompt gets a token, even of an empty budget.

caught by: test_shares_are_never_more_than_the_budget
code: over_the_budget
"""


def capped_shares(needs, budget, cap):
    shares, left = [], budget
    for need in needs:
        shares.append(max(1, min(need, cap, left)))
        left -= shares[-1]
    for i, need in enumerate(needs):
        more = max(0, min(need - shares[i], left))
        shares[i] += more
        left -= more
    return shares

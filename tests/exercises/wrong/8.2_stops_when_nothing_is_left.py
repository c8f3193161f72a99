"""Ends its list where the budget ends.

caught by: test_shares_are_never_more_than_the_budget
code: not_a_share_for_each
"""


def capped_shares(needs, budget, cap):
    shares = []
    for need in needs:
        if not budget:
            break
        shares.append(min(need, cap, budget))
        budget -= shares[-1]
    for i, share in enumerate(shares):
        more = min(needs[i] - share, budget)
        shares[i] += more
        budget -= more
    return shares

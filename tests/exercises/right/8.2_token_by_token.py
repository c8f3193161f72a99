"""Gives tokens away one by one."""


def capped_shares(needs, budget, cap):
    shares = [0] * len(needs)
    for most in (cap, max(needs, default=0)):
        for i, need in enumerate(needs):
            while budget > 0 and shares[i] < min(need, most):
                shares[i] += 1
                budget -= 1
    return shares

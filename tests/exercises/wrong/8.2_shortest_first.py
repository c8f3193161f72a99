"""The shortest prompt is first in both rounds.

caught by: test_the_rest_goes_to_the_same_prompts_in_order
code: by_size_not_in_order
"""


def capped_shares(needs, budget, cap):
    shares = [0] * len(needs)
    for most in (cap, max(needs, default=0)):
        for i in sorted(range(len(needs)), key=lambda i: needs[i]):
            more = max(0, min(needs[i], most) - shares[i])
            more = min(more, budget)
            shares[i] += more
            budget -= more
    return shares

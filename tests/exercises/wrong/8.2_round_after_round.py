"""The cap to each, as long as there are tokens.

caught by: test_the_rest_goes_to_the_same_prompts_in_order
code: cap_again_and_again
"""


def capped_shares(needs, budget, cap):
    shares = [0] * len(needs)
    while budget and shares != list(needs):
        for i, need in enumerate(needs):
            more = min(need - shares[i], cap, budget)
            shares[i] += more
            budget -= more
    return shares

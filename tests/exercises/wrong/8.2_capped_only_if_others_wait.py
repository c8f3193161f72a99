"""The cap only where there are two prompts or more, and one round.

caught by: test_the_rest_goes_to_the_same_prompts_in_order
code: no_second_round
"""


def capped_shares(needs, budget, cap):
    shares = []
    for need in needs:
        shares.append(min(need, budget, cap if len(needs) > 1 else need))
        budget -= shares[-1]
    return shares

"""Takes what is given from the caller's needs.

caught by: test_a_long_prompt_leaves_tokens_to_those_behind_it
code: changes_the_callers_list
"""


def capped_shares(needs, budget, cap):
    shares = []
    for i in range(len(needs)):
        shares.append(min(needs[i], cap, budget))
        needs[i] -= shares[i]
        budget -= shares[i]
    for i in range(len(needs)):
        more = min(needs[i], budget)
        shares[i] += more
        budget -= more
    return shares

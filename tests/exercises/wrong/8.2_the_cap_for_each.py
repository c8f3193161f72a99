"""Each for itself, without a common budget.

caught by: test_the_rest_goes_to_the_same_prompts_in_order
code: cap_for_each_prompt_only
"""


def capped_shares(needs, budget, cap):
    return [min(need, cap, budget) for need in needs]

"""Preempts the request with the fewest computed tokens for each token that is left.

caught by: test_few_tokens_of_the_five_requests_are_computed_again
code: loses_more_than_it_must
"""


def whom_to_preempt(running):
    costs = [computed / left for computed, _, left in running]
    return costs.index(min(costs))

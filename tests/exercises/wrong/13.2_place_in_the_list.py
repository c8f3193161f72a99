"""Returns the place in the list.

caught by: test_one_of_the_given_replicas_is_chosen
code: place_for_its_number
"""


def choose(request, views):
    costs = [v.num_uncached_tokens + v.num_sent_tokens + v.uncached_tokens(request) for v in views]
    return costs.index(min(costs))

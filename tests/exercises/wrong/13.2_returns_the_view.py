"""Returns the view.

caught by: test_one_of_the_given_replicas_is_chosen
code: view_for_its_number
"""


def choose(request, views):
    return min(views, key=lambda v: v.num_uncached_tokens)

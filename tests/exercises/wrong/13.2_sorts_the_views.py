"""Sorts the list of the caller.

caught by: test_one_of_the_given_replicas_is_chosen
code: changes_the_callers_list
"""


def choose(request, views):
    views.sort(key=lambda v: v.num_uncached_tokens + v.num_sent_tokens + v.uncached_tokens(request))
    return views[0].replica

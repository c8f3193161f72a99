"""A session always goes to the same number.

caught by: test_one_of_the_given_replicas_is_chosen
code: choice_is_no_number
"""


def choose(request, views):
    return request.session

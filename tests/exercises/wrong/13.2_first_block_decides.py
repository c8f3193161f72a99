"""A replica with the first block has all of it.

caught by: test_a_cached_prefix_is_worth_its_tokens
code: any_part_is_enough
"""


def choose(request, views):
    def cost(view):
        first = request.prefix_hashes[:1]
        own = 0 if first and first[0] in view.cached else request.num_tokens
        return view.num_uncached_tokens + view.num_sent_tokens + own

    return min(views, key=cost).replica

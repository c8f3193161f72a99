"""Counts cached blocks without their beginning.

caught by: test_a_cached_prefix_is_worth_its_tokens
code: counts_blocks_without_their_beginning
"""


def choose(request, views):
    def cost(view):
        found = sum(block in view.cached for block in request.prefix_hashes)
        return view.num_uncached_tokens + view.num_sent_tokens - found * view.block_size

    return min(views, key=cost).replica

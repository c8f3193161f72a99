"""A prefix is cached if its last block is.

caught by: test_a_cached_prefix_is_worth_its_tokens
code: counts_blocks_without_their_beginning
"""


def choose(request, views):
    def cost(v):
        whole = bool(request.prefix_hashes) and request.prefix_hashes[-1] in v.cached
        return v.num_uncached_tokens + v.num_sent_tokens + (0 if whole else request.num_tokens)

    return min(views, key=cost).replica

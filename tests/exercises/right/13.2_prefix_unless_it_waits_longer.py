"""The longest prefix, unless another replica is done sooner by a block."""


def choose(request, views):
    def until_first_token(view):
        return sum((view.num_uncached_tokens, view.num_sent_tokens, view.uncached_tokens(request)))

    soonest = min(map(until_first_token, views))
    near = [v for v in views if until_first_token(v) < soonest + v.block_size]
    return sorted(near, key=lambda v: (-v.cached_tokens(request), until_first_token(v)))[0].replica

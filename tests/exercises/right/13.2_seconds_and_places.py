"""In seconds; a full batch waits for a place; ties by the number."""


def choose(request, views):
    scored = []
    for view in views:
        tokens = view.num_uncached_tokens + view.num_sent_tokens + view.uncached_tokens(request)
        full = max(0, view.num_requests + view.num_sent - view.max_running)
        scored.append((tokens / 10_000 + 0.1 * full, view.replica))
    return min(scored)[1]

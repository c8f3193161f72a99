"""Whole beginnings as sets; the longest by halving."""


def uncached_tokens(num_tokens, chain, cached, block_size):
    def longest(hashes):
        low, high = 0, (num_tokens - 1) // block_size
        while low < high:
            middle = (low + high + 1) // 2
            low, high = (middle, high) if set(chain[:middle]) <= hashes else (low, middle - 1)
        return low

    return {r: num_tokens - block_size * longest(set(h)) for r, h in cached.items()}

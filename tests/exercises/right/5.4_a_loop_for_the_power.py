"""Doubles until it is enough, and adds up."""


def how_many_fit(allocator, requests, capacity, max_model_len, block_size):
    def needs(prompt, answer):
        if allocator == "maximum":
            return max_model_len
        if allocator == "power of two":
            power = 1
            while power < answer:
                power *= 2
            return prompt + power
        tokens = prompt + answer
        if allocator == "paged" and tokens % block_size:
            tokens += block_size - tokens % block_size
        return tokens

    used = fits = 0
    while fits < len(requests) and used + needs(*requests[fits]) <= capacity:
        used += needs(*requests[fits])
        fits += 1
    return fits

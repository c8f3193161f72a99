"""Finds first, and then gives the last token's block back."""


def cached_prefix(names, num_tokens, block_size, block_of):
    count = 0
    while count < len(names) and names[count] in block_of:
        count += 1
    if count * block_size == num_tokens:
        count -= 1
    return tuple(block_of[name] for name in names[:count])

"""Where the prompt ends with a block, drops the last one found, whichever it is.

caught by: test_the_last_token_is_never_found
code: drops_what_is_not_last
"""


def cached_prefix(names, num_tokens, block_size, block_of):
    found = []
    for name in names:
        if name not in block_of:
            break
        found.append(block_of[name])
    return found[:-1] if num_tokens % block_size == 0 else found

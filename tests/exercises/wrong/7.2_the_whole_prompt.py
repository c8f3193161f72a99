"""The last token is taken from the cache, too.

caught by: test_the_last_token_is_never_found
code: takes_the_last_tokens_block
"""


def cached_prefix(names, num_tokens, block_size, block_of):
    found = []
    for name in names:
        if name not in block_of:
            break
        found.append(block_of[name])
    return found

"""All tokens, then one less, and so on to one."""


def propose(token_ids, most):
    for n in range(len(token_ids) - 1, 0, -1):
        for i in range(len(token_ids) - 2, n - 2, -1):
            if token_ids[i - n + 1 : i + 1] == token_ids[-n:]:
                return token_ids[i + 1 : i + 1 + most]
    return []

"""Keeps the rest of each p, and uses it again beside another q.

caught by: test_a_rejected_token_is_replaced_from_the_rest
code: remembers_another_call
"""

_REST = {}


def accept_or_draw(p, q, token, u, v):
    if u < p[token] / q[token]:
        return token
    key = tuple(p)
    if key not in _REST:
        _REST[key] = [max(0.0, a - b) for a, b in zip(p, q, strict=False)]
    rest = _REST[key]
    x, upto = v * sum(rest), 0.0
    for i, r in enumerate(rest):
        upto += r
        if x < upto:
            return i
    return max(range(len(rest)), key=rest.__getitem__)

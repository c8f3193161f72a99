"""Accepts where u is large, and goes through the rest from its end."""


def accept_or_draw(p, q, token, u, v):
    if 1 - u <= p[token] / q[token]:
        return token
    rest = [max(a - b, 0) for a, b in zip(p, q, strict=True)]
    left = v * sum(rest)
    for i in reversed(range(len(p))):
        left -= rest[i]
        if left < 0:
            return i
    return rest.index(max(rest))

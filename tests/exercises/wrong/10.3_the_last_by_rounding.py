"""Where rounding leaves no token, it takes the last one, which has no rest.

caught by: test_a_rejected_token_is_replaced_from_the_rest
code: draws_what_has_no_rest
"""


def accept_or_draw(p, q, token, u, v):
    if u < p[token] / q[token]:
        return token
    rest = [max(0.0, a - b) for a, b in zip(p, q, strict=False)]
    total = sum(rest)
    upto = 0.0
    for i, r in enumerate(rest):
        upto += r / total
        if v < upto:
            return i
    return len(p) - 1

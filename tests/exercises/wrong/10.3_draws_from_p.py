"""Replaces from p: a rejected token may come again.

caught by: test_a_rejected_token_is_replaced_from_the_rest
code: draws_from_the_model
"""


def accept_or_draw(p, q, token, u, v):
    if u < p[token] / q[token]:
        return token
    upto = 0.0
    for i, a in enumerate(p):
        upto += a
        if v < upto:
            return i
    return max(range(len(p)), key=p.__getitem__)

"""Takes q from the caller's p.

caught by: test_a_draft_token_is_accepted_as_often_as_the_ratio_says
code: changes_the_callers_list
"""


def accept_or_draw(p, q, token, u, v):
    if u < p[token] / q[token]:
        return token
    for i in range(len(p)):
        p[i] = max(0.0, p[i] - q[i])
    x, upto = v * sum(p), 0.0
    for i, r in enumerate(p):
        upto += r
        if x < upto:
            return i
    return p.index(max(p))

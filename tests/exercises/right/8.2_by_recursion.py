"""Divides what is needed up to the cap, then, by the same function, the rest."""


def capped_shares(needs, budget, cap):
    first = in_order([min(need, cap) for need in needs], budget)
    rest = [need - share for need, share in zip(needs, first, strict=True)]
    more = in_order(rest, budget - sum(first))
    return [sum(both) for both in zip(first, more, strict=True)]


def in_order(needs, left):
    if not needs:
        return []
    share = min(needs[0], left)
    return [share, *in_order(needs[1:], left - share)]

"""Sorts by exact fractions."""


def who_is_next(waiting, now_ms, aging_ms):
    from fractions import Fraction

    def rank(one):
        place, (priority, arrival_ms) = one
        return -priority - Fraction(now_ms - arrival_ms, aging_ms), arrival_ms

    return sorted(enumerate(waiting), key=rank)[0][0]

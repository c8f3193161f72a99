"""Stretches: never two on one place, never a place that nobody has and no hole shows."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minibatch.memory.contiguous import Buddy, FirstFit


@pytest.mark.parametrize("kind", [FirstFit, Buddy])
@settings(max_examples=40)
@given(size=st.integers(1, 300), acts=st.lists(st.integers(-8, 60), max_size=60))
def test_stretches_and_holes_are_all_places_each_once(kind, size, acts):
    places, taken = kind(size), []
    for act in acts:
        if act > 0:
            hole_is_there = any(len(hole) >= places.takes(act) for hole in places.holes)
            place = places.allocate(act)
            assert (place is not None) == hole_is_there
            if place is not None:
                assert len(place) == places.takes(act) >= act
                taken.append(place)
        elif taken:
            places.free(taken.pop(-act % len(taken)))
        everything = sorted(i for place in (*taken, *places.holes) for i in place)
        assert everything == list(range(size))
    for place in taken:
        places.free(place)
    assert places.holes == kind(size).holes  # neighbours have become one hole again


def test_first_fit_leaves_a_hole_that_is_long_enough_only_with_its_neighbour():
    places = FirstFit(100)
    a, b, c = (places.allocate(30) for _ in range(3))
    places.free(a)
    places.free(c)
    assert (places.allocate(60), places.holes) == (None, [range(30), range(60, 100)])
    places.free(b)
    assert places.allocate(60) == range(60)


def test_a_buddy_joins_only_the_other_half_of_its_hole():
    places = Buddy(64)
    quarters = [places.allocate(16) for _ in range(4)]
    places.free(quarters[1])
    places.free(quarters[2])
    assert places.holes == [range(16, 32), range(32, 48)]  # neighbours, and no buddies
    assert places.allocate(17) is None


@pytest.mark.parametrize("kind", [FirstFit, Buddy])
def test_a_stretch_cannot_come_back_twice(kind):
    places = kind(64)
    place = places.allocate(16)
    places.free(place)
    with pytest.raises((ValueError, KeyError)):
        places.free(place)

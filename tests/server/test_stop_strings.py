"""However a text is cut into pieces, a stop string ends it in the same place."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from minibatch.server.stop_strings import StopStrings

texts = st.text("ab\n", max_size=12)


def shown(pieces, stops):
    """The pieces that are shown, and whether a stop string has ended the text."""
    filtered, out = StopStrings(stops), []
    for piece in pieces:
        text, ended = filtered.push(piece)
        out.append(text)
        if ended:
            return out, True
    return [*out, filtered.rest()], False


@given(st.lists(texts), st.lists(texts.filter(bool), max_size=3).map(tuple))
@example(["aaab"], ("aab",))
@example(["a", "ab", "ba"], ("abab", "abb"))
def test_what_is_shown_is_the_text_up_to_the_first_stop_string(pieces, stops):
    out, ended = shown(pieces, stops)
    text = "".join(pieces)
    # the first to be complete ends the text, as it does when a model generates it
    ends = [text.find(stop) + len(stop) for stop in stops if stop in text]
    assert ended == bool(ends)
    if not ends:
        assert "".join(out) == text
        return
    assert text.startswith("".join(out))
    assert not any(stop in "".join(out) for stop in stops)


@given(texts, st.lists(texts.filter(bool), min_size=1, max_size=3).map(tuple))
def test_one_letter_at_a_time_never_shows_the_beginning_of_a_stop_string(text, stops):
    out, ended = shown(list(text), stops)
    so_far = ""
    for piece in out[:-1]:
        so_far += piece
        at = min((i for i in (text.find(stop) for stop in stops) if i >= 0), default=len(text))
        assert len(so_far) <= at


@pytest.mark.parametrize(
    ("pieces", "expected"),
    [
        (["Day 1.\n", "Us", "er: no"], ["Day 1.", "", ""]),
        (["Day 1.\n", "Us", "ed"], ["Day 1.", "", "\nUsed", ""]),
        (["Day 1.\n", "Us"], ["Day 1.", "", "\nUs"]),
    ],
)
def test_half_a_stop_string_is_held_back_until_it_is_certain(pieces, expected):
    assert shown(pieces, ("\nUser:",))[0] == expected

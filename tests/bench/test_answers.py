"""The tokens of an answer are counted by what the server reports, not by its chunks."""

from hypothesis import given
from hypothesis import strategies as st

from minibatch.bench.answers import Answer, Piece


def answer(*pieces):
    """The pieces, one a second."""
    some = Answer()
    for i, piece in enumerate(pieces):
        some.add(float(i), piece)
    return some


def end(reason="stop", **fields):
    return Piece(finish_reason=reason, **fields)


USAGE = {"may_hold_token": False}  # a chunk with nothing but a report


def test_without_a_report_each_text_is_a_token():
    some = answer(Piece("a"), Piece(""), Piece("b"), end())
    assert some.counted == "pieces"
    assert some.token_times() == [0, 2]


def test_token_ids_are_counted_also_those_without_text():
    some = answer(
        Piece("ab", (5, 6)), Piece("", (7,)), end(token_ids=(2,)), Piece(num_tokens=9, **USAGE)
    )
    assert some.counted == "token ids"
    assert some.token_times() == [0, 0, 1, 2]
    assert some.token_ids == [5, 6, 7, 2]


def test_ids_in_some_pieces_only_are_not_trusted():
    assert (
        answer(Piece("a", (5,)), Piece("b"), Piece(num_tokens=2, **USAGE)).counted == "final usage"
    )


def test_running_usage_gives_each_piece_its_growth():
    some = answer(
        Piece(num_tokens=0, **USAGE),
        Piece("abc", num_tokens=3),
        Piece("", num_tokens=4),
        Piece("d", num_tokens=5),
        end(num_tokens=6),
        Piece(num_tokens=6, **USAGE),
    )
    assert some.counted == "running usage"
    assert some.num_tokens() == [0, 3, 1, 1, 1, 0]


def test_a_final_report_that_agrees_with_the_pieces():
    some = answer(Piece("a"), Piece("b"), end("length"), Piece(num_tokens=2, **USAGE))
    assert some.counted == "final usage"
    assert some.token_times() == [0, 1]


def test_the_end_token_came_with_the_end():
    some = answer(Piece("a"), Piece("b"), end(), Piece(num_tokens=3, **USAGE))
    assert some.token_times() == [0, 1, 2]


def test_at_a_length_limit_there_is_no_end_token():
    some = answer(Piece("aaa"), Piece("b"), end("length"), Piece(num_tokens=3, **USAGE))
    assert some.num_tokens() == [2, 1, 0, 0]


def test_tokens_without_text_are_in_the_pieces_without_text():
    opening = Piece(may_hold_token=False)
    some = answer(opening, Piece("a"), Piece(""), Piece("b"), end(num_tokens=4))
    assert some.num_tokens() == [0, 1, 1, 1, 1]


def test_what_is_left_is_spread_by_the_length_of_the_text():
    some = answer(Piece("a" * 9), Piece("b"), end("length", num_tokens=12))
    assert some.num_tokens() == [10, 2, 0]


def test_fewer_tokens_than_pieces():
    """A server that sends every character."""
    some = answer(*[Piece(letter) for letter in "abcdef"], end("length", num_tokens=2))
    assert some.token_times() == [1, 4]


def test_an_answer_of_only_an_end_token():
    assert answer(end(num_tokens=1)).token_times() == [0]


def test_an_answer_of_no_token_at_all():
    assert answer(end(num_tokens=0)).token_times() == []
    assert answer().counted == ""


pieces = st.builds(
    Piece,
    text=st.text("ab", max_size=6),
    finish_reason=st.sampled_from([None, None, None, "stop", "length"]),
    may_hold_token=st.booleans(),
)


@given(st.lists(pieces, min_size=1), st.integers(0, 60))
def test_a_final_report_is_kept_to_the_token(some, total):
    whole = answer(*some, end(num_tokens=total))
    assert sum(whole.num_tokens()) == total == len(whole.token_times())
    assert all(n >= 0 for n in whole.num_tokens())

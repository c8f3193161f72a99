"""Server-sent events come out whole, wherever the network cut the bytes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minibatch.bench import event_stream
from minibatch.bench.event_stream import EventStream, ServerSentEvent


def events(*chunks):
    stream = EventStream()
    return [event for chunk in chunks for event in stream.feed(chunk)]


def data(*chunks):
    return [event.data for event in events(*chunks)]


WILD = (
    "\ufeff: a comment\r\ndata: São 🦊\r\n\r\n"
    "event: error\rdata: one\rdata:  two\r\r"
    "data\n\n: keep-alive\n\nid: 7\nretry: 5\n\ndata:{}\n\n"
    "data: a\u2028b\x0bc\x85d\n\ndata: lost"
).encode()
WILD_EVENTS = [
    ServerSentEvent("São 🦊"),
    ServerSentEvent("one\n two", "error"),
    ServerSentEvent(""),
    ServerSentEvent("{}"),
    ServerSentEvent("a\u2028b\x0bc\x85d"),
]


def test_line_ends_comments_fields_and_several_lines_of_data():
    assert events(WILD) == WILD_EVENTS


@given(st.lists(st.integers(0, len(WILD)), max_size=20))
def test_cuts_change_nothing(cuts):
    """Inside a character, between CR and LF, several events at once, none at all."""
    borders = [0, *sorted(cuts), len(WILD)]
    assert events(*[WILD[a:b] for a, b in zip(borders, borders[1:], strict=False)]) == WILD_EVENTS


def test_one_byte_at_a_time():
    assert events(*[WILD[i : i + 1] for i in range(len(WILD))]) == WILD_EVENTS


def test_crlf_cut_in_two_is_one_line_end():
    assert data(b"data: a\r", b"\ndata: b\r", b"\n\r", b"\n") == ["a\nb"]


def test_an_event_is_there_as_soon_as_its_blank_line_has_begun():
    assert data(b"data: a\r\n\r") == ["a"]


def test_bytes_that_are_no_utf8_are_replaced():
    assert data(b"data: \xff\xfe\n\n") == ["\ufffd\ufffd"]


def test_an_error_field_as_older_servers_write_it_is_an_event():
    assert events(b'error: {"code": 500}\n\n') == [ServerSentEvent('{"code": 500}', "error")]


@pytest.mark.parametrize("chunks", [[b"data: ", b"x" * 300], [b"data: " + b"x" * 90 + b"\n"] * 4])
def test_an_endless_line_or_event_is_refused(chunks, monkeypatch):
    monkeypatch.setattr(event_stream, "MOST_BYTES", 256)
    with pytest.raises(ValueError, match="at most 256 are read"):
        events(*chunks)

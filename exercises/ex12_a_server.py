"""Exercises of lesson 12: a server.

Change none of your arguments: they belong to the caller, who goes on using them.

Save this file, then press Check on its card in the lesson, or run `python -m minibatch grade 12.1`.
"""

import asyncio
import codecs
from collections.abc import AsyncIterator, Awaitable, Callable


# ---------------------------------------------------------------------------------------------
# Exercise 12.1: A client that hangs up
# 5 points, 25 minutes, difficulty 3 of 5
# lessons/12_a_server.ipynb, "Your turn: a client that hangs up"
#
# Write the coroutine that answers one request of a server. Without care, the engine goes on
# computing for a client that is gone, and keeps its KV blocks. You get:
#
#     tokens       an async iterator of the pieces of text that the engine computes.
#                  It ends when the answer is complete. It may raise any exception:
#                  then the engine has ended the request itself
#     send(text)   await it: it sends text to the client. With a client that reads
#                  slowly it takes long. It raises ConnectionError, or a subclass,
#                  if the client is gone
#     hung_up()    await it: it returns when the client hangs up. If the client
#                  does not, it waits for ever
#     abort()      a plain function: it ends the request in the engine and frees
#                  its KV blocks. After it, tokens gives nothing more, not even
#                  its end
#     stream       True: send each piece when it comes, in order. False: send one
#                  text when tokens has ended, even if it is empty; only hung_up
#                  then tells of a client that hangs up before
#
# When the client is gone before tokens has ended: abort, exactly once, at once, and return. At once
# means also: while no piece comes for a long time, and while a send waits. Sometimes a send fails
# and hung_up does not return.
#
# When your task is cancelled (the server shuts down) before tokens has ended: abort, exactly once,
# and let the CancelledError go on to the caller.
#
# After tokens has ended or raised, never abort: the request is not in the engine any more. If the
# end and a hang-up come in the same moment, tokens has ended. If a hang-up comes during the last
# send of a stream, tokens has not ended yet, as long as you have not read its end.
#
# What tokens raises goes on to the caller, as it is. The ConnectionError of send does not: a client
# that hangs up is not an error of the server. When answer ends, no task of yours may be running.
# ---------------------------------------------------------------------------------------------
async def answer(
    tokens: AsyncIterator[str],
    send: Callable[[str], Awaitable[None]],
    hung_up: Callable[[], Awaitable[None]],
    abort: Callable[[], None],
    stream: bool,
) -> None:
    """Answers one request. Several of these run at the same time.

    Example: tokens gives "He" at 10 ms and "llo" at 20 ms, and ends at 30 ms; the client hangs up
    at 15 ms. With stream: send("He") at 10 ms, abort() at 15 ms. Without: abort() at 15 ms.
    """
    # YOUR CODE for Exercise 12.1 begins here
    raise NotImplementedError("Exercise 12.1: A client that hangs up: not written yet")
    # YOUR CODE for Exercise 12.1 ends here


# ---------------------------------------------------------------------------------------------
# Exercise 12.2: Read a stream
# 4 points, 20 minutes, difficulty 2 of 5
# lessons/12_a_server.ipynb, "Your turn: read a stream"
#
# A server streams its answer as server-sent events: lines of text in UTF-8, in which an empty line
# ends an event. The network cuts the bytes anywhere: between two letters, between the bytes of one
# letter, between \r and \n. Write the reader. feed gets the next bytes, and returns the data of
# each event that has become complete since.
#
#     : keep-alive            begins with a colon: a comment
#     event: token            field "event"
#     data: {"text":          field "data"
#     data:  "Rome: "}        another one; its value begins with one space
#                             an empty line: the data of this event is
#                             '{"text":\n "Rome: "}'
#
# A line ends with \n, \r\n or \r. It has ended as soon as its \r has come; a \n that follows
# belongs to it, and is not an empty line. No other character ends a line.
#
# A line with a colon: the field's name is all before the first colon, the value is all after it,
# without one space if it begins with one. A line without a colon is a name, with an empty value.
# Names are taken as they are: "Data" and "data " are other names.
#
# The data of an event is the values of its lines of data, joined by "\n". Other fields and comments
# add nothing. An event without a line of data gives nothing; one with an empty value gives "".
# An event that no empty line has ended is not given.
#
# One byte order mark (the bytes EF BB BF) at the beginning of the stream is left out. Bytes that
# are not UTF-8 become "\ufffd". (HTML Standard, sections 9.2.5 and 9.2.6)
# ---------------------------------------------------------------------------------------------
class Events:
    r"""One stream of server-sent events. Each object reads a stream of its own.

    Example: events = Events(). events.feed(b"data: a\n") is [], and then events.feed(b"\ndata") is
    ["a"], and then events.feed(b": b\n\n: c\n\n") is ["b"].
    """

    def __init__(self) -> None:
        # YOUR CODE for Exercise 12.2 (__init__) begins here
        raise NotImplementedError("Exercise 12.2: Read a stream: not written yet")
        # YOUR CODE for Exercise 12.2 (__init__) ends here

    def feed(self, data: bytes) -> list[str]:
        """The data of each event that these bytes complete, in order; [] if there is none."""
        # YOUR CODE for Exercise 12.2 (feed) begins here
        raise NotImplementedError("Exercise 12.2: Read a stream: not written yet")
        # YOUR CODE for Exercise 12.2 (feed) ends here


# ---------------------------------------------------------------------------------------------
# Exercise 12.3: Blocks of rows in flight
# 4 points, 20 minutes, difficulty 3 of 5
# lessons/12_a_server.ipynb, "Your turn: blocks of rows in flight"
#
# An engine that overlaps launches a step before it has collected the tokens of the step before. So
# a request may end while a later step that has a row of it is in flight. That step still writes K
# and V into the request's blocks: if another request gets one of them now, its K and V are
# overwritten. The engine tells you of each event:
#
#     launched(step, requests)  a step is in flight, with a row for each request
#                               of this list
#     ended(request, blocks)    the request leaves: complete, aborted or preempted.
#                               No later step has it, unless it comes back with
#                               blocks of its own
#     collected(step)           this step has been computed: it writes nothing more
#
# ended and collected return the blocks that may be freed now. Blocks of an ended request may be
# freed when the last step that was launched with it, up to its end, has been collected: not before,
# and at once. If no step in flight has it, they may be freed in ended. Each block is returned once.
#
# Steps have rising numbers, are collected in the order in which they were launched, and may have an
# empty list of requests. Any number of steps is in flight, usually up to two. A request that was
# preempted may come back with the same name and other blocks while an old step is still in flight.
# Several requests may wait for one step. The order of the blocks that you return does not count.
# The lists belong to the engine, which empties them after the call.
# ---------------------------------------------------------------------------------------------
class Releases:
    """Which blocks may be freed, and when.

    Example: r = Releases(). r.launched(1, ["A", "B"]), r.launched(2, ["A"]), and A ends: r.ended(
    "A", [7, 4]) is []. r.collected(1) is [], r.ended("B", [5]) is [5], r.collected(2) is [7, 4].
    """

    def __init__(self) -> None:
        # YOUR CODE for Exercise 12.3 (__init__) begins here
        raise NotImplementedError("Exercise 12.3: Blocks of rows in flight: not written yet")
        # YOUR CODE for Exercise 12.3 (__init__) ends here

    def launched(self, step: int, requests: list[str]) -> None:
        """A step is in flight, with a row for each of these requests."""
        # YOUR CODE for Exercise 12.3 (launched) begins here
        raise NotImplementedError("Exercise 12.3: Blocks of rows in flight: not written yet")
        # YOUR CODE for Exercise 12.3 (launched) ends here

    def ended(self, request: str, blocks: list[int]) -> list[int]:
        """The blocks that may be freed now, of this request: all, or none."""
        # YOUR CODE for Exercise 12.3 (ended) begins here
        raise NotImplementedError("Exercise 12.3: Blocks of rows in flight: not written yet")
        # YOUR CODE for Exercise 12.3 (ended) ends here

    def collected(self, step: int) -> list[int]:
        """The blocks that may be freed now, of all requests that have waited for this step."""
        # YOUR CODE for Exercise 12.3 (collected) begins here
        raise NotImplementedError("Exercise 12.3: Blocks of rows in flight: not written yet")
        # YOUR CODE for Exercise 12.3 (collected) ends here


# ---------------------------------------------------------------------------------------------
# Exercise 12.4: Where did the time go?
# 4 points, 20 minutes, difficulty 3 of 5
# lessons/12_a_server.ipynb, "Your turn: where did the time go?"
#
# A client and a server have each written when things happened, in whole milliseconds of their own
# clock. Nobody knows how far the two clocks are apart. One row for each request, (client, server):
#
#     client   {"due", "sent", "first_token", "last_token"}
#     server   {"received", "scheduled", "first_computed", "first_written", "last_written"}
#
# due: when the load generator should have sent it. scheduled: when its prefill began.
# first_computed: when the engine had its first token. first_written: when the server's event loop
# had given that token to the network.
#
# Return a dictionary with three entries. "parts": a list, for each row a dictionary with the
# milliseconds in
#
#     "client"      from due to sent: the load generator was late
#     "network"     there and back: from sent to the first token at the client,
#                   less the time from received to first_written at the server
#     "queue"       from received to scheduled
#     "prefill"     from scheduled to the first token computed
#     "event loop"  from the first token computed to its writing
#     "decode"      from the first to the last token, as the client sees them
#
# The six add up to the latency, last_token - due. A time may be None, or server may be None: the
# request was refused, or the test ended too soon. Such a row has no latency: its entry is None. It
# is counted in "left_out", so that nobody takes the others for all.
#
# "slowest": the name of the part with the largest sum over the slowest 1 % of the other rows. These
# are the n / 100 rows, rounded up, with the largest latencies, and every row that is as slow as the
# fastest of them. If two parts have the same sum, the one that comes first above. None if every row
# is left out.
# ---------------------------------------------------------------------------------------------
def where_the_time_went(rows: list[tuple[dict, dict | None]]) -> dict:
    """The three entries; see above.

    Example: of one row, ({"due": 0, "sent": 5, "first_token": 105, "last_token": 400}, {"received":
    9010, "scheduled": 9040, "first_computed": 9090, "first_written": 9100, "last_written": 9395}),
    it is {"parts": [{"client": 5, "network": 10, "queue": 30, "prefill": 50, "event loop": 10,
    "decode": 295}], "left_out": 0, "slowest": "decode"}.
    """
    # YOUR CODE for Exercise 12.4 begins here
    raise NotImplementedError("Exercise 12.4: Where did the time go?: not written yet")
    # YOUR CODE for Exercise 12.4 ends here

"""Exercises of lesson 12: a server.

Change none of your arguments: the caller still uses them.

Save this file, then press Check on its card in the lesson, or run `python -m minibatch grade 12.1`.
"""

import asyncio
import codecs
from collections.abc import AsyncIterator, Awaitable, Callable


# ---------------------------------------------------------------------------------------------
# Exercise 12.1: Read a stream
# 4 points, 20 minutes, difficulty 2 of 5
# lessons/12_a_server.ipynb, "Your turn: read a stream"
#
# Each client and each gateway of an LLM server reads streams. The network cuts a stream anywhere:
# between two letters, between the bytes of one letter, or between \r and \n. A reader that does not
# join the parts shows broken letters, or loses tokens.
#
# A server streams its answer as server-sent events: lines of text in UTF-8, in which an empty line
# ends an event. Write the reader. `feed` gets the next bytes, and returns the data of each event
# that these bytes complete.
#
#     : keep-alive            a comment: the line begins with a colon
#     event: token            a field with the name "event"
#     data: {"text":          a field with the name "data"
#     data:  "Rome: "}        a second field "data"; its value begins with a space
#                             an empty line ends the event. The event's data is
#                             '{"text":\n "Rome: "}'
#
# The name of a field is everything before the first colon of the line. The value is everything
# after this colon; if the value begins with spaces, leave out one space. The data of an event is
# the values of its data fields, joined by "\n". Ignore comments and other fields. Only an empty
# line completes an event.
#
# Also, for rare streams (HTML Standard, sections 9.2.5 and 9.2.6):
#
# - A line ends with \n, \r\n or \r, and with no other character. A line has ended as soon as its \r
#   has come; if a \n follows, this \n belongs to the same end and is not an empty line.
#
# - A line without a colon is a name with an empty value. Names must match exactly: "Data" and
#   "data " are not "data".
#
# - `feed` returns nothing for an event without a data field, and "" for an event whose only data
#   field has an empty value.
#
# - Leave out one byte order mark (the bytes EF BB BF) at the beginning of the stream.
#
# - Bytes that are not UTF-8 become "\ufffd".
# ---------------------------------------------------------------------------------------------
class Events:
    r"""One stream of server-sent events. Each object reads its own stream.

    Example: events = Events(). events.feed(b"data: a\n") is [], and then events.feed(b"\ndata") is
    ["a"], and then events.feed(b": b\n\n: c\n\n") is ["b"].
    """

    def __init__(self) -> None:
        # YOUR CODE for Exercise 12.1 (__init__) begins here
        raise NotImplementedError("Exercise 12.1: Read a stream: not written yet")
        # YOUR CODE for Exercise 12.1 (__init__) ends here

    def feed(self, data: bytes) -> list[str]:
        """The data of each event that these bytes complete, in order; [] if there is none."""
        # YOUR CODE for Exercise 12.1 (feed) begins here
        raise NotImplementedError("Exercise 12.1: Read a stream: not written yet")
        # YOUR CODE for Exercise 12.1 (feed) ends here


# ---------------------------------------------------------------------------------------------
# Exercise 12.2: A client that hangs up
# 5 points, 45 minutes, difficulty 3 of 5
# lessons/12_a_server.ipynb, "Your turn: a client that hangs up"
#
# Write the coroutine `answer`: it answers one request of a server. If the client disconnects, a
# careless server goes on computing, and keeps the request's KV blocks. The arguments are:
#
#     tokens       an async iterator: the pieces of text that the engine computes. It
#                  ends when the answer is complete. It may raise any exception: then
#                  the engine has already ended the request
#     send(text)   await it: sends text to the client, slowly if the client reads
#                  slowly. Raises ConnectionError, or a subclass, if the client has
#                  disconnected
#     hung_up()    await it: returns when the client hangs up; else it waits forever
#     abort()      a plain function: ends the request in the engine and frees its KV
#                  blocks. After this, `tokens` waits forever
#     stream       True: send each piece. False: send the whole text once
#
# Three moments at which the client may hang up. Here stream is True, and each send takes 15 ms:
#
#     ms       0    5    10   15   20   25   30   35   40   45   50   55
#     tokens             "He"                          "llo"     end
#     send               [---- "He" ---]               [--- "llo" ----]
#     hang-up       1                        2                     3
#
#     1  before the first piece    abort() at 5; no send
#     2  between two pieces        abort() at 30
#     3  during the last send      abort() at 52: your code is in `send` until 55,
#                                  so it has not received the end, which came at 50
#
# If the client does not hang up, your code receives the end at 55, and does not call abort. The
# rules:
#
# 1. stream is True: send each piece as soon as it comes, one after the other.
#
# 2. stream is False: send the whole text once, when `tokens` has ended, even an empty text. Before
#    this, only `hung_up` tells you that the client has gone.
#
# 3. A hang-up is: `hung_up` returns, or a `send` raises ConnectionError. After a failed send,
#    `hung_up` may never return.
#
# 4. After a hang-up, return at once. Do not wait for a piece or for a running `send`.
#
# 5. After a hang-up or a cancellation, call abort immediately and once, unless `tokens` has ended.
#
# 6. "`tokens` has ended" means: your code has received its end or its exception. Then the engine no
#    longer has the request. So never call abort, even if the client hangs up at this moment.
#
# 7. An exception of `tokens` passes unchanged to the caller; a ConnectionError of `send` does not.
#
# 8. A server that shuts down cancels your task: let the CancelledError pass to the caller.
#
# 9. When `answer` ends, all tasks that it started have ended.
# ---------------------------------------------------------------------------------------------
async def answer(
    tokens: AsyncIterator[str],
    send: Callable[[str], Awaitable[None]],
    hung_up: Callable[[], Awaitable[None]],
    abort: Callable[[], None],
    stream: bool,
) -> None:
    """Answers one request. Several of these run at the same time.

    Example: the timeline above, with the hang-up at 30 ms. If stream is True: send("He") at 10 ms,
    abort() at 30 ms. If stream is False: only abort() at 30 ms.
    """
    # YOUR CODE for Exercise 12.2 begins here
    raise NotImplementedError("Exercise 12.2: A client that hangs up: not written yet")
    # YOUR CODE for Exercise 12.2 ends here


# ---------------------------------------------------------------------------------------------
# Exercise 12.3: Where did the time go?
# 4 points, 20 minutes, difficulty 3 of 5
# lessons/12_a_server.ipynb, "Your turn: where did the time go?"
#
# A client and a server have each recorded times, in whole milliseconds of their own clocks. The
# offset between the two clocks is not known. For each request there is a row (client, server). It
# has two dictionaries with these times:
#
#     client   {"due", "sent", "first_token", "last_token"}
#     server   {"received", "scheduled", "first_computed", "first_written", "last_written"}
#
# `due`: when the load generator should have sent the request. `scheduled`: when the request's
# prefill began. `first_computed`: when the engine had the first token. `first_written`: when the
# server's event loop wrote the first token to the network.
#
# Return a dictionary with three entries. "parts" is a list with a dictionary for each row: the
# milliseconds of
#
#     "client"      from due to sent: the load generator was late
#     "network"     both ways: the time from sent to first_token, minus the time
#                   from received to first_written
#     "queue"       from received to scheduled
#     "prefill"     from scheduled to first_computed
#     "event loop"  from first_computed to first_written
#     "decode"      from first_token to last_token, at the client
#
# The six parts add up to the latency, last_token - due. If the request was refused, or the test
# ended too soon, one of the times is None, or server is None. Such a row has no latency: its entry
# in "parts" is None. "left_out" is the number of such rows, so that a reader sees how many are
# missing.
#
# "slowest" is the name of a part. Let n be the number of rows that are not left out. Sort these
# rows by latency, and take the slowest n / 100 of them, rounded up. Also take every other row whose
# latency equals the smallest latency taken. Add up each part over these rows: the part with the
# largest sum is "slowest". If two sums are equal, choose the part that comes first in the list
# above. If n is 0, "slowest" is None.
# ---------------------------------------------------------------------------------------------
def where_the_time_went(rows: list[tuple[dict, dict | None]]) -> dict:
    """The three entries; see above.

    Example: for one row, ({"due": 0, "sent": 5, "first_token": 105, "last_token": 400},
    {"received": 9010, "scheduled": 9040, "first_computed": 9090, "first_written": 9100,
    "last_written": 9395}), the result is {"parts": [{"client": 5, "network": 10, "queue": 30,
    "prefill": 50, "event loop": 10, "decode": 295}], "left_out": 0, "slowest": "decode"}.
    """
    # YOUR CODE for Exercise 12.3 begins here
    raise NotImplementedError("Exercise 12.3: Where did the time go?: not written yet")
    # YOUR CODE for Exercise 12.3 ends here


# ---------------------------------------------------------------------------------------------
# Exercise 12.4: KV blocks of a step in flight
# 4 points, 20 minutes, difficulty 3 of 5
# lessons/12_a_server.ipynb, "Your turn: KV blocks of a step in flight"
#
# With overlap, an engine launches step n + 1 before it has collected the tokens of step n. So a
# request may end while a later step with its row is in flight. This step still writes K and V into
# the request's blocks. On one stream of a GPU this is safe, because all steps are executed in
# order. With a second stream, the step may write into a block after another request has got this
# block, and overwrite the new K and V. Decide when blocks may be freed, so that every order is
# safe. The engine reports each event to you:
#
#     launched(step, requests)  a step is in flight, with a row for each request
#                               in this list
#     ended(request, blocks)    the request leaves: complete, aborted or preempted.
#                               No later step has a row of this request, unless the
#                               request comes back with other blocks
#     collected(step)           this step has been computed: it writes nothing more
#
# `ended` and `collected` return the blocks that may be freed now. The blocks of an ended request
# may be freed as soon as the last step that was launched with its row has been collected, and not
# earlier. If no step in flight has its row, `ended` returns the blocks. Return each block once.
#
# Steps have rising numbers and are collected in the order of their launches. A step may have no
# requests. Any number of steps may be in flight, usually at most two. A preempted request may come
# back with the same id and other blocks while an old step is still in flight. The blocks of several
# requests may wait for one step. You may return the blocks in any order. The engine empties its
# lists after the call, so copy the numbers that you keep.
# ---------------------------------------------------------------------------------------------
class Releases:
    """Which blocks may be freed, and when.

    Example: r = Releases(). r.launched(1, ["A", "B"]), r.launched(2, ["A"]), and A ends: r.ended(
    "A", [7, 4]) is []. r.collected(1) is [], r.ended("B", [5]) is [5], r.collected(2) is [7, 4].
    """

    def __init__(self) -> None:
        # YOUR CODE for Exercise 12.4 (__init__) begins here
        raise NotImplementedError("Exercise 12.4: KV blocks of a step in flight: not written yet")
        # YOUR CODE for Exercise 12.4 (__init__) ends here

    def launched(self, step: int, requests: list[str]) -> None:
        """A step is in flight, with a row for each of these requests."""
        # YOUR CODE for Exercise 12.4 (launched) begins here
        raise NotImplementedError("Exercise 12.4: KV blocks of a step in flight: not written yet")
        # YOUR CODE for Exercise 12.4 (launched) ends here

    def ended(self, request: str, blocks: list[int]) -> list[int]:
        """The blocks of this request that may be freed now: all or none."""
        # YOUR CODE for Exercise 12.4 (ended) begins here
        raise NotImplementedError("Exercise 12.4: KV blocks of a step in flight: not written yet")
        # YOUR CODE for Exercise 12.4 (ended) ends here

    def collected(self, step: int) -> list[int]:
        """The blocks that may be freed now: those of all requests that waited for this step."""
        # YOUR CODE for Exercise 12.4 (collected) begins here
        raise NotImplementedError("Exercise 12.4: KV blocks of a step in flight: not written yet")
        # YOUR CODE for Exercise 12.4 (collected) ends here

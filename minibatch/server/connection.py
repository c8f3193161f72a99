"""One connection, whose client must send the head of a request in time.

uvicorn has a time limit only for a connection on which nothing comes. One that sends a byte now and
then would be open for ever, and a program can open as many as there are file descriptors.

    open ──── head ────> answer ──── rest of a body that was not read, next head ────> answer
         HEAD_SECONDS                          HEAD_SECONDS

The body of a request that is being served has limits of its own (guards.Bodies).
"""

from __future__ import annotations

import asyncio
from contextlib import suppress

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from .errors import ApiError

BACKLOG = 256  # connections that wait to be accepted; they are, all at once
MOST_CONNECTIONS = 4096  # each is an open file
FEW_FILES = 128  # open files that are no connections
HEAD_SECONDS = 10.0  # for the head of a request to come, after the connection or the last answer


def most_connections() -> int:
    """At one time. Without a free file the event loop could accept none, and would write megabytes
    of errors into the log."""
    with suppress(ImportError):  # Windows has no such limit
        import resource

        soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        if soft != resource.RLIM_INFINITY:
            return max(1, min(MOST_CONNECTIONS, soft - BACKLOG - FEW_FILES))
    return MOST_CONNECTIONS


class Connection(H11Protocol):
    """uvicorn's, with this limit. After it a client that has begun a head is answered 408."""

    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:
        """A client is there."""
        super().connection_made(transport)
        self._wait_for_head()
        if len(self.connections) > most_connections():
            self._longest_waiting().transport.abort()

    def handle_events(self) -> None:
        """Bytes have come, or an answer has ended."""
        super().handle_events()
        if self._is_serving:
            self._stop_waiting()

    def on_response_complete(self) -> None:
        """An answer has ended."""
        super().on_response_complete()
        if not self._is_serving:
            self._wait_for_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """The client is gone."""
        self._stop_waiting()
        super().connection_lost(exc)

    def _longest_waiting(self) -> Connection:
        """Of all connections, the one whose head is due first: this one, if all others serve."""
        waiting = [c for c in self.connections if c._timer and not c.transport.is_closing()]
        return min(waiting, key=lambda c: c._timer.when(), default=self)

    @property
    def _is_serving(self) -> bool:
        return self.conn.our_state in (h11.SEND_RESPONSE, h11.SEND_BODY)

    def _wait_for_head(self) -> None:
        self._stop_waiting()
        if not self.transport.is_closing():
            self._timer = self.loop.call_later(HEAD_SECONDS, self._too_late)

    def _stop_waiting(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _too_late(self) -> None:
        if self.transport.is_closing():
            return
        if self.conn.their_state is h11.IDLE and self.conn.trailing_data[0]:
            error = ApiError(408, f"the request head did not arrive within {HEAD_SECONDS:g} s")
            response = error.response()
            head = [*self.server_state.default_headers, *response.raw_headers]
            for event in (
                h11.Response(status_code=408, headers=head, reason=b"Request Timeout"),
                h11.Data(data=response.body),
                h11.EndOfMessage(),
            ):
                self.transport.write(self.conn.send(event))
        self.transport.close()

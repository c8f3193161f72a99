"""What the engine thread delivers to the event loop, for one HTTP request.

Only the event loop uses an Answer. Before changing this file: a reader that is too slow must not
stop the others. Tokens wait here while a socket is full, and an answer with too many of them ends.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import NamedTuple

from ..core.completion import FinishReason
from .errors import ApiError, Disconnected


class News(NamedTuple):
    """New tokens of choice `index`. finish_reason: None until the choice has ended."""

    index: int
    token_ids: list[int] | tuple[int, ...]
    finish_reason: FinishReason | None


class Written(NamedTuple):
    """When the tokens of one HTTP request were written to its socket, in `perf_counter` seconds.

    received: when its head had come. times: one for each token, taken just before its write; those
    of one write are equal.
    """

    request_id: str
    received: float
    times: list[float]


class Answer:
    """The choices of one HTTP request, as they come.

    num_choices: how many were asked for. each_token: whether tokens are delivered as they come, or
    all of a choice at its end. on_stuck: called when it is closed while its reader may be waiting
    for a full socket. num_unsent: delivered tokens that no call of `news` has taken yet.
    """

    def __init__(self, num_choices: int, each_token: bool) -> None:
        self.num_choices, self.each_token = num_choices, each_token
        self.num_open, self.num_unsent = num_choices, 0
        self.on_stuck: Callable[[], object] | None = None
        self._closed: set[int] = set()
        self._news: list[News] = []
        self._error: Exception | None = None
        self._waiter: asyncio.Future[None] | None = None

    @property
    def is_over(self) -> bool:
        """Whether nothing more will be delivered."""
        return self.num_open == 0 or self._error is not None

    @property
    def was_hung_up(self) -> bool:
        """Whether its client is gone, or was too slow."""
        return isinstance(self._error, Disconnected)

    def push(self, news: News) -> None:
        """Deliver new tokens. They are dropped after an error, or if the choice is closed."""
        if self._error is not None or news.index in self._closed:
            return
        self._news.append(news)
        self.num_unsent += len(news.token_ids)
        if news.finish_reason is not None:
            self.close(news.index)
        self._wake()

    def close(self, index: int) -> None:
        """This choice has ended: nothing more is to come for it."""
        self._closed.add(index)
        self.num_open = self.num_choices - len(self._closed)

    def fail(self, error: Exception) -> None:
        """End it with an error, which the reader gets instead of what it has not taken yet."""
        if not self.is_over:
            self._error = error
            self._news.clear()
            self.num_unsent = 0
            self._wake()

    def hang_up(self) -> None:
        """The client is gone."""
        self.fail(Disconnected())

    async def news(self) -> list[News]:
        """Wait for news; returns all there are. Raises ApiError, or Disconnected."""
        while not self._news:
            if self._error is not None:
                raise self._error
            self._waiter = asyncio.get_running_loop().create_future()
            try:
                await self._waiter
            finally:
                self._waiter = None
        news, self._news, self.num_unsent = self._news, [], 0
        return news

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)


def overloaded(message: str) -> ApiError:
    """The error for a server that cannot take a request now."""
    return ApiError(503, message, code="overloaded")

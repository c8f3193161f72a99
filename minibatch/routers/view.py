"""What a router knows of a request and of each replica, and what all routers share.

A view is a report, and a report has an age: what the replica looked like then, not now. Before
changing this file: routers run inside servers, so nothing here may import torch or numpy.
"""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from collections.abc import Callable, Container, Sequence
from typing import NamedTuple

from ..core.request import Request
from ..memory.prefix import hash_of, root


class Incoming(NamedTuple):
    """A request before a replica is chosen for it. num_tokens: of its prompt. prefix_hashes: of its
    full blocks, by memory/prefix.py: the hash of each also depends on all blocks before it.
    session: the conversation or user; None is unknown."""

    num_tokens: int
    prefix_hashes: tuple[bytes, ...] = ()
    session: str | None = None

    @classmethod
    def of(cls, request: Request, block_size: int = 16) -> Incoming:
        """Of a request whose prompt is a list of token ids; its `client` is the session. The block
        of the last token is left out: that token is always computed."""
        prompt, hashes = request.prompt, []
        parent = root(request.cache_salt)
        for begin in range(0, (len(prompt) - 1) // block_size * block_size, block_size):
            parent = hash_of(parent, prompt[begin : begin + block_size])
            hashes.append(parent)
        return cls(len(prompt), tuple(hashes), request.client)


class ReplicaView(NamedTuple):
    """A replica's last report. replica: its number, from 0. num_running, num_waiting: requests.
    max_running: places in its batch. num_uncached_tokens: prompt tokens of its requests that were
    not cached and are not computed yet. kv_use: the share of its KV blocks that requests hold, 0 to
    1. num_sent, num_sent_tokens: requests, and their uncached tokens, that the router has sent
    there and the report does not include. cached: hashes of cached blocks. block_size: in tokens.
    """

    replica: int
    num_running: int = 0
    num_waiting: int = 0
    max_running: int = 1
    num_uncached_tokens: int = 0
    kv_use: float = 0.0
    num_sent: int = 0
    num_sent_tokens: int = 0
    cached: Container[bytes] = frozenset()
    block_size: int = 16

    @property
    def num_requests(self) -> int:
        """Waiting and running."""
        return self.num_running + self.num_waiting

    def cached_tokens(self, request: Incoming) -> int:
        """Tokens at the beginning of the prompt that need not be computed here."""
        for i, each in enumerate(request.prefix_hashes):
            if each not in self.cached:
                return i * self.block_size
        return len(request.prefix_hashes) * self.block_size

    def uncached_tokens(self, request: Incoming) -> int:
        """Tokens of the prompt that must be computed here."""
        return request.num_tokens - self.cached_tokens(request)


class Router(ABC):
    """Chooses a replica for each request. Your own router derives from this class and writes
    `choose`. seed: of its random choices; the same calls get the same answers."""

    def __init__(self, seed: int = 0) -> None:
        self.random = random.Random(seed)

    @abstractmethod
    def choose(self, request: Incoming, views: Sequence[ReplicaView]) -> int:
        """The number of the replica that gets the request: `view.replica` of one of the views, of
        which there is at least one."""

    def least(
        self, views: Sequence[ReplicaView], cost: Callable[[ReplicaView], float]
    ) -> ReplicaView:
        """The view with the lowest cost. Ties are broken at random: if all routers took the first,
        the first replica would get most requests."""
        costs = [cost(view) for view in views]
        lowest = min(costs)
        tied = [view for view, each in zip(views, costs, strict=True) if each == lowest]
        return tied[0] if len(tied) == 1 else self.random.choice(tied)

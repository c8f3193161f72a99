"""The prefix cache: what full blocks hold, found again by the chain of hashes that leads to them.

    block 0              block 1                       block 2
    h0 = H(salt, ids)    h1 = H(h0, the next ids)      not full yet: has no hash

K and V of a token depend on every token before it, so a block is known by its own ids *and* its
parent's hash: the same words in another place are another block. Two sequences that compute the
same block at the same time fill two blocks with one hash; both stay known, and a hit takes either.
Before changing this file: a block is in the index from the forward pass that filled it (`register`)
until the pool allocates it again (`forget`). Every hit compares the token ids, not the hash alone.
(vLLM's automatic prefix caching; SGLang keeps a tree instead: Zheng et al., 2024, section 3)
"""

from __future__ import annotations

import hashlib
from array import array
from collections import OrderedDict
from collections.abc import Iterator
from collections.abc import Sequence as Ids
from dataclasses import dataclass, field
from typing import NamedTuple
from weakref import WeakKeyDictionary

from ..core.records import Lookup, Miss
from ..core.request import Sequence

REMEMBERED = 8  # evicted hashes kept for each block of the pool, to name the reason of a miss
LOOKED_AT = 64  # siblings compared to find where a prompt diverged


class Link(NamedTuple):
    """A full block of a sequence's tokens: its hash, its parent's, and the ids themselves."""

    hash: bytes
    parent: bytes
    ids: tuple[int, ...]


@dataclass
class Chain:
    """One sequence in the index: the links of its full blocks, each hashed once; how many blocks of
    its table are registered; the hash of the first block that it computes itself."""

    links: list[Link] = field(default_factory=list)
    num_known: int = 0
    begun: bytes | None = None


def root(salt: str | None) -> bytes:
    """The parent of first blocks. Requests with different salts share no block."""
    return hashlib.sha256(
        b"" if salt is None else b"salt:" + salt.encode(errors="surrogatepass")
    ).digest()


def hash_of(parent: bytes, ids: Ids[int]) -> bytes:
    """sha256 of the parent's hash and the ids, 32 bytes."""
    return hashlib.sha256(parent + array("q", ids).tobytes()).digest()


class PrefixIndex:
    """The blocks of one pool whose content is known. num_blocks: of the pool. block_size: tokens in
    a block. lookups: kept since the last call of `take_news`. num_evicted: prefixes lost so far."""

    def __init__(self, num_blocks: int, block_size: int) -> None:
        self.num_blocks, self.block_size = num_blocks, block_size
        self.lookups: list[Lookup] = []
        self.clear()

    def clear(self) -> None:
        """Forget every block."""
        self.lookups.clear()
        self.num_evicted = self._num_reported = 0
        self._chains: WeakKeyDictionary[Sequence, Chain] = WeakKeyDictionary()
        self._blocks_of: dict[bytes, dict[int, None]] = {}  # by hash, the first registered first
        self._known: dict[int, tuple[Link, str]] = {}  # a block's content; the request behind it
        self._children: dict[bytes, OrderedDict[int, None]] = {}  # blocks, by their parent's hash
        self._begun: dict[bytes, str] = {}  # first blocks that a request computes at the moment
        self._evicted: OrderedDict[bytes, int] = OrderedDict()  # when, in evictions

    def __contains__(self, block_id: int) -> bool:
        return block_id in self._known

    def __len__(self) -> int:
        return len(self._known)

    def __iter__(self) -> Iterator[int]:
        return iter(self._known)

    def link_of(self, block_id: int) -> Link | None:
        """The content of a block; None if it is not known."""
        return self._known[block_id][0] if block_id in self._known else None

    def find(self, sequence: Sequence) -> list[int]:
        """The blocks that hold the longest cached beginning of its tokens, without the last token:
        that one must be computed, since its logits give the next token."""
        num_blocks = (sequence.num_tokens - 1) // self.block_size
        found = []
        for link in self._chain(sequence, num_blocks).links[:num_blocks]:
            blocks = self._blocks_of.get(link.hash, ())
            block_id = next((i for i in blocks if self._known[i][0].ids == link.ids), None)
            if block_id is None:
                break
            found.append(block_id)
        return found

    def note(self, sequence: Sequence, num_found: int) -> None:
        """Record a lookup at admission, and why no more blocks were found."""
        chain = self._chain(sequence, (sequence.num_tokens - 1) // self.block_size)
        miss, num_hits = self._why(sequence, chain, num_found), num_found * self.block_size
        self.lookups.append(Lookup(sequence.request_id, sequence.num_tokens, num_hits, miss))
        if num_found < len(chain.links):
            chain.begun = chain.links[num_found].hash
            self._begun.setdefault(chain.begun, sequence.request_id)

    def take_news(self) -> tuple[tuple[Lookup, ...], int]:
        """The lookups, and the number of evictions, since the last call."""
        lookups, num_evicted = tuple(self.lookups), self.num_evicted - self._num_reported
        self.lookups.clear()
        self._num_reported = self.num_evicted
        return lookups, num_evicted

    def register(self, sequence: Sequence) -> None:
        """Add its computed, full blocks to the index."""
        num_full = min(sequence.num_computed_tokens // self.block_size, len(sequence.block_table))
        chain = self._chain(sequence, num_full)
        for i in range(chain.num_known, num_full):
            link, block_id = chain.links[i], sequence.block_table[i]
            if link.hash == chain.begun:
                self._end(sequence, chain)
            if block_id not in self._known:
                self._blocks_of.setdefault(link.hash, {})[block_id] = None
                self._known[block_id] = link, sequence.request_id
                self._children.setdefault(link.parent, OrderedDict())[block_id] = None
        chain.num_known = num_full

    def leave(self, sequence: Sequence) -> None:
        """Its blocks are about to be released: register them first."""
        self.register(sequence)
        chain = self._chain(sequence, 0)
        self._end(sequence, chain)
        chain.num_known = 0

    def forget(self, block_id: int) -> None:
        """The pool has allocated this block again, so its content is lost. If no other block holds
        the same, that prefix is evicted."""
        if block_id not in self._known:
            return
        link, _ = self._known.pop(block_id)
        siblings, copies = self._children[link.parent], self._blocks_of[link.hash]
        del siblings[block_id], copies[block_id]
        if not siblings:
            del self._children[link.parent]
        if copies:
            return
        del self._blocks_of[link.hash]
        self._evicted[link.hash] = self.num_evicted
        self._evicted.move_to_end(link.hash)
        self.num_evicted += 1
        if len(self._evicted) > REMEMBERED * self.num_blocks:
            self._evicted.popitem(last=False)

    def _chain(self, sequence: Sequence, num_blocks: int) -> Chain:
        """Its chain, with the links of at least `num_blocks` full blocks."""
        chain = self._chains.get(sequence)
        if chain is None:
            chain = self._chains[sequence] = Chain()
        links = chain.links
        while len(links) < num_blocks:
            begin = len(links) * self.block_size
            ids = tuple(sequence.token_ids[begin : begin + self.block_size])
            parent = links[-1].hash if links else root(sequence.request.cache_salt)
            links.append(Link(hash_of(parent, ids), parent, ids))
        return chain

    def _end(self, sequence: Sequence, chain: Chain) -> None:
        if self._begun.get(chain.begun) == sequence.request_id:
            del self._begun[chain.begun]
        chain.begun = None

    def _why(self, sequence: Sequence, chain: Chain, num_found: int) -> Miss:
        at = num_found * self.block_size
        if num_found >= (sequence.num_tokens - 1) // self.block_size:
            return Miss("partial block", at)
        link = chain.links[num_found]
        if link.hash in self._begun:
            return Miss("computed now", at, self._begun[link.hash])
        if link.hash in self._evicted:
            since = self.num_evicted - self._evicted[link.hash]
            return Miss("evicted", at, num_blocks_since=since)
        best, other = -1 if num_found else 0, None  # a prompt may diverge at a block's border, too
        siblings = self._children.get(link.parent, ())
        for block_id in [b for b, _ in zip(reversed(siblings), range(LOOKED_AT), strict=False)]:
            theirs, who = self._known[block_id]
            same = _num_equal(theirs.ids, link.ids)
            if same > best:
                best, other = same, who
        return Miss("diverged", at + best, other) if other else Miss("never seen", at)


def _num_equal(a: Ids[int], b: Ids[int]) -> int:
    """How many of their first ids agree."""
    for i, (x, y) in enumerate(zip(a, b, strict=True)):
        if x != y:
            return i
    return len(a)

"""What a block holds: full blocks of tokens, found again by the chain of hashes that leads to them.

    block 0              block 1                       block 2
    h0 = H(salt, ids)    h1 = H(h0, the next ids)      not full yet: has no hash

K and V of a token depend on every token before it, so a block is known by its own ids *and* its
parent's hash: equal words in another place are another block. Before changing this file: a block
stands in the index from the forward pass that filled it (`register`) until the pool hands it to
somebody else (`forget`). Token ids are compared on every hit; a hash alone is never trusted.
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

REMEMBERED = 8  # evicted hashes that are remembered, for each block of the pool
LOOKED_AT = 64  # siblings that are compared to say where a prompt diverged


class Link(NamedTuple):
    """A full block of a sequence's tokens: its hash, its parent's, and the ids themselves."""

    hash: bytes
    parent: bytes
    ids: tuple[int, ...]


@dataclass
class Chain:
    """What the index knows of a sequence: the links of its full blocks, each hashed once; how many
    of the blocks in its table are known; the hash of the block it has set out to compute."""

    links: list[Link] = field(default_factory=list)
    num_known: int = 0
    begun: bytes | None = None


def root(salt: str | None) -> bytes:
    """The parent of first blocks. Who has another salt finds nothing of yours."""
    return hashlib.sha256(b"" if salt is None else b"salt:" + salt.encode()).digest()


def hash_of(parent: bytes, ids: Ids[int]) -> bytes:
    """sha256 of the parent's hash and the ids, 32 bytes."""
    return hashlib.sha256(parent + array("q", ids).tobytes()).digest()


class PrefixIndex:
    """The blocks of one pool whose content is known. block_size: tokens in a block; num_blocks: of
    the pool."""

    def __init__(self, num_blocks: int, block_size: int) -> None:
        self.num_blocks, self.block_size = num_blocks, block_size
        self.lookups: list[Lookup] = []  # since somebody took them out (`SharingRecord`)
        self.num_evicted = self._num_told = 0  # ever
        self._chains: WeakKeyDictionary[Sequence, Chain] = WeakKeyDictionary()
        self.clear()

    def clear(self) -> None:
        """Forget all of it."""
        self.lookups.clear()
        self._block_of: dict[bytes, int] = {}
        self._known: dict[int, tuple[Link, str]] = {}  # what block holds, and who computed it
        self._children: dict[bytes, OrderedDict[int, None]] = {}  # blocks, by their parent's hash
        self._begun: dict[bytes, str] = {}  # first blocks that someone has set out to compute
        self._evicted: OrderedDict[bytes, int] = OrderedDict()  # when, in evictions

    def __contains__(self, block_id: int) -> bool:
        return block_id in self._known

    def __len__(self) -> int:
        return len(self._known)

    def __iter__(self) -> Iterator[int]:
        return iter(self._known)

    def link_of(self, block_id: int) -> Link | None:
        """What a block holds; None if that is not known."""
        return self._known[block_id][0] if block_id in self._known else None

    def find(self, sequence: Sequence) -> list[int]:
        """The blocks that hold the longest cached beginning of its tokens, but for the last token:
        somebody has to compute that one, since its logits say what comes next."""
        num_blocks = (sequence.num_tokens - 1) // self.block_size
        found = []
        for link in self._chain(sequence, num_blocks).links[:num_blocks]:
            block_id = self._block_of.get(link.hash)
            if block_id is None or self._known[block_id][0].ids != link.ids:
                break
            found.append(block_id)
        return found

    def note(self, sequence: Sequence, num_found: int) -> None:
        """Keep a question that was asked in earnest, and why no more was found."""
        chain, num_hits = self._chain(sequence, 0), num_found * self.block_size
        miss = self._why(sequence, chain, num_found)
        self.lookups.append(Lookup(sequence.request_id, sequence.num_tokens, num_hits, miss))
        if num_found < len(chain.links):
            chain.begun = chain.links[num_found].hash
            self._begun.setdefault(chain.begun, sequence.request_id)

    def news(self) -> tuple[tuple[Lookup, ...], int]:
        """The questions asked, and how many known blocks were given away, since the last call."""
        lookups, num_evicted = tuple(self.lookups), self.num_evicted - self._num_told
        self.lookups.clear()
        self._num_told = self.num_evicted
        return lookups, num_evicted

    def register(self, sequence: Sequence) -> None:
        """Make known what its computed, full blocks hold. Of two with the same content the first
        stays known."""
        num_full = min(sequence.num_computed_tokens // self.block_size, len(sequence.block_table))
        chain = self._chain(sequence, num_full)
        for i in range(chain.num_known, num_full):
            link, block_id = chain.links[i], sequence.block_table[i]
            if link.hash == chain.begun:
                self._end(sequence, chain)
            if link.hash not in self._block_of:
                self._block_of[link.hash] = block_id
                self._known[block_id] = link, sequence.request_id
                self._children.setdefault(link.parent, OrderedDict())[block_id] = None
        chain.num_known = num_full

    def leave(self, sequence: Sequence) -> None:
        """It gives its blocks up: what they hold is made known, and it computes nothing now."""
        self.register(sequence)
        chain = self._chain(sequence, 0)
        self._end(sequence, chain)
        chain.num_known = 0

    def forget(self, block_id: int) -> None:
        """Somebody else writes into this block now."""
        if block_id not in self._known:
            return
        link, _ = self._known.pop(block_id)
        del self._block_of[link.hash]
        siblings = self._children[link.parent]
        del siblings[block_id]
        if not siblings:
            del self._children[link.parent]
        self._evicted[link.hash] = self.num_evicted
        self._evicted.move_to_end(link.hash)
        self.num_evicted += 1
        if len(self._evicted) > REMEMBERED * self.num_blocks:
            self._evicted.popitem(last=False)

    def _chain(self, sequence: Sequence, num_blocks: int) -> Chain:
        """Its chain, with the links of at least so many full blocks."""
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
        best, other = -1 if num_found else 0, None  # a block's border is a place to diverge, too
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

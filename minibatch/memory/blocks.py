"""KV memory as a pool of equal blocks. Knows which blocks are free and how many hold each.

A block stores K and V of `block_size` consecutive tokens, in every layer. The pool deals in ids;
the tensors live in `kv_cache`. Before changing this file: every id is either free (count 0, in
`_free` exactly once) or held (count >= 1); nothing else remembers a block but the `block_table` of
the sequences that hold it, so the books can always be written anew from the tables (`rebuild`).

    allocate ──> held by 1 ── share ──> held by 2, 3, …     only a sole holder may write
       ^             │ free                  │ free
       └── _free  <──┴───────────────────────┘ of the last     least recently freed first

A free block keeps its content until it is taken again. Where `prefixes` (prefix.py) knows what it
is, the block is *cached*: `share` takes it out of `_free` as it is, `allocate` has it forgotten.
"""

import math
from collections import Counter, OrderedDict
from collections.abc import Iterable
from typing import TYPE_CHECKING

from ..core.checks import integer

if TYPE_CHECKING:
    from .prefix import PrefixIndex


class BlockPool:
    """Hands out block ids 0 .. num_blocks - 1.

    num_blocks, block_size: both at least 1; block_size in tokens. (Kwon et al., 2023, section 4)
    num_cached: free blocks that still hold a prefix somebody may ask for; num_shared: blocks that
    two or more hold. copies_owed: (from, to), each a hold on its source (sharing.py).
    prefixes: the index of what blocks hold (prefix.py), None if nobody asks.
    What it hands out and takes back are lists of block ids, integers.
    """

    def __init__(self, num_blocks: int, block_size: int) -> None:
        self.num_blocks = num_blocks = integer("num_blocks", num_blocks, at_least=1)
        self.block_size = integer("block_size", block_size, at_least=1)
        self._is_bound = False
        self._free: OrderedDict[int, None] = OrderedDict()
        self.prefixes: PrefixIndex | None = None
        self.copies_owed: list[tuple[int, int]] = []
        self.rebuild([])

    def bind(self) -> None:
        """Called once, by the engine. Raises RuntimeError if another engine has it already."""
        if self._is_bound:
            raise RuntimeError("this pool already serves an engine; make a new one")
        self._is_bound = True

    @property
    def num_free(self) -> int:
        """How many blocks nobody holds."""
        return len(self._free)

    def ref_count(self, block_id: int) -> int:
        """How many block tables hold this block; 0 if it is free."""
        return self._ref_counts[block_id]

    def is_sole_holder(self, block_id: int) -> bool:
        """Whether whoever holds this block holds it alone, and so may write into it."""
        return self._ref_counts[block_id] == 1

    def allocate(self, num_blocks: int) -> list[int]:
        """Take that many free blocks, or none. Raises MemoryError if fewer are free."""
        if num_blocks > self.num_free:
            raise MemoryError(
                f"{num_blocks} blocks asked, {self.num_free} of {self.num_blocks} free"
            )
        taken = [self._free.popitem(last=False)[0] for _ in range(num_blocks)]
        for block_id in taken:
            self._ref_counts[block_id] = 1
            if self._is_cached(block_id):
                self.num_cached -= 1
                self.prefixes.forget(block_id)
        return taken

    def share(self, block_ids: Iterable[int]) -> None:
        """Add one hold on each block; whoever asks puts them into its own block table.

        Raises ValueError, and changes nothing, if one of them is neither held nor cached.
        """
        block_ids = list(block_ids)
        for block_id in block_ids:
            if not self._times_held(block_id) and not self._is_cached(block_id):
                raise ValueError(f"block {block_id} is held by nobody, so there is none to share")
        for block_id in block_ids:
            self._ref_counts[block_id] += 1
            if self._ref_counts[block_id] == 1:
                del self._free[block_id]
                self.num_cached -= 1
            elif self._ref_counts[block_id] == 2:
                self.num_shared += 1

    def free(self, block_ids: Iterable[int]) -> None:
        """Give up one hold on each block; a block nobody holds is free again.

        Raises ValueError, and changes nothing, if one of them is not held.
        """
        block_ids = list(block_ids)
        for block_id, times in Counter(block_ids).items():
            held = self._times_held(block_id)
            if times > held:
                raise ValueError(
                    f"block {block_id} is given back more often than it is held ({held})"
                )
        for block_id in reversed(block_ids):  # a table's end is taken again before its beginning
            self._ref_counts[block_id] -= 1
            if self._ref_counts[block_id] == 0:
                self._free[block_id] = None
                self.num_cached += self._is_cached(block_id)
            elif self._ref_counts[block_id] == 1:
                self.num_shared -= 1

    def reset(self) -> None:
        """As new: all free, and nothing known of what they hold."""
        if self.prefixes is not None:
            self.prefixes.clear()
        self.rebuild([])

    def rebuild(self, block_tables: Iterable[list[int]]) -> None:
        """Write the books anew: these tables hold their blocks, a copy that is owed to one of them
        holds its source, and every other block is free."""
        counts = Counter(block_id for table in block_tables for block_id in table)
        self.copies_owed = [copy for copy in self.copies_owed if counts[copy[1]]]
        counts.update(source for source, _ in self.copies_owed)
        self._ref_counts = [counts[block_id] for block_id in range(self.num_blocks)]
        free = (i for i in (*self._free, *range(self.num_blocks)) if not counts[i])
        self._free = OrderedDict.fromkeys(free)  # each once, the order kept
        self.num_cached = sum(map(self._is_cached, self._free))
        self.num_shared = sum(times > 1 for times in counts.values())

    def _times_held(self, block_id: int) -> int:
        return self._ref_counts[block_id] if 0 <= block_id < self.num_blocks else 0

    def _is_cached(self, block_id: int) -> bool:
        """Whether what this block holds, or held last, is known."""
        return self.prefixes is not None and block_id in self.prefixes


def enough_blocks(num_sequences: int, num_tokens: int, block_size: int, affordable: float) -> int:
    """KV blocks for so many sequences of so many tokens each, or those that are affordable; at
    least 1."""
    return int(max(1, min(num_sequences * math.ceil(num_tokens / block_size), affordable)))

"""KV memory as a pool of equal blocks. Knows which blocks are free and how many hold each.

A block stores K and V of `block_size` consecutive tokens, in every layer. The pool deals in ids;
the tensors live in `kv_cache`, and `block_manager` writes the tables. Before changing this file:
every id is either free (count 0, in `_free` exactly once) or held (count >= 1).

    allocate ──> held by 1 ── share ──> held by 2, 3, …     only a sole holder may write
       ^             │ free                  │ free
       └── _free  <──┴───────────────────────┘ of the last     least recently freed first

A free block keeps its content until it is allocated again. Where `prefixes` (prefix.py) knows the
content, the block is *cached*: `share` takes it out of `_free` as it is, `allocate` evicts it.
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
    num_cached: free blocks whose content is in the prefix cache; num_shared: blocks that two or
    more tables hold. prefixes: the index of the prefix cache (prefix.py), None without one.
    Block ids are integers. copies_owed: always empty; pools of exercise 5.2 from an earlier edition
    read it.
    """

    copies_owed = ()

    def __init__(self, num_blocks: int, block_size: int) -> None:
        self.num_blocks = num_blocks = integer("num_blocks", num_blocks, at_least=1)
        self.block_size = integer("block_size", block_size, at_least=1)
        self._is_bound = False
        self._free: OrderedDict[int, None] = OrderedDict()
        self.prefixes: PrefixIndex | None = None
        self.rebuild([])

    def bind(self) -> None:
        """Called once, by the engine. Raises RuntimeError if another engine has it already."""
        if self._is_bound:
            raise RuntimeError("this pool already serves an engine; make a new one")
        self._is_bound = True

    @property
    def num_free(self) -> int:
        """How many blocks no table holds."""
        return len(self._free)

    def ref_count(self, block_id: int) -> int:
        """How many block tables hold this block; 0 if it is free."""
        return self._ref_counts[block_id]

    def is_sole_holder(self, block_id: int) -> bool:
        """Whether one table alone holds this block, so that its sequence may write into it."""
        return self._ref_counts[block_id] == 1

    def allocate(self, num_blocks: int) -> list[int]:
        """Take that many free blocks, least recently freed first. Raises MemoryError, and takes
        none, if fewer are free."""
        if num_blocks > self.num_free:
            raise MemoryError(
                f"{num_blocks} blocks needed, {self.num_free} of {self.num_blocks} free"
            )
        taken = [self._free.popitem(last=False)[0] for _ in range(num_blocks)]
        for block_id in taken:
            self._ref_counts[block_id] = 1
            if self._is_cached(block_id):
                self.num_cached -= 1
                self.prefixes.forget(block_id)
        return taken

    def share(self, block_ids: Iterable[int]) -> None:
        """Add one hold on each block; the caller puts them into another block table.

        Raises ValueError, and changes nothing, if one of them is neither held nor cached.
        """
        block_ids = list(block_ids)
        for block_id in block_ids:
            if not self._times_held(block_id) and not self._is_cached(block_id):
                raise ValueError(f"block {block_id} is free, so there is no content to share")
        for block_id in block_ids:
            self._ref_counts[block_id] += 1
            if self._ref_counts[block_id] == 1:
                del self._free[block_id]
                self.num_cached -= 1
            elif self._ref_counts[block_id] == 2:
                self.num_shared += 1

    def free(self, block_ids: Iterable[int]) -> None:
        """Remove one hold from each block; a block without holders is free again.

        Raises ValueError, and changes nothing, if one of them is not held.
        """
        block_ids = list(block_ids)
        for block_id, times in Counter(block_ids).items():
            held = self._times_held(block_id)
            if times > held:
                raise ValueError(f"block {block_id} is freed more often than it is held ({held})")
        for block_id in reversed(block_ids):  # a table's end is taken again before its beginning
            self._ref_counts[block_id] -= 1
            if self._ref_counts[block_id] == 0:
                self._free[block_id] = None
                self.num_cached += self._is_cached(block_id)
            elif self._ref_counts[block_id] == 1:
                self.num_shared -= 1

    def reset(self) -> None:
        """Make every block free, and the prefix cache empty."""
        if self.prefixes is not None:
            self.prefixes.clear()
        self.rebuild([])

    def rebuild(self, block_tables: Iterable[list[int]]) -> None:
        """Count the holders again: these tables hold their blocks; every other block is free."""
        counts = Counter(block_id for table in block_tables for block_id in table)
        self._ref_counts = [counts[block_id] for block_id in range(self.num_blocks)]
        self._free = OrderedDict.fromkeys(i for i in range(self.num_blocks) if not counts[i])
        self.num_cached = sum(map(self._is_cached, self._free))
        self.num_shared = sum(times > 1 for times in counts.values())

    def _times_held(self, block_id: int) -> int:
        return self._ref_counts[block_id] if 0 <= block_id < self.num_blocks else 0

    def _is_cached(self, block_id: int) -> bool:
        """Whether the prefix cache knows the content of this block."""
        return self.prefixes is not None and block_id in self.prefixes


def enough_blocks(num_sequences: int, num_tokens: int, block_size: int, affordable: float) -> int:
    """KV blocks for `num_sequences` of `num_tokens` each, at most `affordable`, and at least 1."""
    return int(max(1, min(num_sequences * math.ceil(num_tokens / block_size), affordable)))

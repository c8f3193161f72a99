"""KV memory as a pool of equal blocks. Knows which blocks are free and how many hold each.

A block stores K and V of `block_size` consecutive tokens of one sequence, in every layer. The pool
deals in ids; the tensors live in `kv_cache`. Before changing this file: every id is either free
(count 0, in `_free` exactly once) or held (count >= 1); nothing else remembers a block but the
`block_table` of the sequences that hold it.
"""

from collections import Counter
from collections.abc import Iterable


class BlockPool:
    """Hands out block ids 0 .. num_blocks - 1.

    num_blocks, block_size: both at least 1; block_size in tokens. (Kwon et al., 2023, section 4)
    """

    def __init__(self, num_blocks: int, block_size: int) -> None:
        for name, value in (("num_blocks", num_blocks), ("block_size", block_size)):
            if value < 1:
                raise ValueError(f"{name} is {value}; it must be 1 or more")
        self.num_blocks = num_blocks
        self.block_size = block_size
        self._ref_counts = [0] * num_blocks  # 1 for now; above 1 once sequences share a block
        self._free = list(
            range(num_blocks - 1, -1, -1)
        )  # a stack: the last one back is the first out

    @property
    def num_free(self) -> int:
        return len(self._free)

    def ref_count(self, block_id: int) -> int:
        """How many block tables hold this block; 0 if it is free."""
        return self._ref_counts[block_id]

    def allocate(self, num_blocks: int) -> list[int]:
        """Take that many free blocks, or none. Raises MemoryError if fewer are free."""
        if num_blocks > self.num_free:
            raise MemoryError(
                f"{num_blocks} blocks asked, {self.num_free} of {self.num_blocks} free"
            )
        taken = [self._free.pop() for _ in range(num_blocks)]
        for block_id in taken:
            self._ref_counts[block_id] = 1
        return taken

    def free(self, block_ids: Iterable[int]) -> None:
        """Give up one hold on each block; a block nobody holds is free again.

        Raises ValueError, and changes nothing, if one of them is not held.
        """
        block_ids = list(block_ids)
        for block_id, times in Counter(block_ids).items():
            held = self._ref_counts[block_id] if 0 <= block_id < self.num_blocks else 0
            if times > held:
                raise ValueError(
                    f"block {block_id} is given back more often than it is held ({held})"
                )
        for block_id in reversed(block_ids):
            self._ref_counts[block_id] -= 1
            if self._ref_counts[block_id] == 0:
                self._free.append(block_id)

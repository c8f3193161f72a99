"""The judge's books on a desk's pool: who holds which block, by the desk's own block tables."""

from __future__ import annotations

import minibatch as mb
from minibatch.course.judging.verdict import Wrong


class Pool(mb.BlockPool):
    """The judge's books on the desk's pool."""

    may_share = False  # whether the task at hand lets two sequences hold the same block

    def set_holders(self, tables: dict[str, list[int]]) -> None:
        """Take over who holds what; raises Wrong where two do that may not, or a block does not
        exist."""
        holder: dict[int, str] = {}
        for name, table in tables.items():
            for block in table:
                if type(block) is not int or not 0 <= block < self.num_blocks:
                    raise Wrong(
                        f"{name}'s block table names block {block}; the pool has 0 to "
                        f"{self.num_blocks - 1}. Take blocks with self.grow or self.pool.allocate."
                    )
                if block in holder and not self.may_share:
                    raise Wrong(
                        f"Block {block} stands in the tables of {holder[block]} and {name}: they "
                        "would write over each other's keys and values."
                    )
                holder[block] = name
        self.rebuild(tables.values())

"""A small map of a pool, as text: which sequence holds which block, before two pools differ.

It is plain data, so that it can be part of a report.
"""

from __future__ import annotations

from dataclasses import dataclass

from markupsafe import Markup

_SHOWN = 16  # blocks


@dataclass(frozen=True, slots=True)
class BlockMap:
    """call: the next call. held_by: the names of each block's holders, "A B"; "" for a free block.
    queue: the free blocks; the first has been free for longest."""

    call: str
    held_by: list[str]
    queue: list[int]

    def as_text(self) -> str:
        """For a terminal: a line of blocks, their holders, and the order of the free ones."""
        places = {block: f"{place}." for place, block in enumerate(self.queue, 1)}
        columns = [
            (str(block), names or "free", places.get(block, ""))
            for block, names in enumerate(self.held_by[:_SHOWN])
        ]
        widths = [max(map(len, column)) for column in columns]
        lines = [f"Before {self.call}:"]
        for title, *cells in zip(("block", "held by", "next"), *columns, strict=True):
            row = "  ".join(map(str.ljust, cells, widths))
            lines.append(f"  {title:<8} {row}".rstrip())
        return "\n".join(lines)

    def as_html(self) -> Markup:
        """For a notebook or a report: the same."""
        return Markup('<pre aria-label="who holds which block">{}</pre>').format(self.as_text())

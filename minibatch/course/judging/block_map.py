"""Who holds which block of a pool, before the call in which two pools part: a small map, as text.

Plain data, so that it can travel in a report.
"""

from __future__ import annotations

from dataclasses import dataclass

from markupsafe import Markup

_SHOWN = 16  # blocks


@dataclass(frozen=True, slots=True)
class BlockMap:
    """call: the one that comes next. held_by: of each block, the names of who holds it, "A B"; ""
    for a free one. queue: the free blocks, the one that has been free for longest in front."""

    call: str
    held_by: list[str]
    queue: list[int]

    def as_text(self) -> str:
        """For a terminal: a line of blocks, who holds each, and which free one comes first."""
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

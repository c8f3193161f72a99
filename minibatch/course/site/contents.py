"""The page of contents: the map, ways through the course, and a card for each lesson, from the
tables and pictures of lessons/README.md.

The parts of the course are named here; everything else is only in that table.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from minibatch.course.site.cells import data_uri

LEAD = (
    "Fifty people ask one model at once. Serve them one after another, in static batches, or let "
    "each join and leave the batch at any step: same model, same answers, several times the speed. "
    "Fifteen lessons on a real model, an engine small enough to read, and your own laptop."
)
COVER = "same_answers"  # lessons/images; the PNG is for previews of a shared link
PARTS = {  # title: the lessons in it
    "Keep the compute busy": range(5),
    "Keep the memory full": range(5, 8),
    "When memory and time run out": range(8, 11),
    "Out in the world": range(11, 100),
}
_ROW = re.compile(
    r"^\| (\d\d) \| \[([^]]+)\]\(([^)]+)\.ipynb\) \| ([^|]+) \| ([^|]+) \| ([^|]+) \|$", re.M
)
_WAY = re.compile(r"^\| ((?:\*\*[^|]+)?) ?\| ([^|]+) \| (\d+) \|$", re.M)
_PICTURE = re.compile(r"\[!\[Lesson (\d\d): ([^]]+)\]\((\S+?)\)\]")


@dataclass(frozen=True)
class Card:
    """A lesson. minutes: reading, and exercises after a "+". picture: a data URI; alt: its text."""

    number: str
    title: str
    page: str
    minutes: str
    teaches: str
    needs: str
    picture: str
    alt: str


def cards(folder: Path) -> dict[str, list[Card]]:
    """Each part's lessons, from README.md in their folder."""
    text = (folder / "README.md").read_text(encoding="utf-8")
    pictures = {number: (alt, folder / name) for number, alt, name in _PICTURE.findall(text)}
    parts: dict[str, list[Card]] = {}
    for number, title, stem, *says in _ROW.findall(text):
        alt, path = pictures[number]
        part = next(name for name, lessons in PARTS.items() if int(number) in lessons)
        card = Card(number, title, f"{stem}.html", *says, data_uri(path), alt)
        parts.setdefault(part, []).append(card)
    return parts


def ways(folder: Path) -> list[tuple[str, str, int]]:
    """The ways through the course: what it is for, "" where it goes on; its lessons; minutes."""
    text = (folder / "README.md").read_text(encoding="utf-8")
    found = []
    for way, lessons, minutes in _WAY.findall(text):
        plain = re.sub(r"\[([^]]+)\]\([^)]*\)", r"\1", way).replace("*", "")
        found.append((plain, lessons, int(minutes)))
    return found


def cover(root: Path) -> tuple[str, str]:
    """The course's head picture, as a data URI, and its alt text."""
    name = f"lessons/images/{COVER}.svg"
    text = (root / "README.md").read_text(encoding="utf-8")
    return data_uri(root / name), re.search(rf"!\[([^]]+)\]\({name}\)", text)[1]

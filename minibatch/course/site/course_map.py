"""The map of the course as an SVG: the lessons in four parts, and what each one needs.

It is drawn from the table in lessons/README.md, so the map and the table agree. The site's cover
shows it, and lessons/images/map.svg is the same for readers of that page:

    python -m minibatch.course.site.course_map
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from minibatch.course.setup import ROOT
from minibatch.course.site.contents import Card, cards
from minibatch.plots.pages import pages

HUB = "04"  # the lesson that everything after it needs
FILE = ROOT / "lessons" / "images" / "map.svg"
_WIDE, _HIGH, _ACROSS, _DOWN = 270, 62, 330, 84  # a box, and from one to the next
_FIRST, _TOP, _BELOW = 182, 40, 220  # width of a box of Part I; y of its row; y of the others
_PAGES = pages(__file__)


@dataclass(frozen=True)
class Box:
    """A lesson on the map. x, y: its upper left corner; helps: lessons that help and are not
    needed."""

    card: Card
    x: int
    y: int
    width: int
    needs: tuple[str, ...]
    helps: tuple[str, ...]

    @property
    def middle(self) -> float:
        return self.x + self.width / 2

    @property
    def minutes(self) -> str:
        lesson, _, exercises = self.card.minutes.partition(" + ")
        return f"{lesson} min" + (f" + {exercises} for exercises" if exercises else "")

    @property
    def besides(self) -> str:
        """What it needs besides the lesson that its arrow comes from, and what helps."""
        more = [number for number in self.needs if number != HUB]
        said = [f"needs {' and '.join(more)} too"] if more and self.card.number > HUB else []
        if self.helps:
            said.append(f"{' and '.join(self.helps)} help" + "s" * (len(self.helps) == 1))
        return "; ".join(said)


def needs(card: Card) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The numbers of the lessons that a lesson needs, and of those that help."""
    parts = card.needs.split(";")
    helping = {number for part in parts if "help" in part for number in _numbers(part)}
    return tuple(n for n in _numbers(card.needs) if n not in helping), tuple(sorted(helping))


def boxes(parts: dict[str, list[Card]]) -> list[list[Box]]:
    """The boxes of each part: the first part in a line, the others in columns below it."""
    first, *others = parts.values()
    rows = [[Box(c, 20 + i * 200, _TOP, _FIRST, *needs(c)) for i, c in enumerate(first)]]
    for column, lessons in enumerate(others):
        x = 20 + column * _ACROSS
        rows.append(
            [Box(c, x, _BELOW + i * _DOWN, _WIDE, *needs(c)) for i, c in enumerate(lessons)]
        )
    return rows


def course_map() -> str:
    """The map, as an SVG file."""
    parts = cards(ROOT / "lessons")
    placed = boxes(parts)
    hub = next(box for box in placed[0] if box.card.number == HUB)
    return _PAGES.get_template("course_map.html").render(
        titles=list(parts),
        rows=placed,
        hub=hub,
        high=_HIGH,
        height=_BELOW + max(map(len, placed[1:])) * _DOWN + 10,
        words=words(parts),
    )


def words(parts: dict[str, list[Card]]) -> str:
    """The map for a reader who cannot see it."""
    lines = [
        f"{card.number} needs {', '.join(needs(card)[0]) or 'nothing'}"
        for lessons in parts.values()
        for card in lessons
    ]
    return f"What each lesson needs: {'; '.join(lines)}."


def _numbers(text: str) -> list[str]:
    return re.findall(r"\b\d\d\b", text)


if __name__ == "__main__":
    FILE.write_text(course_map(), encoding="utf-8")

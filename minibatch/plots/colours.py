"""Colours that mean the same in every picture of the course."""

import re

INK = "#222222"
FAINT = "#777777"
# Okabe & Ito (2008), without black
COLOURS = (
    "#E69F00",
    "#56B4E9",
    "#009E73",
    "#F0E442",
    "#0072B2",
    "#D55E00",
    "#CC79A7",
    "#999999",
)


def colour_of(request_id: str) -> str:
    """A request keeps its colour through the whole course: by its letter, or else by its number."""
    if request_id[0] in "ABCDEFGH":
        return COLOURS["ABCDEFGH".index(request_id[0])]
    digits = re.findall(r"\d+", request_id)
    return COLOURS[int(digits[-1]) % len(COLOURS) if digits else sum(map(ord, request_id)) % 8]


def ink_on(colour: str) -> str:
    """Letters that can be read on one of COLOURS, with a contrast of 4.5 to 1 or more (WCAG 2)."""
    return "#FFFFFF" if colour == "#0072B2" else "#000000"

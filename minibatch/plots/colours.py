"""Colours that mean the same in every picture of the course, in a player and in a verdict.

Waste is loud: solid vermillion, with its number inside. Work is one calm hue, with letters on it.
The one to three requests that a picture is about have colours of their own. Empty is white.
No meaning is carried by colour alone: hatches and letters repeat it (`HATCHES`).
"""

import re
from collections.abc import Sequence

INK = "#222222"
FAINT = "#777777"
WORK = "#7DBBE8"  # a row that yields a token
WASTE = "#C75000"  # computed, but never used
FADED = "#E58A4A"  # the hatch on waste
EMPTY = "#FFFFFF"
WAITS = "#EEEEEE"  # has arrived, but computes nothing; memory that its request fills later
UNFILLED = "#B4B4B4"  # memory that its request never fills
PAUSES = "#767676"  # has begun, and waits: loud, but not waste
GUESS = "#7A2E63"  # your prediction
PROTAGONISTS = ("#007F5C", "#E69F00", "#B04A86")
DARK = "filter: invert(0.93) hue-rotate(180deg)"  # a dark theme inverts the lightness
HATCHES = {"decode": "", "prefill": "////", "padding": "\\", "wasted": ".."}
BURNT = {"facecolor": WASTE, "edgecolor": FADED, "hatch": HATCHES["padding"]}  # in mark and legend
LIMIT = {"color": INK, "linestyle": (0, (6, 3)), "linewidth": 2}  # a line that a limit draws
# Okabe & Ito (2008), without black; green, vermillion and purple darker, for white letters
COLOURS = (
    "#E69F00",
    "#56B4E9",
    "#007F5C",
    "#F0E442",
    "#0072B2",
    "#C75000",
    "#B04A86",
    "#999999",
)


def colour_of(request_id: str) -> str:
    """A request's colour in a picture where every request has its own: by its letter, or else by
    its number. The second request of a letter (A2 after A, A/1 beside A) is paler, the third paler
    still."""
    digits = re.findall(r"\d+", request_id)
    if request_id[0] in "ABCDEFGH":
        colour = COLOURS["CBADEFHG".index(request_id[0])]  # A and H as in PROTAGONISTS
        again = int(digits[-1]) + ("/" in request_id) if digits else 1
        return _paler(colour, 1 - 1 / min(max(again, 1), 3))
    return COLOURS[int(digits[-1]) % len(COLOURS) if digits else sum(map(ord, request_id)) % 8]


def _paler(colour: str, share: float) -> str:
    parts = [int(colour[i : i + 2], 16) for i in (1, 3, 5)]
    return "#" + "".join(f"{round(part + (255 - part) * share):02X}" for part in parts)


def own_colours(highlight: Sequence[str]) -> dict[str, str]:
    """Colours of the one to three requests that a picture is about, in this order. A, A2 and H,
    which the lessons follow, have the same colours in every picture."""
    own = dict(zip(("A", "A2", "H"), PROTAGONISTS, strict=True))
    free = [colour for name, colour in own.items() if name not in highlight]
    others = [name for name in highlight if name not in own]
    own |= dict(zip(others, free, strict=False))
    return {name: own[name] for name in highlight if name in own}


def ink_on(colour: str) -> str:
    """Black or white, whichever has a contrast of at least 4.5 to 1 on `colour` (WCAG 2), and
    almost as much where a dark theme inverts the lightness (`DARK`)."""
    red, green, blue = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return "#000000" if 0.299 * red + 0.587 * green + 0.114 * blue > 128 else "#FFFFFF"

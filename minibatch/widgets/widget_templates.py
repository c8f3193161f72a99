"""The HTML templates of all widgets, and the names that they may use."""

from ..plots.colours import DARK, EMPTY, FAINT, INK, PAUSES, WAITS, WASTE, WORK, colour_of, ink_on
from ..plots.pages import pages

MOST_CHIPS = 24  # requests named in a line; the others are only counted


def count(number: int, what: str) -> str:
    """ "1 row", "1,200 rows"."""
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def ms(seconds: float) -> str:
    """Milliseconds, to three digits."""
    return f"{seconds * 1e3:.3g}"


COLOURS = {"WORK": WORK, "WASTE": WASTE, "EMPTY": EMPTY, "INK": INK, "FAINT": FAINT, "WAITS": WAITS}
PAGES = pages(
    __file__,
    **COLOURS,
    PAUSES=PAUSES,
    DARK=DARK,
    colour_of=colour_of,
    ink_on=ink_on,
    count=count,
    ms=ms,
    most_chips=MOST_CHIPS,
)

"""Two runs of the same requests in virtual time, and the first batch that differs."""

from __future__ import annotations

from itertools import zip_longest

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ...engine.trace import Trace
from ..batches import Batch, batches
from ..colours import INK
from ..picture import TITLE, describe
from .departures import departures


def departure_difference(
    expected: Trace,
    yours: Trace,
    *,
    names: tuple[str, str] = ("expected", "yours"),
    ax: list[Axes] | None = None,
) -> Figure:
    """The departures of both, and the first that differs in its requests or its time.

    Two runs with the same name are one policy: it is shown once, and not compared.
    """
    if names[0] == names[1]:
        return departures({f"{names[0]}, until you have written yours": expected}, ax=ax)
    figure = departures(dict(zip(names, (expected, yours), strict=True)), ax=ax)
    finding, time = _first_difference(expected, yours, names)
    if time is not None:
        for axis in figure.axes[:2]:
            axis.axvline(time, color=INK, linestyle="--", linewidth=2)
    if ax is None:
        figure.suptitle(finding, x=0.01, ha="left", fontsize=TITLE, color=INK)
    describe(figure, f"{finding}.", [axis.get_title(loc="left") for axis in figure.axes[:2]])
    return figure


def _first_difference(
    expected: Trace, yours: Trace, names: tuple[str, str]
) -> tuple[str, float | None]:
    pairs = zip_longest(batches(expected), batches(yours))
    for number, pair in enumerate(pairs, start=1):
        texts = [_described(batch) for batch in pair]
        if texts[0] != texts[1]:
            words = "; ".join(f"{name}: {words}" for name, words in zip(names, texts, strict=True))
            return f"Batch {number} differs. {words}", min(b.departed for b in pair if b)
    return "The same agents start at the same times", None


def _described(batch: Batch | None) -> str:
    if batch is None:
        return "no such batch"
    return f"{', '.join(sorted(batch.names))} at {batch.departed:.2f} s"

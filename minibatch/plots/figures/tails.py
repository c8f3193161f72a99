"""How much of a batch is padding, by batch size."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ...engine.trace import Trace
from ..batches import batches
from ..colours import INK, PROTAGONISTS
from ..guesses import mark, said
from ..picture import TICK, canvas, describe, dress

MARKERS = "osD^"


def tails(
    traces: Mapping[str, Trace], *, guess: str | None = None, ax: Axes | None = None
) -> Figure:
    """A mark for each batch: its size, and the share of its rows that yielded a token.

    traces: of policies that run a batch to its end, by name. guess: the name of a prediction of
    that share, in percent, in full batches. ax: where to draw.
    """
    figure, (axis,) = canvas(1, ax, height=2.6)
    slots = max(trace.max_batch_size for trace in traces.values())
    full = {}
    for number, (name, trace) in enumerate(traces.items()):
        found = list(batches(trace))
        sizes = np.array([len(batch.names) for batch in found])
        shares = np.array([100 * batch.useful for batch in found])
        beside = (number - (len(traces) - 1) / 2) * 0.24
        colour = (PROTAGONISTS[2], "#0072B2", *PROTAGONISTS)[number]
        look = {"color": colour, "markeredgecolor": INK, "markersize": 9, "linestyle": "none"}
        axis.plot(sizes + beside, shares, MARKERS[number], **look, label=name)
        full[name] = shares[sizes == slots]
    finding = _finding(full, slots)
    dress(
        axis, finding + said(guess, "{:.0f}%"), "agents in the batch", "rows that yield a token, %"
    )
    axis.set_ylim(0, 104)
    axis.set_xlim(0.5, slots + 0.5)
    mark(axis, guess, along="y")
    axis.legend(loc="lower left", frameon=False, fontsize=TICK)
    describe(figure, "A mark for each batch: useful rows by size.", [finding])
    return figure


def _finding(full: Mapping[str, np.ndarray], slots: int) -> str:
    shares = [f"{name} {shares.mean():.0f}%" for name, shares in full.items() if len(shares)]
    return f"Rows that yield a token in batches of {slots}: {', '.join(shares) or 'none'}"

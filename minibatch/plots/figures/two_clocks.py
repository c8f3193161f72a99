"""The same requests by two clocks: from when each was due, and from when the client sent it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ..colours import WAITS, WORK
from ..guesses import mark, said
from ..picture import LABEL, canvas, describe, dress


def two_clocks(
    due: Sequence[float],
    sent: Sequence[float],
    first_token: Sequence[float],
    *,
    guess: str | None = None,
    ax: Axes | None = None,
) -> Figure:
    """A line for each request, in the order of their due times: the wait in the client, which the
    clock of "sent" does not count, and the time in the server.

    due, sent, first_token: seconds on one clock. guess: the name of a prediction of the median
    from due, in seconds.
    """
    order = np.argsort(due, kind="stable")
    due, sent, first = (np.asarray(each, float)[order] for each in (due, sent, first_token))
    hidden, shown = sent - due, first - sent
    figure, (axis,) = canvas(1, ax, height=3.6)
    y = np.arange(len(due))
    axis.barh(y, hidden, height=1.0, color=WAITS, label="waits in the client, from due to sent")
    axis.barh(y, shown, left=hidden, height=1.0, color=WORK,
              label="in the server, from sent to the first token")  # fmt: skip
    by_sent, by_due = (float(np.median(each)) for each in (shown, hidden + shown))
    finding = f"Median TTFT: {by_sent:.2f} s from sent, {by_due:.2f} s from due{said(guess)}"
    dress(axis, finding, "seconds after the request was due", "request, by due time")
    axis.set_ylim(len(due) - 0.5, -0.5)
    axis.set_xlim(0, None)
    mark(axis, guess)
    figure.legend(loc="outside lower center", ncols=2, frameon=False, fontsize=LABEL)
    longest = f"the longest wait in the client: {hidden.max():.2f} s"
    describe(figure, "A line for each request, divided at the time it was sent.",
             [finding, longest])  # fmt: skip
    return figure

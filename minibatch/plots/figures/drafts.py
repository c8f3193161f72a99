"""Draft and verification, token by token: drafted, accepted, or replaced by the model's own."""

from __future__ import annotations

from collections.abc import Callable

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch, Rectangle

from ...core.records import RowRecord
from ...engine.trace import Trace
from ..colours import EMPTY, FAINT, INK, WASTE, WORK, ink_on
from ..guesses import said
from ..picture import LABEL, TICK, canvas, describe, dress

LONGEST = 13  # letters of a token that fit into a cell
REJECTED = "\N{BALLOT X}"
DROPPED = {"edgecolor": FAINT, "linestyle": ":"}
OWN = {"facecolor": WORK, "edgecolor": INK}
KEY = (
    Patch(facecolor=WORK, label="accepted"),
    Patch(facecolor=WASTE, label=f"{REJECTED} rejected"),
    Patch(facecolor=EMPTY, **DROPPED, label="dropped"),
    Patch(**OWN, label="the model's own"),
)


def drafts(
    trace: Trace,
    decode: Callable[[list[int]], str],
    request_id: str,
    *,
    first: int = 0,
    most: int = 9,
    guess: str | None = None,
    ax: Axes | None = None,
) -> Figure:
    """A line for each step of one request: its draft tokens, and the model's own token at the end.

    decode: makes text of token ids, such as `model.tokenizer.decode`. first, most: the first of its
    steps with draft tokens to draw, and how many. guess: the name of a prediction of how many steps
    the whole answer takes. A line below states how many steps are not drawn.
    """
    every = [
        (step.index, row)
        for step in trace.steps
        for row in step.rows
        if row.request_id == request_id and row.draft
    ]
    if not every:
        raise ValueError(f"{request_id!r} had no draft tokens in this run")
    shown = every[first : first + most]
    width = max(len(row.draft) for _, row in shown)
    figure, (axis,) = canvas(1, ax, height=1.1 + 0.42 * len(shown))
    for line, (_, row) in enumerate(shown):
        _draw(axis, line, row, width, decode)
    axis.set_xlim(-0.05, width + 1.25)
    before, after = first, len(every) - first - len(shown)
    numbers = {"before these": before, "after these": after}
    more = [f"{n} step{'s' * (n > 1)} {where}" for where, n in numbers.items() if n]
    if more:
        words = f"… not drawn: {' and '.join(more)}"
        axis.text(0, len(shown) - 0.15, words, fontsize=TICK, va="center", color=FAINT)
    axis.set_ylim(len(shown) - (-0.2 if more else 0.4), -1.3)
    axis.set_yticks(range(len(shown)), [f"step {index + 1}" for index, _ in shown])
    axis.set_xticks([])
    axis.tick_params(length=0)
    for n in range(width):
        axis.text(n + 0.5, -0.85, f"draft {n + 1}", ha="center", fontsize=TICK, color=FAINT)
    axis.text(width + 0.75, -0.85, "the model's own", ha="center", fontsize=TICK, color=FAINT)
    finding = f"{request_id}: {_finding([row for _, row in every])}{said(guess)}"
    dress(axis, finding)
    axis.tick_params(axis="y", labelsize=TICK)
    for side in ("left", "bottom"):
        axis.spines[side].set_visible(False)
    figure.legend(handles=KEY, loc="outside lower center", ncols=4, frameon=False, fontsize=TICK)
    describe(figure, f"Draft tokens for {request_id}, a line a step.", [finding])
    return figure


def _finding(rows: list[RowRecord]) -> str:
    kept, drafted = sum(r.num_accepted for r in rows), sum(len(r.draft) for r in rows)
    tokens = sum(len(r.token_ids) for r in rows)
    return f"{tokens} tokens in {len(rows)} steps, {kept} of {drafted} draft tokens accepted"


def _draw(axis: Axes, line: int, row: RowRecord, width: int, decode: Callable) -> None:
    for n, token_id in enumerate(row.draft):
        text = _word(decode, token_id)
        if n < row.num_accepted:
            _cell(axis, n, line, WORK)
            _write(axis, n, line, text)
        elif n == row.num_accepted and row.num_rejected:
            _cell(axis, n, line, WASTE)
            _write(axis, n, line, f"{REJECTED} {text}", color=ink_on(WASTE))
        else:
            _cell(axis, n, line, **DROPPED)
            _write(axis, n, line, text, color=FAINT)
    if len(row.token_ids) > row.num_accepted:
        _cell(axis, width + 0.25, line, **OWN)
        _write(axis, width + 0.25, line, _word(decode, row.token_ids[-1]))


def _word(decode: Callable, token_id: int) -> str:
    text = decode([token_id]).replace("\n", "↵").replace("$", r"\$")
    text = text.strip() or repr(text)
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"


def _cell(axis: Axes, left: float, line: int, colour: str = EMPTY, **look: object) -> None:
    look = {"facecolor": colour, "edgecolor": "white", "linewidth": 1.5, **look}
    axis.add_patch(Rectangle((left + 0.02, line - 0.42), 0.96, 0.84, **look))


def _write(axis: Axes, left: float, line: int, text: str, **more: object) -> None:
    look = {"ha": "center", "va": "center", "fontsize": LABEL, "color": INK, **more}
    axis.text(left + 0.5, line, text, **look)

"""The fifty agents of Part I under each lesson's policy: one line a policy, always drawn alike."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ..colours import FAINT, GUESS, INK, PROTAGONISTS, WASTE, WORK
from ..picture import LABEL, TICK, TITLE, Picture, describe, dress

LESSONS = {"one by one": 1, "padded batches": 2, "with a window": 3, "continuous": 4}
COLUMNS = ("first token,\nmedian", "first token,\nworst", "padding\nrows", "for 1,000\nrequests")


@dataclass(frozen=True, slots=True)
class Line:
    """One run of the fifty agents. seconds: of all its steps. median_s, worst_s: from the start to
    an agent's first token. num_rows: computed, padding included; num_padding: those that no agent
    reads. num_agents: how many were served."""

    seconds: float
    median_s: float
    worst_s: float
    num_rows: int
    num_padding: int
    num_agents: int

    def cost(self, price: float, num_requests: int = 1000) -> float:
        """What `num_requests` such requests cost at `price` an hour of the machine."""
        return self.seconds / self.num_agents * num_requests / 3600 * price


def scoreboard(
    lines: Mapping[str, Line], price: float = 1.0, *, guess: float | None = None
) -> Figure:
    """Bars of seconds, and beside them the other numbers of each line in `LESSONS`.

    lines: by the names in `LESSONS`; a missing one keeps its place and names its lesson. price: of
    an hour of the machine. guess: a prediction of the last line's seconds, in percent of the first.
    """
    figure = Picture(figsize=(11, 3.6), layout="constrained", facecolor="white")
    bars, table = figure.subplots(1, 2, sharey=True, width_ratios=(1, 1.4))
    for place, name in enumerate(LESSONS):
        if name in lines:
            _draw(bars, table, place, lines[name], price)
        else:
            words = f"lesson {LESSONS[name]} adds this line"
            bars.text(0.01, place, words, va="center", fontsize=TICK, color=FAINT,
                      transform=bars.get_yaxis_transform())  # fmt: skip
    finding = _finding(lines)
    dress(bars, "", "seconds of computing")
    bars.set_yticks(range(len(LESSONS)), list(LESSONS))
    bars.set_ylim(len(LESSONS) - 0.5, -1.3)
    longest = max((line.seconds for line in lines.values()), default=1.0)
    bars.set_xlim(0, 1.22 * longest)
    if not lines:
        bars.set_xticks([])
    if guess is not None and "one by one" in lines:
        _mark(bars, guess / 100 * lines["one by one"].seconds, guess)
    table.set_axis_off()
    for column, words in enumerate(COLUMNS):
        table.text(_x(column), -0.6, words, ha="right", va="bottom", fontsize=TICK, color=FAINT)
    figure.suptitle(finding, x=0.01, ha="left", fontsize=TITLE, color=INK)
    told = [", ".join([name, *_words(line, price)]) for name, line in lines.items()]
    describe(figure, "A bar of seconds for each policy.", [finding, *told])
    return figure


def _draw(bars: Axes, table: Axes, place: int, line: Line, price: float) -> None:
    colour = PROTAGONISTS[0] if place == len(LESSONS) - 1 else WORK
    bars.barh(place, line.seconds, height=0.62, color=colour, edgecolor=INK)
    bars.annotate(f"{line.seconds:.1f} s", (line.seconds, place), (5, 0), va="center",
                  textcoords="offset points", fontsize=LABEL, color=INK, zorder=7,
                  bbox={"facecolor": "white", "edgecolor": "none", "pad": 1})  # fmt: skip
    for column, words in enumerate(_words(line, price)[1:]):
        is_waste = column == 2 and line.num_padding
        look = {"color": WASTE, "fontweight": "bold"} if is_waste else {"color": INK}
        table.text(_x(column), place, words, ha="right", va="center", fontsize=LABEL, **look)


def _words(line: Line, price: float) -> list[str]:
    return [
        f"{line.seconds:.1f} s",
        f"{line.median_s:.1f} s",
        f"{line.worst_s:.1f} s",
        f"{line.num_padding:,} of {line.num_rows:,}" if line.num_padding else "none",
        f"€ {line.cost(price):.2f}",
    ]


def _x(column: int) -> float:
    """The right edge of a column, as a share of the table's width."""
    return (0.165, 0.40, 0.77, 1.0)[column]


def _mark(bars: Axes, seconds: float, percent: float) -> None:
    bars.axvline(seconds, color=GUESS, linestyle=(0, (4, 3)), linewidth=2.5, zorder=5)
    box = {"facecolor": "white", "edgecolor": GUESS, "boxstyle": "round,pad=0.25"}
    bars.set_xlim(0, max(bars.get_xlim()[1], 1.3 * seconds))
    bars.annotate(f"your guess: {percent:.0f} %", (seconds, -0.9), (6, 0), va="center", bbox=box,
                  textcoords="offset points", fontsize=TICK, color=INK, zorder=6)  # fmt: skip


def _finding(lines: Mapping[str, Line]) -> str:
    known = [name for name in LESSONS if name in lines]
    if not known:
        return "Fifty agents ask at the same moment: nothing is served yet"
    first, last = known[0], known[-1]
    asked = f"{lines[last].num_agents} agents ask at the same moment"
    if first == last:
        return f"{asked}: {last}, {lines[last].seconds:.1f} s"
    times = lines[first].seconds / lines[last].seconds
    return f"{asked}. “{last}” is {times:.1f} times as fast as “{first}”"

"""The tokens of a few answers over time, and the line of deadlines that they have to beat."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ..colours import COLOURS, INK, WASTE
from ..picture import LABEL, TICK, canvas, describe, dress

LOOKS = tuple(zip((COLOURS[i] for i in (2, 4, 1, 7, 5, 0)), "osD^vP", strict=True))


def token_deadlines(
    answers: Mapping[str, Sequence[float]],
    *,
    ttft: float,
    tpot: float,
    ax: Axes | None = None,
) -> Figure:
    """A line for each answer: which token came when. A token to the right of the deadlines is late,
    and has a cross.

    answers: by name, the seconds from arrival to each token; at most six. ttft, tpot: token i, from
    0 on, is due ttft + i · tpot after the arrival.
    """
    figure, (axis,) = canvas(1, ax, height=3.6)
    longest = max(1, *(len(times) for times in answers.values()))
    last = max(ttft + tpot * longest, *(times[-1] for times in answers.values() if times))
    due = [ttft, ttft + tpot * (longest + 1)]
    axis.plot(due, [0, longest + 1], color=INK, linewidth=2.2, linestyle=(0, (6, 3)))
    axis.fill_betweenx([0, longest + 1], due, [1.08 * max(last, due[1])] * 2, color="#F3F3F3",
                       linewidth=0, zorder=0)  # fmt: skip
    words = f"deadlines: {ttft:g} s, then {1e3 * tpot:g} ms a token"
    axis.annotate(words, (1, 0), (-8, 20), xycoords="axes fraction", textcoords="offset points",
                  ha="right", fontsize=TICK, color=INK)  # fmt: skip
    findings, tardy = [], []
    for (name, times), (colour, marker) in zip(answers.items(), LOOKS, strict=False):
        late = [i for i, time in enumerate(times) if time > ttft + i * tpot + 1e-9]
        tardy += [name] if late else []
        findings.append(_finding(name, times, late))
        if not times:
            continue
        axis.plot(times, range(len(times)), color=colour, linewidth=1.4)
        on_time = [i for i in range(len(times)) if i not in late]
        axis.plot([times[i] for i in on_time], on_time, marker, color=colour, markersize=7,
                  markeredgecolor=INK, markeredgewidth=0.5)  # fmt: skip
        axis.plot([times[i] for i in late], late, "x", color=WASTE, markersize=7,
                  markeredgewidth=2)  # fmt: skip
        axis.annotate(name, (times[-1], len(times) - 1), (9, -4), textcoords="offset points",
                      fontsize=LABEL, color=INK, weight="bold")  # fmt: skip
    axis.set_xlim(0, 1.08 * max(last, due[1]))
    axis.set_ylim(-0.8, longest + 1)
    title = f"Tokens of {' and '.join(tardy)} are late" if tardy else "No token is late"
    dress(axis, title, "seconds since the arrival", "token")
    look = {"linestyle": "", "color": WASTE, "markersize": 7, "markeredgewidth": 2}
    handle = axis.plot([], [], "x", label="a late token", **look)
    axis.legend(handles=handle, loc="upper left", frameon=False, fontsize=TICK)
    describe(figure, "Lines of tokens over time, and the line of their deadlines.",
             [title, *findings])  # fmt: skip
    return figure


def _finding(name: str, times: Sequence[float], late: list[int]) -> str:
    words = f"{name}: "
    if not times:
        return words + "no token"
    words += f"first token after {times[0]:.2f} s, last after {times[-1]:.2f} s, "
    return words + (f"{len(late)} of {len(times)} tokens late" if late else "all in time")

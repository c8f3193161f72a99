"""What clients saw of a fleet on Ray Serve while one of its replicas was killed."""

from __future__ import annotations

from collections.abc import Mapping

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ..colours import COLOURS, INK, LIMIT, WASTE
from ..picture import TICK, canvas, describe, dress

LOOKS = ((COLOURS[4], "o"), (COLOURS[2], "s"), (COLOURS[6], "^"), (COLOURS[1], "D"))
WHOLE = "whole"  # the end of an answer without an error


def recorded_replicas(recorded: Mapping[str, object], *, ax: Axes | None = None) -> Figure:
    """A mark for each request: when it was sent, how long its answer took, and which replica
    gave it. A cross is an answer that ended with an error; a line is the kill.

    recorded: of `python -m minibatch.ray_serve.record`, as in ray_serve/recorded.json.
    """
    figure, (axis,) = canvas(1, ax, height=3.8)
    requests, kill = recorded["requests"], recorded["kill"]
    names = list(dict.fromkeys(each["replica"] for each in requests if "replica" in each))
    killed = names.index(kill["replica"])
    broken = [each for each in requests if each["end"] != WHOLE]
    for i, (name, (colour, marker)) in enumerate(zip(names, LOOKS, strict=False)):
        own = [each for each in requests if each.get("replica") == name and each["end"] == WHOLE]
        axis.plot([each["sent_s"] for each in own], [_took(each) for each in own], marker,
                  color=colour, markeredgecolor=INK, markeredgewidth=0.6, markersize=7,
                  label=f"replica {i}" + ", killed" * (i == killed))  # fmt: skip
    took = [_took(each) for each in broken]
    axis.plot([each["sent_s"] for each in broken], took, "X", color=WASTE, markeredgecolor=INK,
              markersize=15, zorder=5, label="ended with an error")  # fmt: skip
    axis.axvline(kill["at_s"], **LIMIT)
    axis.annotate(" the kill", (kill["at_s"], 1), (0, -4), xycoords=axis.get_xaxis_transform(),
                  textcoords="offset points", va="top", fontsize=TICK, color=INK)  # fmt: skip
    first = {name: min(_sent(requests, name)) for name in names}
    new = [time for time in first.values() if time > kill["at_s"]]
    title = f"A replica is killed: an error ends {len(broken)} of {len(requests)} answers"
    lines = [f"The kill: at {kill['at_s']:.0f} s"]
    if new:
        lines.append(f"A new replica answers from {min(new):.0f} s on")
    dress(axis, title, "time when the request was sent, seconds", "seconds until the answer ends")
    axis.set_ylim(0, None)
    figure.legend(*axis.get_legend_handles_labels(), loc="outside lower center", ncols=4,
                  frameon=False, fontsize=TICK)  # fmt: skip
    counts = [
        f"replica {i}: {sum(each.get('replica') == name for each in requests)} requests"
        for i, name in enumerate(names)
    ]
    describe(
        figure, "A mark for each request, over the time when it was sent.", [title, *lines, *counts]
    )
    return figure


def _took(request: Mapping[str, float]) -> float:
    return request["last_s"] - request["sent_s"]


def _sent(requests: list[Mapping], replica: str) -> list[float]:
    return [each["sent_s"] for each in requests if each.get("replica") == replica]

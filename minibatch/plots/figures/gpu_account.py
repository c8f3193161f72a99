"""The calculated cost of a decode step on a GPU: what is read, and what is computed meanwhile."""

from __future__ import annotations

from collections.abc import Iterable

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ...simulator.presets import H100_80, LLAMA_3_8B, Preset
from ..colours import INK
from ..picture import LABEL, TICK, canvas, describe, dress
from .cost_stack import ARITHMETIC, KV, WEIGHTS

COMPUTED = ("arithmetic with the weights, at the same time", *ARITHMETIC[1:])
PRESET = Preset(LLAMA_3_8B, H100_80)
PITCH = 1.5  # from one batch to the next, where its two bars are 1 high together


def gpu_account(
    batch_sizes: Iterable[int] = (1, 32, 256),
    context: int = 1000,
    *,
    preset: Preset = PRESET,
    ax: Axes | None = None,
) -> Figure:
    """For each batch, a bar of what one step reads, in milliseconds, and below it a bar of the
    arithmetic, which is done meanwhile. All is calculated from the data sheet's two limits, which
    no kernel reaches; without overhead.

    preset: the model and its GPUs; its efficiency is not used. context: tokens of K and V that each
    row reads.
    """
    batch_sizes = list(batch_sizes)
    figure, (axis,) = canvas(1, ax, height=0.95 * len(batch_sizes))
    steps = []
    for place, rows in enumerate(batch_sizes):
        cost = preset.cost(rows, 0, rows * context, 0)
        account = preset.roof.account(cost)
        total = account.weights_s + account.arithmetic_s + account.kv_s
        computing = (cost.flops - cost.attention_flops) / preset.roof.flops_per_s
        top = place * PITCH
        _part(axis, top, 0.6, 0, account.weights_s, WEIGHTS)
        _part(axis, top, 0.6, max(account.weights_s, computing), account.kv_s, KV)
        _part(axis, top + 0.6, 0.3, 0, computing, COMPUTED)
        steps.append(total)
        words = f"{1e3 * total:.1f} ms: {1e3 * total / rows:.2g} ms for each token"
        axis.annotate(words, (1e3 * total, top + 0.3), (6, 0), textcoords="offset points",
                      va="center", fontsize=LABEL, color=INK)  # fmt: skip
    names = ["1 row" if rows == 1 else f"{rows} rows" for rows in batch_sizes]
    axis.set_yticks([place * PITCH + 0.3 for place in range(len(names))], names)
    axis.set_ylim(len(names) * PITCH - 0.4, -0.15)
    axis.set_xlim(0, 1.65e3 * max(steps))
    finding = (
        f"{preset.shape.name} on {preset.roof.name}, calculated: {names[-1]} take "
        f"{steps[-1] / steps[0]:.1f} times as long as {names[0]}"
    )
    dress(axis, finding, f"ms per step; {context:,} tokens of context in each row")
    handles, labels = axis.get_legend_handles_labels()
    named = dict(zip(labels, handles, strict=True))
    look = {"loc": "outside lower center", "ncols": 3, "fontsize": TICK, "frameon": False}
    axis.figure.legend(named.values(), named, **look)
    parts = [f"{name}: {1e3 * s:.1f} ms" for name, s in zip(names, steps, strict=True)]
    describe(figure, "Bars: what a step reads, and what it computes meanwhile.", [finding, *parts])
    return figure


def _part(
    axis: Axes, top: float, height: float, left: float, seconds: float, part: tuple[str, str, str]
) -> None:
    label, colour, hatch = part
    look = {"facecolor": colour, "hatch": hatch, "edgecolor": INK, "linewidth": 0.8}
    place = {"height": height, "left": 1e3 * left, "align": "edge"}
    axis.barh(top, 1e3 * seconds, label=label, **place, **look)

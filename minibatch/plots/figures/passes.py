"""What goes into every pass of one answer: the prompt together, then one token at a time."""

from __future__ import annotations

from itertools import accumulate
from typing import TYPE_CHECKING

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from ...engine.trace import Trace
from ..colours import EMPTY, FAINT, INK, PROTAGONISTS, WORK, ink_on
from ..picture import LABEL, SMALL, canvas, describe, dress

if TYPE_CHECKING:  # importing transformers takes seconds
    from transformers import PreTrainedTokenizerBase

HEAD, TAIL = 1, 6  # tokens of a long prompt that are shown, before and after a gap
LONG = 12  # tokens
EDGE = 1.5  # letters: the margins of a word in its cell, both together
OUT = PROTAGONISTS[0]
FINDING = "The first pass gets the whole prompt; each later pass gets one token"
KEY = (
    "blue: input  ·  green, bold: output, and the next pass's input  ·  "
    "slanted: input of an earlier pass"
)


def passes(
    trace: Trace,
    tokenizer: PreTrainedTokenizerBase,
    *,
    num_passes: int = 5,
    ax: Axes | None = None,
) -> Figure:
    """One line for each of the first passes of the trace's first answer, a cell for each token.

    Blue cells are the input of that pass. White ones were input before: their K and V are read.
    The green one is the output, and the next input. The middle of a long prompt is left out.
    """
    answer = trace.completions[0]
    ids, num_prompt = answer.prompt_token_ids + answer.token_ids, len(answer.prompt_token_ids)
    rows = (r for s in trace.steps for r in s.rows if r.request_id == answer.request_id)
    num_new = [row.num_tokens for row in rows][:num_passes]
    ends = list(accumulate(num_new))  # input tokens so far, after each pass

    hidden = range(HEAD, num_prompt - TAIL if num_prompt > LONG else HEAD)
    shown = [i for i in range(ends[-1] + 1) if i not in hidden or i == HEAD]
    words = {i: _word(tokenizer, ids[i]) for i in shown}
    if hidden:
        words[HEAD] = f"… {len(hidden)} more …"
    *edges, right = accumulate((len(words[i]) + EDGE for i in shown), initial=0)
    lefts = dict(zip(shown, edges, strict=True))

    figure, (axis,) = canvas(1, ax, height=0.46 * len(ends) + 0.4)
    for y, (new, end) in enumerate(zip(num_new, ends, strict=True)):
        for i in shown[: shown.index(end) + 1]:
            colour = OUT if i == end else WORK if i >= end - new else EMPTY
            _cell(axis, lefts[i], y, words[i], colour)
        axis.text(right + 1, y, f"{new} in, 1 out", va="center", fontsize=LABEL, color=INK)
    dress(axis, FINDING, KEY, "pass")
    axis.set_xlim(-0.5, right + 12)
    axis.set_ylim(len(ends) - 0.4, -0.6)
    axis.set_yticks(range(len(ends)), [str(n + 1) for n in range(len(ends))])
    axis.set_xticks([])
    for side in ("left", "bottom"):
        axis.spines[side].set_visible(False)
    axis.tick_params(length=0)
    told = f"{FINDING}. Pass 1 gets {num_new[0]} tokens, and each of the others 1"
    describe(figure, "A line for each pass, a cell for each token.", [told])
    return figure


def _word(tokenizer: PreTrainedTokenizerBase, token_id: int) -> str:
    """The token's text without spaces at its ends; the chat marker <|user|> becomes ‹user›."""
    text = tokenizer.decode([token_id]).strip() or "↵"
    return f"‹{text[2:-2]}›" if text.startswith("<|") else text


def _cell(axis: Axes, left: float, y: int, word: str, colour: str) -> None:
    width = len(word) + EDGE
    edge = FAINT if colour == EMPTY else INK
    axis.add_patch(Rectangle((left, y - 0.4), width, 0.8, facecolor=colour, edgecolor=edge))
    look = {"color": FAINT, "style": "italic"} if colour == EMPTY else {"color": ink_on(colour)}
    weight = "bold" if colour == OUT else "normal"
    look |= {"ha": "center", "va": "center", "fontsize": SMALL, "weight": weight}
    axis.text(left + width / 2, y, word, **look)

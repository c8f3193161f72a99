"""The picture at the head of lesson 02, drawn by draw.py: prompts of different lengths, and the
rectangle that a model takes."""

from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

import minibatch as mb
from minibatch.plots.colours import FAINT, INK, WORK
from minibatch.plots.picture import Picture


def four_lengths() -> Figure:
    """Four questions, a line for each; what is filled up in the empty places is for the lesson."""
    model = mb.load_model("wayfarer")
    questions = (
        "Hotels in Lisbon?",
        "Visa for Cairo?",
        "Plan 2 days in Hanoi.",
        "Make an itinerary of 14 days in Athens.",
    )
    lines = [
        [model.tokenizer.decode([token]).strip().strip("<|>") for token in model.encode(prompt)]
        for prompt in map(model.chat, questions)
    ]
    width = max(map(len, lines))
    figure = Picture(figsize=(11, 3.3), facecolor="white")
    axis = figure.add_axes((0.01, 0, 0.98, 1), xlim=(0, width), ylim=(len(lines) + 0.2, -0.9))
    axis.axis("off")
    title = {"fontsize": 17, "weight": "bold", "va": "center", "color": INK}
    axis.text(0, -0.5, "Four questions, four lengths. A model takes a rectangle.", **title)
    for y, words in enumerate(lines):
        for x, word in enumerate(words):
            look = {"facecolor": WORK, "edgecolor": "white", "linewidth": 2}
            axis.add_patch(Rectangle((x, y + 0.06), 1, 0.88, **look))
            middle = {"ha": "center", "va": "center", "color": INK}
            axis.text(x + 0.5, y + 0.5, word, fontsize=14 if len(word) < 7 else 11, **middle)
        for x in range(len(words), width):
            empty = {"fill": False, "edgecolor": FAINT, "linestyle": ":", "linewidth": 1.5}
            axis.add_patch(Rectangle((x + 0.04, y + 0.1), 0.92, 0.8, **empty))
            axis.text(x + 0.5, y + 0.5, "?", fontsize=14, color=FAINT, ha="center", va="center")
    figure.alt = "Four questions as lines of words; a rectangle around all has empty places."
    return figure

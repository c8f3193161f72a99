"""The picture at the head of lesson 00, drawn by draw.py: what two people see who ask at once."""

import itertools

from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

import minibatch as mb
from minibatch.plots.colours import EMPTY, FAINT, INK, PROTAGONISTS, WAITS, WORK, ink_on
from minibatch.plots.picture import Picture


def start_here() -> Figure:
    """Two who ask, one model: what each of them sees after 39 passes."""
    asked = {
        "Anna": "The client has 5 days for Lisbon. Make an itinerary.",
        "Ben": "Where should Rosa have dinner in Marrakesh?",
    }
    model = mb.load_model("wayfarer")
    engine = mb.Engine(model, mb.Sequential())
    requests = [mb.Request(model.chat(text), request_id=name) for name, text in asked.items()]
    events = list(itertools.islice(engine.stream(requests), 39))
    figure = Picture(figsize=(11, 3.5), facecolor="white")
    axis = figure.add_axes((0, 0, 1, 1), xlim=(0, 11), ylim=(0, 3.5))
    axis.axis("off")
    for left, (name, text) in zip((0.1, 5.6), asked.items(), strict=True):
        said = "".join(event.text for event in events if event.request_id == name)
        edge, paper = (INK, EMPTY) if said else (FAINT, WAITS)
        head = {"Anna": WORK, "Ben": PROTAGONISTS[0]}[name]
        card = Rectangle((left, 0.1), 5.3, 3.3, facecolor=paper, linewidth=0)
        band = Rectangle((left, 2.5), 5.3, 0.9, facecolor=head, edgecolor=edge, linewidth=2)
        frame = Rectangle((left, 0.1), 5.3, 3.3, fill=False, edgecolor=edge, linewidth=2)
        for part in (card, band, frame):
            axis.add_patch(part)
        axis.text(
            left + 0.2, 3.12, name, va="center", fontsize=17, weight="bold", color=ink_on(head)
        )
        axis.text(
            left + 0.2, 2.74, text, va="center", fontsize=13, style="italic", color=ink_on(head)
        )
        if said:
            look = {"fontsize": 16, "linespacing": 1.55, "va": "top"}
            axis.text(left + 0.2, 2.32, said + "▌", color=INK, **look)
        else:
            look = {"fontsize": 22, "ha": "center", "va": "center"}
            axis.text(left + 2.65, 1.3, f"waits, {len(events)} passes so far", color=INK, **look)
    return figure

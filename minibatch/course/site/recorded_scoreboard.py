"""A scoreboard that was measured beforehand: a page has no kernel that could serve the agents.

The four policies took turns, step by step, as in the finale of lesson 04.
"""

from markupsafe import Markup

from minibatch.plots.figures.scoreboard import LESSONS, Line, scoreboard
from minibatch.plots.pages import pages

CARD = "minibatch-scoreboard-"  # a card's class, up to the number of its lesson
MACHINE = "a 2-core AMD EPYC in November 2026, in CPU seconds of one thread; both cores were busy"
LINES = {
    "one by one": Line(10.46, 5.32, 10.39, 4655, 0, 50),
    "padded batches": Line(5.21, 2.62, 5.10, 9690, 5035, 50),
    "with a window": Line(5.15, 2.57, 5.03, 9690, 5035, 50),
    "continuous": Line(2.97, 1.15, 2.48, 4655, 0, 50),
}
_PAGES = pages(__file__)


def recorded(lesson: int) -> Markup:
    """The lines up to this lesson, folded, with the machine that they were measured on."""
    lines = {name: line for name, line in LINES.items() if LESSONS[name] <= lesson}
    page = _PAGES.get_template("recorded.html")
    return Markup(page.render(machine=MACHINE, board=Markup(scoreboard(lines)._repr_html_())))

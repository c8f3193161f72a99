"""What the pages that need a server show without one: a picture of what they would draw.

Each is drawn when the site is made, by the functions that draw on the page itself.
"""

from __future__ import annotations

from markupsafe import Markup

from minibatch.arena import public_scores
from minibatch.course.site.in_browser.own_list import own_list
from minibatch.course.site.in_browser.playground import Asked, Playground
from minibatch.plots import svg
from minibatch.plots.figures.leaderboard import leaderboard


def waits(policy: str, against: str, own: str) -> tuple[Markup, str]:
    """(picture, caption) of the waits under `policy`, a text, on the reader's list `own`."""
    asked = Asked(policy=policy, against=against, slots=3, own=own)
    runs = Playground(asked, own_list(own)).runs
    pictures, end = [], max(run.film.trace.steps[-1].end_time for run in runs)
    for run in runs:
        served = run.film.trace.completions
        slowest = max(served, key=lambda c: c.ttft)
        alt = (
            f"{run.name}: a line for each of {len(served)} requests. {slowest.request_id} waits "
            f"longest, {slowest.ttft:.2f} s for its first token."
        )
        pictures.append(Markup("<p><b>{}</b></p>").format(run.name) + svg.waits(served, end, alt))
    caption = (
        "Recorded when this page was made. Each request waits for its first row (dots) and for its "
        "first token (stripes). Then it generates (blue)."
    )
    return Markup("").join(pictures), caption


def scores() -> tuple[Markup, str]:
    """(picture, caption) of the shipped policies' scores."""
    picture = leaderboard(public_scores()["engine"]["scores"])._repr_html_()
    caption = "Recorded when this page was made. The scores are those of the shipped policies."
    return Markup(picture), caption

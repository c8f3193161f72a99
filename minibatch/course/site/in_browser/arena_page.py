"""The arena on a page: a reader's policy plays the public matches, one call for each.

The policy is trusted here, as in a reader's own notebook. The judge of a class is not here.
"""

from __future__ import annotations

from minibatch import arena
from minibatch.arena.match import PolicyFactory
from minibatch.course.site.in_browser.own_code import CodeError, load
from minibatch.plots.pages import pages

DIVISION = "engine"
YOURS = "your policy"
_PAGES = pages(__file__)
_playing: list[PolicyFactory] = []  # the newest policy
_outcomes: list[arena.Outcome] = []  # of it


def begin(policy: str) -> int:
    """Load a policy's file; the number of matches. Raises CodeError without a `make_policy`."""
    make = getattr(load(policy), "make_policy", None)
    if not callable(make):
        raise CodeError("The arena needs make_policy(max_batch_size, max_batch_tokens) at the end.")
    _playing[:], _outcomes[:] = [make], []
    return len(arena.matches(DIVISION))


def play(number: int) -> None:
    """Play the match with this number, from 0. Raises what the policy raises."""
    _outcomes.append(arena.play(arena.matches(DIVISION)[number], _playing[0]))


def result() -> dict[str, str]:
    """The score of the matches so far: a table, and the line that says the place."""
    played = [outcome.match for outcome in _outcomes]
    found = arena.score(_outcomes, arena.marks(DIVISION, played))
    others = arena.public_scores()[DIVISION]["scores"]
    table = sorted({YOURS: found.total, **others}.items(), key=lambda row: -row[1])
    place = 1 + sum(total > found.total for total in others.values())
    html = _PAGES.get_template("arena_score.html").render(score=found, table=table, yours=YOURS)
    line = f"Score {found.total:.3f}: place {place} of {len(table)} on the public matches."
    return {"html": html, "line": line}

"""A match of either division, in this process."""

from __future__ import annotations

from collections.abc import Callable

from ..routers import Router
from ..schedulers import Scheduler
from .match import Outcome, play_engine
from .traffic import Match

Factory = Callable[[int, int], Scheduler] | Callable[[], Router]


def play(match: Match, factory: Factory, *, trace: bool = False) -> Outcome:
    """Play a match here, with a policy or a router that is trusted.

    factory: makes the policy, from max_batch_size and max_batch_tokens; or the router, from
    nothing. trace: keep every step's record, of an engine. Raises what the policy raises.
    """
    if match.division == "fleet":
        from .fleet_match import play_fleet  # numpy

        return play_fleet(match, factory)
    return play_engine(match, factory, trace=trace)

"""One match of the fleet's division: four replicas of one engine, and the router that is judged.

The router sees reports that are some time old, and no length of any answer. The replicas have the
course's own policy and prefix caches. Columns have the first and the last token of each answer, so
these two are judged.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from ..routers import Router
from ..schedulers import Continuous
from ..simulator.fleet import Fleet
from .match import Fate, Outcome
from .traffic import Match


def play_fleet(match: Match, router_factory: Callable[[], Router]) -> Outcome:
    """Play a match with the router that `router_factory()` makes."""
    return play_router(match, router_factory())


def play_router(match: Match, router: Router, view_age_s: float | None = None) -> Outcome:
    """The match with this router. view_age_s: of its reports; None is the division's."""
    rules = match.rules
    fleet = Fleet(
        Continuous(rules.max_batch_size, rules.max_batch_tokens),
        rules.machine,
        rules.num_replicas,
        router,
        num_blocks=rules.num_blocks,
        block_size=rules.block_size,
        prefix_caching=True,
        view_age_s=rules.view_age_s if view_age_s is None else view_age_s,
    )
    requests = [
        replace(request, max_tokens=length, ignore_eos=True) for request, length in match.requests
    ]
    run = fleet.run(requests)
    end = requests[-1].arrival_time + rules.end_s
    fates = []
    for i, (request, length) in enumerate(match.requests):
        times = float(run.first_token[i]), float(run.finish[i])
        is_done = times[1] <= end  # NaN is not
        fates.append(
            Fate.of(
                match,
                request,
                length,
                ended="stop" if is_done else "unfinished",
                ended_at=times[1] if is_done else None,
                first_scheduled=float(run.first_scheduled[i]),
                token_times=times[: min(2, length)] if is_done else (),
                preemptions=int(run.preemptions[i]),
            )
        )
    return Outcome(match, tuple(fates))

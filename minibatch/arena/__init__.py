"""The arena: policies play the same matches, and one number says how well they kept a promise.

    from minibatch import arena

    outcomes = [arena.play(match, arena.BASELINES["FCFS"]) for match in arena.matches("engine")]
    arena.score(outcomes, arena.marks("engine")).total

SCORE.md gives the score and its reasons.

divisions.py           the machine, the promise and the loads
traffic.py             the requests of a match, and how long each answer will be
match.py               one match with one engine, in this process
fleet_match.py         one match with four replicas and a router
play_match.py          a match of either division
scoring.py             from what became of each request to one number
baselines.py           the policies that every learner is compared with
oracle.py              policies that know the lengths: the score of the best is 1
ablation.py            what each part of a policy is worth, and what it lost
cheaters/              policies that try to score without serving well
make_scores.py         plays oracles and baselines on the public seeds: public_scores.json
template_policy.py     what a learner begins with
template_router.py     the same for the fleet
"""

from .ablation import Explanation, explain, lost
from .baselines import BASELINES, FCFS, ROUTERS, baselines
from .divisions import DIVISIONS, Division, Promise
from .match import Fate, Outcome
from .oracle import marks, public_scores
from .play_match import play
from .scoring import Mark, MatchScore, Score, Value, mark, score
from .traffic import Match, matches

__all__ = [
    "BASELINES",
    "DIVISIONS",
    "FCFS",
    "ROUTERS",
    "Division",
    "Explanation",
    "Fate",
    "Mark",
    "Match",
    "MatchScore",
    "Outcome",
    "Promise",
    "Score",
    "Value",
    "baselines",
    "explain",
    "lost",
    "mark",
    "marks",
    "matches",
    "play",
    "public_scores",
    "score",
]

"""Plays oracles and baselines on the public seeds, and writes public_scores.json.

python -m minibatch.arena.make_scores     # some minutes; after every change of the arena
"""

from __future__ import annotations

import json

from .baselines import baselines
from .divisions import DIVISIONS
from .oracle import SCORES, best
from .play_match import play
from .scoring import score
from .traffic import matches


def main() -> None:
    """Write the file."""
    found = {}
    for division in DIVISIONS:
        public = matches(division)
        marks = {match.key: best(match) for match in public}
        results = {
            name: score([play(match, factory) for match in public], marks)
            for name, factory in baselines(division).items()
        }
        scores = {name: result.total for name, result in results.items()}
        found[division] = {
            "marks": {key: [mark.points, mark.num_refused] for key, mark in marks.items()},
            "scores": scores,
            "by_seed": {name: list(result.by_seed.values()) for name, result in results.items()},
        }
        print(division, scores)
    SCORES.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

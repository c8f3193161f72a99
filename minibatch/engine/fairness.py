"""To whom a run's tokens went, and how evenly."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from ..core.completion import Completion


def tokens_by_client(
    completions: Iterable[Completion], until: float | None = None
) -> dict[str | None, int]:
    """How many tokens each client had received by then, in seconds on the engine's clock."""
    counts: Counter[str | None] = Counter()
    for c in completions:
        counts[c.client] += sum(until is None or time <= until for time in c.token_times)
    return dict(counts)


def fairness(completions: Iterable[Completion], until: float | None = None) -> float:
    """Jain's index of the clients' tokens: 1 if all have the same number, 1/n if one of n has all.

    (Σx)² / (n · Σx²). Once all are served, each client has what it asked for. So give a
    moment before that as `until`. (Jain, Chiu & Hawe, 1984)
    """
    shares = list(tokens_by_client(completions, until).values())
    squares = sum(x * x for x in shares)
    return sum(shares) ** 2 / (len(shares) * squares) if squares else 1.0

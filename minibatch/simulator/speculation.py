"""The gain of speculation, calculated from an acceptance rate and measured steps.

With k draft tokens, each accepted with probability alpha if all before it were, a step generates

    E = 1 + alpha + alpha^2 + … + alpha^k = (1 - alpha^(k+1)) / (1 - alpha)

tokens on average: the 1 is the model's own token, which is always generated. (Leviathan et al.,
2023, "Fast Inference from Transformers via Speculative Decoding", section 3.1)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import log2


def tokens_a_step(acceptance_rate: float, num_guesses: int) -> float:
    """E, the tokens that a row with draft tokens generates on average, its own one included."""
    return sum(acceptance_rate**i for i in range(num_guesses + 1))


def speed_up(acceptance_rate: float, num_guesses: int, draft_cost: float) -> float:
    """How many times the tokens per second, for one request, if a row of a few tokens takes no
    longer than a row of one. draft_cost: c, the cost of one draft token, in steps of the model."""
    return tokens_a_step(acceptance_rate, num_guesses) / (1 + num_guesses * draft_cost)


@dataclass(frozen=True)
class Prediction:
    """Tokens per second of `batch_size` rows, without draft tokens and with them."""

    batch_size: int
    plain_tokens_per_s: float
    tokens_per_s: float

    @property
    def speed_up(self) -> float:
        """How many times the tokens per second."""
        return self.tokens_per_s / self.plain_tokens_per_s


def predict(
    acceptance_rate: float,
    num_guesses: int,
    step_s: Mapping[int, float],
    draft_step_s: Mapping[int, float],
) -> list[Prediction]:
    """A prediction for each batch size B for which `step_s` also has B (k + 1): verifying B rows of
    k + 1 tokens takes about as long as B (k + 1) rows of one token.

    step_s: seconds of the model's decode step, by number of rows. draft_step_s: the same for the
    draft model; {} for a proposer that takes no time.
    """
    gain = tokens_a_step(acceptance_rate, num_guesses)
    found = []
    for rows in sorted(size for size in step_s if size * (num_guesses + 1) in step_s):
        guessing = num_guesses * draft_step_s[rows] if draft_step_s else 0.0
        step = step_s[rows * (num_guesses + 1)] + guessing
        found.append(Prediction(rows, rows / step_s[rows], gain * rows / step))
    return found


def break_even(rates: Sequence[Prediction]) -> float | None:
    """The batch size from which on speculation is not faster, between two of `rates` (in order of
    size). Beyond the last rate, the last two are extrapolated, up to four times its batch size.
    None: no such size, or speculation is faster at no size."""
    points = [(log2(rate.batch_size), rate.speed_up) for rate in rates]
    for (size, times), (next_size, next_times) in pairwise(points):
        if times <= 1:
            return None
        comes_down = next_times <= 1 or next_size == points[-1][0]
        if comes_down and next_times < times:
            found = size + (times - 1) / (times - next_times) * (next_size - size)
            return 2**found if found <= points[-1][0] + 2 else None
    return None


def pays(rates: Sequence[Prediction]) -> str:
    """The largest batch size at which speculation is faster, in words."""
    if rates[0].speed_up <= 1:
        return "at no size"
    last = rates[-1].batch_size
    size = break_even(rates)
    if size and size <= last:
        return f"up to a batch of about {size:.0f}"
    return f"at every size up to {last}"

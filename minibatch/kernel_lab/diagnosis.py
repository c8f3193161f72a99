"""The part of the tokens that a wrong output may come from: a guess, reported only if it fits.

It looks at one row and head. If results of lanes, warps or thread blocks were not joined, or tokens
at the begin or the end are missing, the output is that of a regular part of the tokens.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np

from .threads import listed

POWERS = [2**n for n in range(11)]  # up to the threads of a thread block
MOST_SPANS = 3  # of tokens, in the sentence


def softmax(scores: np.ndarray, axis: int) -> np.ndarray:
    """Weights that add up to 1 along an axis."""
    weights = np.exp(scores - scores.max(axis, keepdims=True))
    return weights / weights.sum(axis, keepdims=True)


def part_that_counted(
    output: np.ndarray, weights: np.ndarray, values: np.ndarray, tolerance: float
) -> str:
    """The tokens that alone give this output [head_dim], in a sentence; "" if no part fits.

    weights: [tokens], of the right output; values: [tokens, head_dim].
    """
    shares = weights[:, None] * values
    for is_in in _parts(len(weights)):
        total = is_in @ weights
        for divisor, ending in ((total, ""), (1.0, ", divided by the weights of all tokens")):
            found = is_in @ shares / divisor
            if np.allclose(output, found, tolerance, tolerance):
                counted = listed("token", np.flatnonzero(is_in).tolist(), MOST_SPANS)
                return f"only {counted} counted{ending}"
    return ""


def _parts(num_tokens: int) -> Iterator[np.ndarray]:
    """Regular parts, bool [tokens]: the first n, the others, and stripes, distributed in turn over
    2, 4, 8 … None of them is empty."""
    tokens = np.arange(num_tokens)
    for n in range(1, num_tokens):
        yield from (tokens < n, tokens >= n)
    for stripe, ways in product(POWERS, POWERS[1:]):
        for turn in range(min(ways, -(-num_tokens // stripe))):
            yield tokens // stripe % ways == turn

"""What a kernel may have done to give a wrong output: a guess, reported only if the numbers fit.

It looks at one row and head. If results of lanes, warps or thread blocks were not joined, the
output is that of a regular part of the tokens. If a shuffle is missing in a score, the score is a
sum over some lanes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product

import numpy as np

from .threads import spans

POWERS = [2**n for n in range(11)]  # up to the threads of a thread block
MOST_SPANS = 3  # of tokens, in the sentence


def softmax(scores: np.ndarray, axis: int) -> np.ndarray:
    """Weights that add up to 1 along an axis."""
    weights = np.exp(scores - scores.max(axis, keepdims=True))
    return weights / weights.sum(axis, keepdims=True)


def why(output: np.ndarray, products: np.ndarray, values: np.ndarray, tolerance: float) -> str:
    """What the kernel may have done to give this output [head_dim]; "" if no explanation fits.

    products: [tokens, head_dim], a token's score is their sum; values: the same shape.
    """
    weights = softmax(products.sum(1), 0)
    return (
        _part_that_counted(output, weights, values, tolerance)
        or _shuffles_left_out(output, products, values, tolerance)
        or _weight_that_differs(output, weights, values)
    )


def _part_that_counted(
    output: np.ndarray, weights: np.ndarray, values: np.ndarray, tolerance: float
) -> str:
    for sums, is_in, numbers in _parts(np.column_stack([weights[:, None] * values, weights])):
        total = sums[:, -1:]
        for divisor, ending in ((total, ""), (1, ", and been divided by the weights of all")):
            with np.errstate(invalid="ignore", divide="ignore"):
                fits = np.isclose(output, sums[:, :-1] / divisor, tolerance, tolerance).all(1)
            if (found := np.flatnonzero(fits & (total[:, 0] > 0))).size:
                return _counted_sentence(is_in(numbers, found[0])) + ending
    return ""


def _parts(shares: np.ndarray) -> Iterator[tuple[np.ndarray, Callable, np.ndarray]]:
    """Sums of the shares [tokens, …] over regular parts of the tokens: the first n, the others, and
    stripes, distributed in turn over 2, 4, 8 … Yields (sums [parts, …], is_in, numbers): token t is
    in part n if is_in(numbers[t], n)."""
    tokens, first = np.arange(len(shares)), np.cumsum(shares, 0)
    yield first[:-1], np.less_equal, tokens
    yield first[-1] - first[:-1], np.greater, tokens
    for stripe, ways in product(POWERS, POWERS[1:]):
        if stripe * ways < 2 * len(tokens):
            rounds = -(-len(tokens) // (stripe * ways))
            dealt = np.zeros((rounds * ways * stripe, shares.shape[1]))
            dealt[: len(tokens)] = shares
            sums = dealt.reshape(rounds, ways, stripe, -1).sum((0, 2))
            yield sums, np.equal, tokens // stripe % ways


def _counted_sentence(is_counted: np.ndarray) -> str:
    missing, counted = np.flatnonzero(~is_counted), np.flatnonzero(is_counted)
    if len(missing) == 1:
        newest = ", the newest," if missing[0] == len(is_counted) - 1 else ""
        return f"token {missing[0]}{newest} had not counted"
    found = spans(counted.tolist())
    more = ", …" * (len(found) > MOST_SPANS)
    return f"only token{'s' * (len(counted) > 1)} {', '.join(found[:MOST_SPANS])}{more} had counted"


def _shuffles_left_out(
    output: np.ndarray, products: np.ndarray, values: np.ndarray, tolerance: float
) -> str:
    """With a lane for each element, each lane has the sum over the lanes of the other shuffles."""
    steps = [step for step in reversed(POWERS) if step < len(output)]
    if 2 ** len(steps) != len(output):
        return ""
    lanes = products.reshape(-1, *[2] * len(steps))  # an axis for each step
    for is_done in product([True, False], repeat=len(steps)):
        axes = tuple(1 + np.flatnonzero(is_done))
        scores = np.broadcast_to(lanes.sum(axes, keepdims=True), lanes.shape)
        found = (softmax(scores.reshape(products.shape), 0) * values).sum(0)
        if np.allclose(output, found, tolerance, tolerance) and not all(is_done):
            *most, last = (str(s) for s, done in zip(steps, is_done, strict=True) if not done)
            which = f"shuffles by {', '.join(most)} and {last}" if most else f"shuffle by {last}"
            return f"the {which} had been left out of each score"
    return ""


def _weight_that_differs(output: np.ndarray, weights: np.ndarray, values: np.ndarray) -> str:
    """Finds the weights that were used: any weights if tokens are few; if they are many, weights
    that are right except for one token and a common factor."""
    few = [np.eye(len(values))] if len(values) < len(output) else []
    for mix in (*few, *(np.stack([weights, each], 1) for each in np.eye(len(values)))):
        used = mix @ np.linalg.lstsq(values.T @ mix, output, rcond=None)[0]
        if np.allclose(used @ values, output, 1e-3, 1e-4):
            break
    else:
        return ""
    token, often = int(np.argmax(abs(used - weights))), used.sum()
    if len(weights) > 1 and np.allclose(used, often * weights, 1e-3, 1e-4):
        return f"every token weighed {often:.3g} times what it weighs"
    instead, right = (f"{round(each[token], 4) + 0.0:g}" for each in (used, weights))
    return f"token {token} weighed {instead}, and it weighs {right}"

"""The maximum that a kernel of lesson 06 subtracts, told from where its output is no number: one
that begins too high, stops, waits, or is another query head's."""

import numpy as np
from kernel_cases import LOW, STEPS, TILES

SHARP = "scores 500 times as large"
OVERFLOWS, VANISHES = 88.72, -103.9  # exp of more is infinite, and of less 0, in float32
FROM_0 = (
    "[maximum_begins_at_zero] Your maximum begins at 0, or near 0. If all scores of a row are far "
    "below 0, their weights then become 0: begin at LOWEST."
)
TOO_HIGH = (
    "[maximum_begins_too_high] Your maximum begins too high, for example at -1000 or at -1e6: all "
    "scores of this case are lower, and their weights become 0: begin at LOWEST."
)
TOO_LATE = (
    "[maximum_follows_too_late] Your maximum is replaced only when a score is far above it. "
    "exp(89) does not fit in float32, nor does the sum of a dozen exp(86.4). Replace the maximum "
    "at every higher score."
)
NO_MAXIMUM = (
    "[exp_overflows] You take exp of a score of 500, which does not fit in float32: subtract the "
    "maximum from the score first."
)


def scores_of(one, row):
    """[heads, tokens]"""
    group, length = one.query.shape[1] // one.key_cache.shape[2], one.seq_lens[row]
    key = np.concatenate(one.key_cache[one.block_tables[row]])[:length].repeat(group, axis=1)
    return np.einsum("hd,khd->hk", one.query[row].astype(float), key.astype(float)) * one.scale


def about_no_numbers(name, one, got):
    """The maximum under which exp gives no numbers in these rows and heads, and in no others."""
    is_bad = ~np.isfinite(got).all(2)
    if name == LOW:
        return TOO_HIGH if is_bad.all() else ""
    waits = (is_bad == bad_under(one, lambda scores: lazily(scores, 100))).all()
    if name == STEPS and waits:
        return TOO_LATE  # most other such maxima fail before, in SHARP or in TILES
    if name not in (SHARP, TILES, STEPS):
        return (
            "[output_is_nan] Your output has NaN, which comes from infinity - infinity, from 0 / "
            "0, or from memory that was never written."
        )
    said = {why for why, maximum in maxima(one) if (bad_under(one, maximum) == is_bad).all()}
    if len(said) == 1:
        return said.pop()
    if waits and not said:
        return TOO_LATE
    where = ", ".join(f"row {row} head {head}" for row, head in np.argwhere(is_bad)[:3].tolist())
    return (
        f"[weights_are_no_numbers] The output has NaN in {where}: a weight is infinite, or all "
        "weights are 0. Keep one maximum for each row and query head, and replace it at every "
        "token with a higher score."
    )


def bad_under(one, maximum):
    """[rows, heads], where sums under this maximum are no numbers. maximum: of a row's scores
    [heads, tokens], what is subtracted from each."""
    bad = []
    for row in range(len(one.seq_lens)):
        scores = scores_of(one, row)
        highest = maximum(scores)
        overflows = (scores - highest > OVERFLOWS).any(1)
        bad.append(overflows | (scores - highest[:, -1:] < VANISHES).all(1))
    return np.array(bad)


def maxima(one):
    """(sentence, the maximum that it speaks of)"""
    group = one.query.shape[1] // one.key_cache.shape[2]
    first = np.arange(one.query.shape[1]) // group * group
    running = np.maximum.accumulate
    yield NO_MAXIMUM, np.zeros_like
    yield FROM_0, lambda scores: running(np.maximum(scores, 0), 1)
    if group > 1:
        yield (
            "[one_maximum_for_the_group] You keep one maximum for two query heads. The higher "
            "scores of one head make all weights of the other head 0: each query head has a "
            "maximum of its own.",
            lambda scores: running(
                scores.reshape(-1, group, scores.shape[1]).max(1).repeat(group, 0), 1
            ),
        )
        yield (
            "[maximum_begins_at_another_head] You begin the maximum of a query head at a score "
            "of the first head of its group. That score may be far above all scores of this head.",
            lambda scores: running(np.concatenate([scores[first, :1], scores], 1), 1)[:, 1:],
        )
    stops = (
        "[maximum_stops] The maximum that you subtract is not the highest score so far: later "
        "scores are more than 88 above it, and exp is infinite. Compare the maximum with the score "
        "of every token."
    )
    for first_tokens in (1, 2, 4, 8, 16, 32, 64):

        def held(scores, number=first_tokens):
            return running(np.where(np.arange(scores.shape[1]) < number, scores, scores[:, :1]), 1)

        def at_every(scores, number=first_tokens):
            is_looked_at = np.arange(scores.shape[1]) % number == 0
            return running(np.where(is_looked_at, scores, scores[:, :1]), 1)

        yield from ((stops, held), (stops, at_every))


def lazily(scores, threshold):
    """[heads, tokens]: the maximum moves only to a score that is more than `threshold` above it."""
    highest = scores.copy()
    for t in range(1, scores.shape[1]):
        is_far = scores[:, t] > highest[:, t - 1] + threshold
        highest[:, t] = np.where(is_far, scores[:, t], highest[:, t - 1])
    return highest

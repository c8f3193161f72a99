"""The maximum that a kernel of lesson 06 subtracts, told from where its output is no number: one
that begins too high, stops, waits, or is another query head's."""

import numpy as np
from kernel_cases import LOW, STEPS, TILES

SHARP = "scores 500 times as large"
OVERFLOWS, VANISHES = 88.72, -103.9  # exp of more is infinite, and of less 0, in float32
FROM_0 = (
    "[maximum_begins_at_zero] "
    "A maximum that begins at 0, or near it, is higher than all scores of a row that are far below "
    "0, and their weights come to nothing: begin at LOWEST."
)
TOO_HIGH = (
    "[maximum_begins_too_high] "
    "The maximum begins too high, for example at -1000 or at -1e6: all scores of this case are "
    "lower. Their weights come to nothing: begin at LOWEST."
)
TOO_LATE = (
    "[maximum_follows_too_late] "
    "The maximum waits until a score is far above it. exp of 89 is beyond float32, and the sum of "
    "a dozen exp of 86.4 is, too: let it follow earlier."
)
NO_MAXIMUM = (
    "[exp_overflows] exp of 500 is beyond float32: subtract the maximum from the score first."
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
            "[output_is_nan] "
            "NaN comes of infinity minus infinity, of 0 / 0, or of unwritten memory."
        )
    said = {why for why, maximum in maxima(one) if (bad_under(one, maximum) == is_bad).all()}
    if len(said) == 1:
        return said.pop()
    if waits and not said:
        return TOO_LATE
    where = ", ".join(f"row {row} head {head}" for row, head in np.argwhere(is_bad)[:3].tolist())
    return (
        f"[weights_are_no_numbers] There are no numbers in {where}: a weight is infinite, or all "
        "are 0. The maximum that is subtracted is that of one row and one query head, and follows "
        "every token with a higher score."
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
            "[one_maximum_for_the_group] Two query heads share one maximum. The higher scores of "
            "one head make all weights of the other 0: each query head has a maximum of its own.",
            lambda scores: running(
                scores.reshape(-1, group, scores.shape[1]).max(1).repeat(group, 0), 1
            ),
        )
        yield (
            "[maximum_begins_at_another_head] The maximum of a query head begins at a score of "
            "the first head of its group, which may be far above all of its own.",
            lambda scores: running(np.concatenate([scores[first, :1], scores], 1), 1)[:, 1:],
        )
    stops = (
        "[maximum_stops] A maximum is subtracted, and it is not the highest score so far: it "
        "stays behind while later scores are more than 88 above it, and exp is infinite. Compare "
        "it with the score of every token."
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

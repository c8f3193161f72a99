"""The cases that a kernel of lesson 06 is judged by, each by its name in what a learner reads."""

import numpy as np

from minibatch import kernel_lab as lab

SMALL = {"heads": 2, "kv_heads": 1, "block_size": 4}
CASES = {  # what a kernel must get right, each by the sentence for its place
    "rows of one token, of a full KV block, and of a full KV block and one token": {
        "lengths": [1, 4, 5]
    },
    "rows of different length that share a KV block": {
        "lengths": [4, 9, 5],
        "shared_blocks": 1,
        "heads": 4,
        "kv_heads": 2,
    },
    "more tokens than threads": {"lengths": [34]},
    "scores 500 times as large": {"lengths": [1, 5, 7], "sharpness": 500.0},
}
FOUR, POOL = "four KV heads of 48 elements", "heads of 16 elements in a pool of 83 KV blocks"
WIDE = "a head of 384 elements in KV blocks of 3 tokens"
BROAD = "nine KV heads of 168 elements"
TALL = "a KV block of 107 tokens"  # 107 * (1 / 107) is below 1 in float32 and in float64
LONG, SCALED, CHUNKS = "2,100 KV blocks of one token", "another scale", "a thousand chunks"
NARROW = "rows of one and three tokens, of 8 numbers each"  # an odd number of sectors
LONG_FOR_TWO = "a row of 2,100 tokens for two heads"
ODD = "nine rows in KV blocks of 13 tokens"
HUGE = "520 tokens in a KV block of 600"
ROUNDED = "KV blocks of 61 tokens"  # 61 * (1 / 61) is below 1 in float32
LOW = "all scores near -4,000,000"
RISES = "scores that rise by 0.00008 at each token"
STEPS = "scores that fall to -12 in head 0, and rise in steps of 86 and more in head 1"
APART = STEPS + ", in chunks of one token"
EMPTY_FIRST = "an empty chunk first in each row"
TILES = "scores 500 times as large in three tiles of tokens"
TRIO = "three query heads for each KV head, and a query of zeros"
EVEN = "a KV head for each query head"
ONCE = {  # what only some kernels must get right; run under one schedule
    FOUR: {"lengths": [3, 6], "heads": 4, "kv_heads": 4, "head_dim": 48},
    WIDE: {"lengths": [5], "heads": 1, "block_size": 3, "head_dim": 384},
    BROAD: {"lengths": [2], "heads": 9, "kv_heads": 9, "head_dim": 168},
    TALL: {"lengths": [110], "heads": 1, "block_size": 107, "head_dim": 8},
    POOL: {"lengths": [90, 71], "block_size": 2, "heads": 4, "kv_heads": 4, "head_dim": 16},
    NARROW: {"lengths": [1, 3], "heads": 1, "head_dim": 8},
    LONG: {"lengths": [2100], "heads": 1, "block_size": 1},
    LONG_FOR_TWO: {"lengths": [2100]},
    ODD: {"lengths": [14, 1, 27, 13, 2, 3, 15, 1, 22], "block_size": 13},
    LOW: {"lengths": [1, 5, 7], "sharpness": 20_000.0, "scores_near": -4e6},
    STEPS: {"lengths": [24]},
    RISES: {"lengths": [24]},
    APART: {"lengths": [24]},
    TILES: {"lengths": [70], "sharpness": 500.0, "block_size": 128},
    TRIO: {"lengths": [6, 3], "heads": 6, "kv_heads": 2},
    EMPTY_FIRST: {"lengths": [5, 4]},
    SCALED: {"lengths": [6, 3], "scale": 0.3},
    ROUNDED: {"lengths": [62], "block_size": 61},
    HUGE: {"lengths": [520], "block_size": 600},
    EVEN: {"lengths": [6, 3], "heads": 3, "kv_heads": 3},
    CHUNKS: {"lengths": [1097, 3], "heads": 1},
}
COSTLY = {LONG, LONG_FOR_TWO, HUGE, CHUNKS}  # seconds each: left out once a case has failed
HIGH = 12.0  # of `faint`, the score of the first token; that of the others is 0 on average


def options(name):
    return SMALL | (CASES | ONCE)[name]


def case(name):
    """A case's arrays. Of those in QUERIES, a query that gives the tokens the scores it is for."""
    one = lab.paged_case(**options(name))
    if name in QUERIES:
        (length, *_) = one.seq_lens
        keys = np.concatenate(one.key_cache[one.block_tables[0]])[:length, 0].astype(float)
        QUERIES[name](one, keys)
    return one


def steps(one, keys):
    """Head 0 falls, to -12. Head 1 has a dozen tokens at 86.4, whose weights float32 cannot add up
    under a maximum of 0, and then rises by 89 or more at each token."""
    length = len(keys)
    falling = np.append(0.0, -5.0 - 0.3 * (np.arange(1, length) * 7 % length))
    rising = np.concatenate([[0.0], np.full(12, 86.4), 207 + 89.0 * np.arange(length - 13)])
    for head, scores in enumerate((falling, rising)):
        one.query[0, head] = np.linalg.lstsq(keys, scores / one.scale, rcond=None)[0]


def small_rises(one, keys):
    """In all heads the maximum rises at each token, by so little that a kernel may pass over it."""
    scores = 8e-5 * np.arange(len(keys))
    one.query[0] = np.linalg.lstsq(keys, scores / one.scale, rcond=None)[0]


def faint(one, keys):
    """In the last head the first token is far above the others, which count together only."""
    one.query[0, -1] = keys[0] / (keys[0] @ keys[0]) * HIGH / one.scale


def no_query(one, keys):
    """In the last head of the first row all scores are the same."""
    one.query[0, -1] = 0


QUERIES = {
    TRIO: no_query,
    STEPS: steps,
    APART: steps,
    RISES: small_rises,
    LONG: faint,
    LONG_FOR_TWO: faint,
    CHUNKS: faint,
}

"""Every policy, block size and awkward length that a model is served with."""

from __future__ import annotations

from collections.abc import Callable

from architectures import CONTEXT, VOCAB_SIZE

import minibatch as mb

# Lengths at, just before and past the borders of blocks of 1, 2, 7 and 16; and a single token.
PROMPTS = [
    [5, 17, 80, 33, 2, 60, 41, 9, 77, 13, 28, 54, 66, 3, 90, 21],
    [7, 31, 64, 12, 45, 8, 50],
    [(7 + 31 * i * i) % VOCAB_SIZE for i in range(23)],
    [42],
]
MAX_TOKENS = [8, 9, 9, 6]
LONGEST = 23 + 9
BLOCK_SIZES = [1, 2, 7, 16, CONTEXT]

POLICIES: dict[str, Callable[[], mb.Scheduler]] = {
    "sequential": lambda: mb.Sequential(),
    "static": lambda: mb.Static(3),
    "dynamic": lambda: mb.Dynamic(3, max_wait=0.1),
    "continuous": lambda: mb.Continuous(3),
    "continuous in chunks": lambda: mb.Continuous(3, max_batch_tokens=5),
    "continuous in a tight pool": lambda: mb.Continuous(4),
}


def requests() -> list[mb.Request]:
    return [
        mb.Request(prompt, max_tokens=n, ignore_eos=True, request_id=f"prompt {i}")
        for i, (prompt, n) in enumerate(zip(PROMPTS, MAX_TOKENS, strict=True))
    ]

"""One hour of a chat service at a tenth of its size: prompts that continue earlier conversations.

Made to resemble a published trace: Mooncake's conversations, 12,031 requests in 59 minutes, with
prompts of 12,035 tokens on average (median 6,909, 90th percentile 27,367), kept in blocks of 512.
A cache that evicts the least recently used block first finds these shares of its tokens:

    1,000 blocks   10,000 blocks   30,000 blocks   unlimited blocks
         4 %           21 %            33 %              37 %

(Qin et al., *Mooncake*, 2024, and its trace.) One token here stands for a block there. The
probability of a next turn and the pause before it were chosen to match the prompt lengths and these
shares. So agreement with the published curve is by construction, and proves nothing about other
traffic.
"""

from __future__ import annotations

import itertools
import math

import numpy as np

from ..core.clock import VirtualClock
from ..core.request import Request
from ..engine.engine import Engine
from ..memory.blocks import BlockPool
from ..schedulers import Sequential
from .pretend import PretendModel

PUBLISHED = {1_000: 0.04, 10_000: 0.21, 30_000: 0.33}  # blocks -> share of tokens found
PUBLISHED_AT_MOST = 0.37
PUBLISHED_REQUESTS, SECONDS = 12_031, 3_540.0
LONGEST = 100  # tokens of a prompt here
AGAIN = 0.47  # the probability of one more turn
FIRST, ADDED = (10, 1.3), (4, 1.4)  # tokens of a first prompt, and of what each turn adds
PAUSE = (130, 1.7)  # seconds until the next turn; these three: median, and sigma of its logarithm


def conversations(num_sessions: int = 1144, seed: int = 0) -> list[Request]:
    """Requests in order of arrival, as token ids; 1,196 of 1,144 sessions.

    Sessions begin at random times in the hour, and some time before it. Every turn's prompt is the
    turn before, its answer, and new tokens. request_id: "S17.2" is session 17's second turn.
    """
    random, fresh = np.random.default_rng(seed), itertools.count(1)

    def drawn(shape: tuple[float, float]) -> float:
        return random.lognormal(math.log(shape[0]), shape[1])

    turns = []
    for session in range(num_sessions):
        time, ids = random.uniform(-0.6, 1) * SECONDS, []
        for turn in itertools.count(1):
            num_new = max(1, round(drawn(ADDED if ids else FIRST)))
            if len(ids) + num_new > LONGEST:
                break
            ids = [*ids, *itertools.islice(fresh, num_new)]
            turns.append((time, f"S{session}.{turn}", ids))
            if random.random() > AGAIN:
                break
            ids = [*ids, *itertools.islice(fresh, int(random.integers(2)))]  # the answer
            time += drawn(PAUSE)
    return [
        Request(ids, max_tokens=1, request_id=name, arrival_time=time)
        for time, name, ids in sorted(turns)
        if 0 <= time < SECONDS
    ]


def hit_rate(requests: list[Request], num_blocks: int, pool: type[BlockPool] = BlockPool) -> float:
    """The share, 0 to 1, of the prompts' tokens that a pool of `num_blocks` one-token blocks finds.

    The real engine, pool and index serve the requests in turn, on a pretend model. pool: a subclass
    with another eviction rule. num_blocks: at least LONGEST.
    """
    clock, memory = VirtualClock(0.001), pool(num_blocks, block_size=1)
    model = PretendModel()
    model.vocab_size = 1 + max(token for request in requests for token in request.prompt)
    engine = Engine(model, Sequential(), pool=memory, prefix_caching=True, clock=clock)
    engine.run(requests)
    return engine.trace.summary()["prefix_hit_rate"]


def hits_by_size(
    requests: list[Request], sizes: tuple[int, ...], pool: type[BlockPool] = BlockPool
) -> dict[int, float]:
    """`hit_rate` for each size, by the size that it stands for in the published trace."""
    scale = PUBLISHED_REQUESTS / len(requests)
    return {round(size * scale): hit_rate(requests, size, pool) for size in sizes}

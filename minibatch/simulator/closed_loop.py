"""`mb.closed_loop`: users who wait for their answers, in virtual time.

In an open loop (`mb.simulate`) requests arrive at fixed times. Here the next request of a user
depends on the answer to the one before it, so a slow server gets fewer requests.
"""

from __future__ import annotations

import copy
import heapq
import math

import numpy as np

from ..core.checks import integer
from ..schedulers import Scheduler
from .fast_path import reason_for_engine
from .fleet.backends import EngineBackend, FastBackend, Job
from .simulate import FAST, Simulated, StepTime
from .traffic import AZURE_CONVERSATION, Lengths


def closed_loop(
    policy: Scheduler,
    step_time: StepTime,
    *,
    num_users: int,
    num_requests: int,
    think_s: float = 0.0,
    lengths: Lengths = AZURE_CONVERSATION,
    seed: int = 0,
    num_blocks: int | None = None,
    block_size: int = 16,
) -> Simulated:
    """Serve users who each send a request, wait for its answer, think, and send the next one.

    All users send their first request at 0; the test ends after num_requests in all. think_s: mean
    seconds between an answer and the next request, exponentially distributed; 0 is no pause. The
    other arguments and the path are those of `mb.simulate`. Throughput × (mean e2e + mean think
    time) is close to num_users (Little's law). Raises what `mb.simulate` raises.
    """
    num_users = integer("num_users", num_users, at_least=1)
    num_requests = integer("num_requests", num_requests, at_least=1)
    if not (math.isfinite(think_s) and think_s >= 0):
        raise ValueError(f"think_s is {think_s}; give seconds, 0 or more")
    rng = np.random.default_rng(seed)
    prompt, output = lengths.draw(num_requests, rng)
    pauses = rng.exponential(think_s, num_requests)
    why = reason_for_engine(policy, None, step_time)
    pool = {"num_blocks": num_blocks, "block_size": block_size}
    if why is None:
        backend = FastBackend(policy, step_time, pool)
    else:
        limits = int((prompt + output).max()), 1
        backend = EngineBackend(copy.deepcopy(policy), step_time, pool, False, limits)

    arrival, first_scheduled, first_token, finish = np.full((4, num_requests), np.nan)
    preemptions = np.zeros(num_requests, np.int64)
    due, num_sent, now = [0.0] * min(num_users, num_requests), 0, 0.0  # due: a heap
    num_planned = len(due)
    while (start := backend.next_time(now)) is not None or due:
        now = max(now, due[0]) if start is None else start
        while due and due[0] <= now:
            arrival[num_sent] = heapq.heappop(due)
            job = Job(num_sent, int(prompt[num_sent]), int(output[num_sent]))
            backend.add(job, arrival[num_sent])
            num_sent += 1
        end = backend.step(now)
        now = now if end is None else end
        for ended in backend.ended():
            i = ended.number
            first_scheduled[i], first_token[i] = ended.first_scheduled, ended.first_token
            finish[i], preemptions[i] = ended.finish, ended.preemptions
            if num_planned < num_requests:
                heapq.heappush(due, now + pauses[i])
                num_planned += 1
    return Simulated(
        arrival, prompt, output, first_scheduled, first_token, finish, preemptions,
        backend.num_steps, "fast" if why is None else "engine",
        why or FAST.format(type(policy).__name__),
    )  # fmt: skip

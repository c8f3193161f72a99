"""Traffic for prefix caches: sessions about a few manuals, each turn continuing the one before.

    turn 1   [ manual | question ]
    turn 2   [ manual | question | answer | question ]

A pretend model generates only token 0, so the answers in later prompts are zeros, and are found in
the cache where the answer was generated.
"""

from __future__ import annotations

from bisect import insort

import numpy as np

from ...core.checks import check_number, integer
from ...core.request import Request
from ..pretend import TOKEN

ZIPF = 1.0  # the manual of rank r is chosen with a probability proportional to r ** -ZIPF


def sessions(
    rate: float,
    n: int,
    *,
    num_manuals: int = 4,
    manual_tokens: int = 512,
    question_tokens: int = 64,
    answer_tokens: int = 64,
    turns: float = 3.0,
    pause_s: float = 10.0,
    seed: int = 0,
) -> list[Request]:
    """`n` requests in order of arrival, `rate` a second on average once the first sessions have
    ended; `client` is the session.

    Sessions begin independently of one another. Each is about one of `num_manuals`, the first the
    most popular. Questions and answers have geometric lengths, these on average; a session has
    `turns` on average, geometric too, and exponential pauses of `pause_s` between them, whenever
    the answer comes.
    """
    for name, value in (("rate", rate), ("pause_s", pause_s)):
        check_number(name, value, "be above 0", lambda x: x > 0)
    for name, value in (("question_tokens", question_tokens), ("answer_tokens", answer_tokens)):
        integer(name, value, at_least=1)
    integer("n", n, at_least=1)
    integer("num_manuals", num_manuals, at_least=1)
    check_number("turns", turns, "be 1 or more", lambda x: x >= 1)
    random, begin, drawn, times = np.random.default_rng(seed), 0.0, [], []
    popularity = np.arange(1, num_manuals + 1) ** -ZIPF
    popularity /= popularity.sum()
    manuals = random.integers(1, 2**31, (num_manuals, integer("manual_tokens", manual_tokens)))
    while len(times) < n or begin < times[n - 1]:
        begin += random.exponential(turns / rate)
        time, ids = begin, manuals[random.choice(num_manuals, p=popularity)].tolist()
        for turn in range(random.geometric(1 / turns)):
            ids = ids + random.integers(1, 2**31, random.geometric(1 / question_tokens)).tolist()
            num_answer = int(random.geometric(1 / answer_tokens))
            name = name if turn else f"session-{len(drawn)}"
            drawn.append((time, name, ids, num_answer))
            insort(times, time)
            ids = ids + [TOKEN] * num_answer
            time += random.exponential(pause_s)
    drawn.sort(key=lambda turn: turn[0])
    return [
        Request(ids, max_tokens=num_answer, arrival_time=time, client=name, request_id=str(i))
        for i, (time, name, ids, num_answer) in enumerate(drawn[:n])
    ]

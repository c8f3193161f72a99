"""Exercises of lesson 11: measuring honestly.

Change none of your arguments: the caller still uses them. Keep nothing between calls.

Save this file, then press Check on its card in the lesson, or run `python -m minibatch grade 11.1`.
"""

from collections.abc import Callable


# ---------------------------------------------------------------------------------------------
# Exercise 11.1: A load generator that does not wait
# 4 points, 20 minutes, difficulty 3 of 5
# lessons/11_measuring_honestly.ipynb, "Your turn: a load generator that does not wait"
#
# Write a load generator. Send request i at due[i], even if earlier requests have no answer yet:
# real users do not know that the server is busy. Return a list with the latency of each request:
# the time from due[i] until `wait` has returned its answer. If `wait` has not returned the answer
# when the test ends, the latency is None.
#
# You get three functions. Time is virtual, in whole milliseconds: it passes only in `wait`.
#
#     now()         the time; 0 at the beginning
#     send(i)       sends request i, and returns at once, without an answer
#     wait(until)   sleeps until answers come, but at most until the time `until`.
#                   Returns a list with the number i of each answered request; [] if
#                   there is none
#
# Answers come in any order. Some answers come in the millisecond in which the request was sent, and
# others never come. `wait` may return some milliseconds late, even if `until` has already passed.
# After a late return several requests may be due: send all of them before you wait again.
# `wait` never returns after `end_ms`, and every answer that `wait` returns counts. At `end_ms` the
# test ends: return, and do not send or wait any more. A request that was not sent has no answer.
#
# There is at least one request. `due` is in ascending order, and may contain the same time twice.
# All requests are due before `end_ms`.
#
# HINT Two things happen in any order: a request is due, or an answer comes. So one loop must handle
#      both. A loop that sends one request and then waits for its answer cannot do it.
# HINT In each round: send every request that is due by now; then wait until the next request is
#      due, or until end_ms if all are sent. `wait` returns earlier if an answer comes.
# HINT latencies, num_sent = [None] * len(due), 0
#      while now() < end_ms:
#          while num_sent < len(due) and due[num_sent] <= now(): ...   # send it
#          for i in wait(...):
#              latencies[i] = now() - due[i]
# ---------------------------------------------------------------------------------------------
def run_load(
    due: list[int],
    end_ms: int,
    now: Callable[[], int],
    send: Callable[[int], None],
    wait: Callable[[int], list[int]],
) -> list[int | None]:
    """The latency of each request in ms, in the order of due.

    Example: due = [0, 10], end_ms = 100. The server stalls and answers both at 70: the result is
    [70, 60].
    """
    # BEGIN SOLUTION
    latencies: list[int | None] = [None] * len(due)
    num_sent = 0
    while now() < end_ms:
        while num_sent < len(due) and due[num_sent] <= now():
            send(num_sent)
            num_sent += 1
        for i in wait(due[num_sent] if num_sent < len(due) else end_ms):
            latencies[i] = now() - due[i]
    return latencies
    # END SOLUTION


# ---------------------------------------------------------------------------------------------
# Exercise 11.2: Metrics of a trace
# 4 points, 20 minutes, difficulty 2 of 5
# lessons/11_measuring_honestly.ipynb, "Your turn: metrics of a trace"
#
# A load test has written one row for each request. A row is a tuple:
#
#     (arrival_ms, token_times_ms, ending)
#
# `arrival_ms`: when the request was due. `token_times_ms`: a list of the times at which its tokens
# came. `ending`: "served", "refused" (no tokens) or "unfinished". An unfinished answer was not
# complete when the test ended; it may have tokens. All times are whole milliseconds since the test
# began. Rows are in any order. A first token may come in the millisecond of the arrival.
#
# Return a dictionary:
#
#     "ttft_p50",
#     "ttft_p99"     percentiles of TTFT, over the requests that have a first token
#     "tpot"         a list, one value for each row: the time from its first to its
#                    last token, divided by the number of gaps; None for fewer than
#                    two tokens
#     "itl_p99"      percentile of all gaps between two consecutive tokens of one
#                    answer, over the gaps of all answers together
#     "attainment"   the share of ALL rows that meet the SLO, from 0 to 1
#     "goodput"      requests that meet the SLO, per second of the test
#
# A request meets the SLO if it is served, its TTFT is at most slo_ttft_ms, and its TPOT is at most
# slo_tpot_ms. An answer of one token has no TPOT, so only its TTFT decides.
#
# To get the percentile p of n values, sort them and take value number p * n / 100, rounded up. The
# smallest value is number 1. The percentile of no values is None.
#
# HINT Write two small functions first: one for the percentile of a list, one that says whether a
#      row meets the SLO. Each entry of the dictionary is then one line.
# HINT The percentiles leave out requests without tokens, which have no times. So a server that
#      refuses requests can have good percentiles. Only the attainment shows refusals:
#      divide by len(rows), not by the number of requests that were served.
# HINT def percentile(values, p):
#          return sorted(values)[-(-p * len(values) // 100) - 1] if values else None
#      gaps = [b - a for _, times, _ in rows for a, b in zip(times, times[1:])]
#      tpot = [(times[-1] - times[0]) / (len(times) - 1) if len(times) > 1 else None for ...]
# ---------------------------------------------------------------------------------------------
def metrics(
    rows: list[tuple[int, list[int], str]], slo_ttft_ms: int, slo_tpot_ms: int, duration_ms: int
) -> dict:
    """The six entries. There is at least one row; `duration_ms` is that of the whole test.

    Example: metrics([(0, [100, 120, 160], "served"), (50, [], "refused")], 200, 40, 2000) is
    {"ttft_p50": 100, "ttft_p99": 100, "tpot": [30.0, None], "itl_p99": 40, "attainment": 0.5,
    "goodput": 0.5}.
    """
    # BEGIN SOLUTION
    ttft = [times[0] - arrival for arrival, times, _ in rows if times]
    gaps = [b - a for _, times, _ in rows for a, b in zip(times, times[1:], strict=False)]
    tpot = [
        (times[-1] - times[0]) / (len(times) - 1) if len(times) > 1 else None
        for _, times, _ in rows
    ]

    def percentile(values: list[int], p: int) -> int | None:
        return sorted(values)[-(-p * len(values) // 100) - 1] if values else None

    def meets(row: tuple[int, list[int], str], tpot: float | None) -> bool:
        arrival, times, ending = row
        if ending != "served" or times[0] - arrival > slo_ttft_ms:
            return False
        return tpot is None or tpot <= slo_tpot_ms

    num_good = sum(map(meets, rows, tpot))
    return {
        "ttft_p50": percentile(ttft, 50),
        "ttft_p99": percentile(ttft, 99),
        "tpot": tpot,
        "itl_p99": percentile(gaps, 99),
        "attainment": num_good / len(rows),
        "goodput": 1000 * num_good / duration_ms,
    }
    # END SOLUTION


# ---------------------------------------------------------------------------------------------
# Exercise 11.3: Capacity under an SLO
# 4 points, 40 minutes, difficulty 4 of 5
# lessons/11_measuring_honestly.ipynb, "Your turn: capacity under an SLO"
#
# How many requests per second can a system serve under its SLO? You can make runs:
#
#     attainment(rate, seeds)   makes one run for each seed of a list, at this rate.
#                               Returns a list: for each run, the share of its
#                               requests that meet the SLO, 0 to 1
#
# A seed is any whole number. At every rate, some seeds give easy traffic and others hard traffic:
# the results of two seeds can differ by 0.3 or more. The same rate and the same seed always
# give the same result. The mean over all seeds is never higher at a higher rate. The capacity is
# the highest rate at which this mean is at least `target`; exactly the target is enough.
#
# Each run takes time: you may make at most `most_runs` runs. One more run raises an error. The test
# calls your function for 40 systems with different noise, with 200 runs for each system. For at
# least 33 systems the result must be within 10 % of the true capacity.
#
# If `low` misses the target, return 0.0. If `high` meets it, return `high`, which is at most 16
# times `low`.
#
# HINT The error of the mean of n seeds is that of one seed, divided by the square root of n. One
#      seed is easy or hard at every rate: a search with only this seed finds its own capacity.
# HINT Divide the runs: try most_runs // 20 rates, each with 20 seeds. Each rate halves the range
#      between low and high.
# HINT def meets(rate): return sum(attainment(rate, list(range(20)))) / 20 >= target
#      Two rates are for low and high; then, for each other rate:
#          middle = (low * high) ** 0.5   # half of the range, in ratios
#          if meets(middle): low = middle
#          else: high = middle
# ---------------------------------------------------------------------------------------------
def capacity(
    attainment: Callable[[float, list[int]], list[float]],
    low: float,
    high: float,
    target: float,
    most_runs: int,
) -> float:
    """The highest rate that meets the target, in requests per second, between low and high.

    Example: if the mean attainment is 1 up to a rate of 5.0 and 0 above it, capacity(attainment,
    1.0, 16.0, 0.9, 200) is about 5.0.
    """
    # BEGIN SOLUTION
    seeds = list(range(20))

    def meets(rate: float) -> bool:
        return sum(attainment(rate, seeds)) / len(seeds) >= target

    if not meets(low):
        return 0.0
    if meets(high):
        return high
    for _ in range(most_runs // len(seeds) - 2):
        middle = (low * high) ** 0.5
        if meets(middle):
            low = middle
        else:
            high = middle
    return low
    # END SOLUTION


# ---------------------------------------------------------------------------------------------
# Exercise 11.4: Take a claim apart
# 3 points, 15 minutes, difficulty 2 of 5
# lessons/11_measuring_honestly.ipynb, "Your turn: take a claim apart"
#
# A report says "23 times the throughput". The new system differs from the baseline in several
# factors, such as batching and memory. A dictionary has the throughput of each run. In each run,
# some factors are switched on:
#
#     throughput[()]                       the baseline, in tokens per second
#     throughput[("batching",)]            batching alone
#     throughput[("batching", "memory")]   both
#
# Each key is a tuple of the names that are switched on, in alphabetical order.
#
# take_apart: switch the factors on one after another, in the given order. The size of a factor is
# the throughput with it, divided by the throughput of the previous run. The product of the sizes is
# the whole speed-up. The dictionary has every run that this order needs; other runs may be missing.
#
# first_and_last: the size of a factor depends on its place in the order. Return two sizes for each
# name: the size when it is switched on alone, and the size when it is switched on after all the
# others. The dictionary has the runs that this needs; other runs may be missing. The key with the
# most names has all names, but its run need not be the fastest.
#
# HINT A factor is a ratio of two runs that differ in one name: the run with this name, divided by
#      the run without it.
# HINT take_apart: keep a list of the names that are on, and add the next one. A key is
#      tuple(sorted(on)). first_and_last: compare () with (name,), and all names but
#      this one with all names.
# HINT on, sizes = [], []
#      for name in order:
#          before = throughput[tuple(sorted(on))]
#          on.append(name)
#          sizes.append(throughput[tuple(sorted(on))] / before)
# ---------------------------------------------------------------------------------------------
def take_apart(throughput: dict[tuple[str, ...], float], order: list[str]) -> list[float]:
    """The size of each factor, in this order.

    Example: runs = {(): 10.0, ("a",): 20.0, ("b",): 30.0, ("a", "b"): 120.0}. take_apart(runs,
    ["b", "a"]) is [3.0, 4.0].
    """
    # BEGIN SOLUTION of take_apart
    on: list[str] = []
    sizes = []
    for name in order:
        before = throughput[tuple(sorted(on))]
        on.append(name)
        sizes.append(throughput[tuple(sorted(on))] / before)
    return sizes
    # END SOLUTION


def first_and_last(throughput: dict[tuple[str, ...], float]) -> dict[str, tuple[float, float]]:
    """For each name: (its size when switched on first, its size when switched on last).

    Example: with the runs above, {"a": (2.0, 4.0), "b": (3.0, 6.0)}.
    """
    # BEGIN SOLUTION of first_and_last
    names = max(throughput, key=len)
    return {
        name: (
            throughput[(name,)] / throughput[()],
            throughput[names] / throughput[tuple(other for other in names if other != name)],
        )
        for name in names
    }
    # END SOLUTION

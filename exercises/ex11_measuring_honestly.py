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
    # YOUR CODE for Exercise 11.1 begins here
    raise NotImplementedError("Exercise 11.1: A load generator that does not wait: not written yet")
    # YOUR CODE for Exercise 11.1 ends here


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
# ---------------------------------------------------------------------------------------------
def metrics(
    rows: list[tuple[int, list[int], str]], slo_ttft_ms: int, slo_tpot_ms: int, duration_ms: int
) -> dict:
    """The six entries. There is at least one row; `duration_ms` is that of the whole test.

    Example: metrics([(0, [100, 120, 160], "served"), (50, [], "refused")], 200, 40, 2000) is
    {"ttft_p50": 100, "ttft_p99": 100, "tpot": [30.0, None], "itl_p99": 40, "attainment": 0.5,
    "goodput": 0.5}.
    """
    # YOUR CODE for Exercise 11.2 begins here
    raise NotImplementedError("Exercise 11.2: Metrics of a trace: not written yet")
    # YOUR CODE for Exercise 11.2 ends here


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
    # YOUR CODE for Exercise 11.3 begins here
    raise NotImplementedError("Exercise 11.3: Capacity under an SLO: not written yet")
    # YOUR CODE for Exercise 11.3 ends here


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
# ---------------------------------------------------------------------------------------------
def take_apart(throughput: dict[tuple[str, ...], float], order: list[str]) -> list[float]:
    """The size of each factor, in this order.

    Example: runs = {(): 10.0, ("a",): 20.0, ("b",): 30.0, ("a", "b"): 120.0}. take_apart(runs,
    ["b", "a"]) is [3.0, 4.0].
    """
    # YOUR CODE for Exercise 11.4 (take_apart) begins here
    raise NotImplementedError("Exercise 11.4: Take a claim apart: not written yet")
    # YOUR CODE for Exercise 11.4 (take_apart) ends here


def first_and_last(throughput: dict[tuple[str, ...], float]) -> dict[str, tuple[float, float]]:
    """For each name: (its size when switched on first, its size when switched on last).

    Example: with the runs above, {"a": (2.0, 4.0), "b": (3.0, 6.0)}.
    """
    # YOUR CODE for Exercise 11.4 (first_and_last) begins here
    raise NotImplementedError("Exercise 11.4: Take a claim apart: not written yet")
    # YOUR CODE for Exercise 11.4 (first_and_last) ends here

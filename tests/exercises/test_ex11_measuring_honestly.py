"""Judges exercises 11.1 to 11.4: the metrics of a load test, a load generator, a capacity found in
noisy runs, and a claim in parts."""

import ast
import itertools
import math
import random
import re
import statistics

import now_yours
import pytest
from beliefs import a_kind, rewritten, why
from measuring import (
    CLAIM,
    STALL,
    TWO_HUNDRED,
    LoadTest,
    Step,
    System,
    every,
    hidden_systems,
    shown,
    some_rows,
)

from minibatch.course.judging.given_function import GivenFunction
from minibatch.course.judging.values import Lent, LentDict
from minibatch.course.judging.verdict import Wrong
from minibatch.course.judging.worker_errors import Raised

WITHHELD = {
    "11.1": {"minibatch.bench.load_client": ["offered", "drive"]},
    "11.2": {"minibatch.simulator.slo": ["SLO.met", "attainment", "goodput"]},
    "11.3": {"minibatch.simulator.capacity": ["capacity", "bisection"]},
    "11.4": {"minibatch.simulator.anyscale": ["factors"]},
}


def is_number(value):
    return type(value) in (int, float) and not math.isnan(value)


def rounded(value):
    """Numbers to compare by ==: floats that rounding makes different become equal."""
    if isinstance(value, tuple | list):
        return [rounded(one) for one in value]
    if isinstance(value, dict):
        return {key: rounded(one) for key, one in value.items()}
    return round(value, 6) if is_number(value) and math.isfinite(value) else value


# 11.1 --------------------------------------------------------------------------------------------


CALM = every(100, 6, 30, 1000)
SLOW = every(100, 12, 350, 2000)
TOGETHER = LoadTest([0, 0, 40, 40, 40, 300], [90, 50, 200, 30, 30, 10], 600)
OUT_OF_ORDER = LoadTest([0, 10, 20, 35, 50], [400, 20, 250, 60, 10], 1000)
LATE = LoadTest([5, 47, 52, 61, 130, 181, 199], [60, 75, 30, 200, 25, 90, 15], 1000, wakes_every=40)
# wait(10) returns at 25 ms, when four requests are due, and wait(100) at 115, when three are
LATE_ALWAYS = LoadTest(
    [10, 12, 14, 16, 100, 104, 109], [30, 50, 40, 45, 60, 20, 35], 400, late_ms=15
)
AT_ONCE = LoadTest([10, 30], [0, 0], 60)
SILENT = LoadTest(
    [0, 20, 30, 60, 95], [30, 40, 300, 15, 20], 800, silent=frozenset((1, 4)), stall=(40, 90)
)


def loaded(student, test, told):
    """Run one load test, and judge what was sent and what was returned."""
    test, right = test.fresh(), test.done_right()
    failed, got = None, None
    given = [GivenFunction(function) for function in (test.now, test.send, test.wait)]
    try:
        got = student.call("run_load", Lent(test.due), test.end_ms, *given)
    except Raised as error:
        failed = error
    if test.problem:
        raise Wrong(f"{told}: {test.problem}.")
    if failed is not None:
        failed.sentence = f"{told}: run_load fails with {failed.sentence}"
        raise failed
    judge_sending(test, right, told)
    # A generator that wakes more often may be told at other times: its own run is the measure.
    judge_latencies(test, test if test.told.keys() == right.told.keys() else right, got, told)


def judge_sending(test, right, told):
    missing = [i for i in range(len(test.due)) if i not in test.sent]
    late = [i for i in sorted(test.sent) if test.sent[i] > right.sent[i]]
    if not late and not missing:
        return
    late_at = late[0] if late else missing[0]
    held = max((test.in_flight[i] for i in test.sent if i <= late_at), default=0)
    waits = held < max(right.in_flight[i] for i in range(late_at + 1))
    waits &= test.sent.get(late_at, test.end_ms) in {*test.told.values(), test.end_ms}
    if waits and held == 1:
        said = (
            "[waits_for_each_answer] you wait for each answer before you send the next request. "
            "While the server stalls you send nothing, so only one request measures the stall. "
            "Send each request when that request is due"
        )
    elif waits and held > 2:
        said = (
            f"[limits_those_in_flight] your generator never has more than {held} requests in "
            "flight, though more requests were due. Users do not wait for each other: send each "
            "request when it is due"
        )
    elif missing and test.time < test.due[missing[0]]:
        said = (
            f"[returns_before_all_are_sent] you return at {test.time} ms, and request "
            f"{missing[0]} is due at {test.due[missing[0]]} ms. The test is not over when all "
            "requests sent so far have their answers"
        )
    elif missing:
        said = (
            f"[never_sends_it] request {missing[0]}, due at {test.due[missing[0]]} ms, is never "
            "sent by your function. Send a late request, too, and count its latency from when it "
            "was due"
        )
    elif test.late_ms and right.sent[late[0]] == right.sent.get(late[0] - 1):
        said = (
            f"[one_due_time_for_each_wait] `wait` returned late, at {right.sent[late[0]]} ms, "
            "after more than one due time; you send the requests of one due time and wait again. "
            "Send all requests that are due by now() before you wait"
        )
    elif right.sent[late[0]] == right.sent.get(late[0] - 1):
        said = (
            "[one_send_for_each_wait] you send one request, and then wait, although another "
            "request is due: send all requests that are due before you wait"
        )
    else:
        said = (
            f"[sends_late] request {late[0]} is due at {test.due[late[0]]} ms and can be sent at "
            f"{right.sent[late[0]]} ms; you send it at {test.sent[late[0]]} ms. Wait only until "
            "the next request is due"
        )
    first = min(late + missing)
    raise Wrong(
        f"{told}: {said}.",
        expected=f"request {first} sent at {right.sent[first]} ms",
        got=f"sent at {test.sent[first]} ms" if first in test.sent else "never sent",
    )


def judge_latencies(test, right, got, told):
    due, expected = test.due, right.latencies()
    if not isinstance(got, tuple | list):
        kind = "nothing (None)" if got is None else a_kind(got)
        raise Wrong(
            f"[latencies_are_no_list] {told}: return a list of latencies; you return {kind}."
        )
    if list(got) == expected:
        return
    said = what_is_wrong(test, right, list(got)) or (
        "[other_latency] your latencies are wrong: a latency is now() minus due[i], at the time "
        "when `wait` returns number i"
    )
    raise Wrong(f"{told} (due {due}): {said}.", expected=expected, got=list(got))


def what_is_wrong(test, right, got):
    expected, due = right.latencies(), test.due
    answered = [one for one in expected if one is not None]
    if len(got) != len(expected):
        if got == answered:
            return (
                "[unanswered_left_out] "
                "your list leaves out a request without an answer, which is the worst case: put "
                "None in its place"
            )
        return (
            f"[other_number_of_latencies] your list has {len(got)} entries for {len(due)} requests"
        )
    if len(test.told) < len(right.told):
        return (
            f"[stops_too_soon] you return at {test.time} ms, before some answers have come. Wait "
            f"for them until end_ms, {test.end_ms}"
        )
    if got == [one or None for one in expected] and 0 in expected:
        return (
            "[latency_of_0_is_none] you return None for a latency of 0 ms, which is valid: `or`, "
            "or an `if` on the number, treats 0 as missing. Compare with None"
        )
    sent = [right.sent[i] for i in range(len(due))]
    told = [right.told.get(i) for i in range(len(due))]
    pairs = list(zip(got, expected, strict=True))
    if all(a == b for a, b in pairs if b is not None):
        return (
            "[unanswered_has_a_latency] you give a number to a request without an answer: give "
            "it None"
        )
    if got == [None if t is None else t - s for t, s in zip(told, sent, strict=True)]:
        return (
            "[counts_from_sending] you count from when the request was sent. The load generator "
            "sent it late, and this delay belongs to the latency: count from due[i]"
        )
    if got == told:
        return "[time_for_a_latency] you return the time of the answer: subtract due[i]"
    if got == [expected[i] for i in right.order] + [None] * (len(due) - len(right.order)):
        return (
            "[order_of_the_answers] you return the latencies in the order of the answers; use the "
            "order of `due`"
        )
    if all(
        a == b or (a is None and t == test.end_ms) for (a, b), t in zip(pairs, told, strict=True)
    ):
        return (
            "[answer_at_the_end_is_lost] you leave out an answer that `wait` returns at end_ms; "
            "this answer counts"
        )
    if any(a is None and b is not None for a, b in pairs):
        return (
            "[answer_is_lost] you return None for a request that has its answer. `wait` returns a "
            "list of all answers since the last call; the list may be long"
        )
    return ""


@pytest.mark.task("11.1", points=0.5)
def test_each_request_has_its_latency(student):
    loaded(student, CALM, "Six requests, 100 ms apart, each answered after 30 ms")
    loaded(student, LoadTest([7], [5], 20), "One request, due at 7 ms")


@pytest.mark.task("11.1", points=1)
def test_requests_are_sent_when_they_are_due_while_the_server_stalls(student):
    loaded(student, SLOW, "Twelve requests, 100 ms apart, each answered after 350 ms")
    loaded(student, STALL, "Thirty requests, 50 ms apart; the server stalls from 310 to 1,200 ms")


@pytest.mark.task("11.1", points=0.5)
def test_answers_in_any_order_find_their_requests(student):
    loaded(student, OUT_OF_ORDER, "Five requests whose answers come in another order")
    loaded(student, TOGETHER, "Six requests, some of which are due at the same time")
    loaded(student, AT_ONCE, "Two requests, each answered within the same millisecond")


@pytest.mark.task("11.1", points=1)
def test_latency_counts_from_the_time_when_it_was_due(student):
    loaded(student, LATE, "A busy computer, on which `wait` returns at multiples of 40 ms only")
    loaded(
        student, LATE_ALWAYS, ("A busy computer, on which every call of `wait` returns 15 ms late")
    )
    at_the_end = LoadTest([10], [10], 40, late_ms=15)
    loaded(student, at_the_end, "One request, whose answer `wait` returns late, at end_ms")


@pytest.mark.task("11.1", points=0.5)
def test_a_request_without_an_answer_is_none(student):
    loaded(student, SILENT, "Five requests, two of which are never answered")
    alone = LoadTest([10], [20], 50, silent=frozenset([0]))
    loaded(student, alone, "One request that is never answered")


@pytest.mark.task("11.1", points=0.5)
def test_any_load_is_measured(student, rng):
    for number in range(6):
        num, grid = rng.randint(4, 20), rng.choice([1, 1, 20])
        stall_from = rng.randint(50, 300)
        test = LoadTest(
            due=sorted(rng.randrange(600) for _ in range(num)),
            service_ms=[rng.randint(5, 200) for _ in range(num)],
            end_ms=2000,
            stall=(stall_from, stall_from + rng.randint(50, 500)),
            silent=frozenset(rng.sample(range(num), rng.randint(0, 2))),
            wakes_every=grid,
        )
        loaded(student, test, f"Load test {number + 1} of {num} requests")


# 11.2 --------------------------------------------------------------------------------------------

ENTRIES = ("ttft_p50", "ttft_p99", "tpot", "itl_p99", "attainment", "goodput")


CHANCE = random.Random(11)
TESTS = {  # what happened: rows, slo_ttft_ms, slo_tpot_ms, duration_ms
    "one of two is refused": (
        [(0, [100, 120, 160], "served"), (50, [], "refused")],
        200,
        40,
        2000,
    ),
    "an answer has one token": (
        [(0, [80], "served"), (30, [90, 130, 150], "served"), (40, [400], "served")],
        100,
        30,
        500,
    ),
    "a request meets its SLO exactly": (
        [(10, [210, 250, 290], "served"), (10, [211, 221], "served"), (20, [30, 71], "served")],
        200,
        40,
        1000,
    ),
    "the test ends before two answers do": (
        [
            (0, [50, 60, 70], "unfinished"),
            (5, [25, 45], "served"),
            (10, [], "unfinished"),
            (15, [90, 95], "served"),
        ],
        100,
        20,
        400,
    ),
    "everything is refused": ([(0, [], "refused"), (9, [], "refused")], 100, 20, 100),
    "four answers, one of which stalls for a while": (
        [
            (0, [30, 40, 50, 60, 70, 80, 90, 100], "served"),
            (10, [60, 70, 80, 90, 290, 300, 310, 320], "served"),
            (20, [100, 111], "served"),
            (30, [180, 199, 218], "served"),
        ],
        150,
        15,
        800,
    ),
    "three long answers, one of which stalls once": (
        [
            (0, list(range(50, 1051, 10)), "served"),
            (0, [*range(60, 560, 10), *range(900, 1410, 10)], "served"),
            (5, list(range(70, 1171, 11)), "served"),
        ],
        65,
        12,
        2000,
    ),
    "one answer is on time and slow, and one is late and quick": (
        [(0, [90, 190, 290], "served"), (0, [150, 151, 152], "served"), (0, [99, 109], "served")],
        100,
        50,
        1500,
    ),
    "an unfinished answer stalls, and rows come in another order than requests": (
        [(40, [50, 540], "unfinished"), (0, [0, 20, 41], "served"), (10, [], "refused")],
        100,
        20,
        1000,
    ),
    "a short answer stalls, and a long one never does": (
        [(0, [5, 505], "served"), (0, list(range(15, 2025, 10)), "served")],
        100,
        600,
        3000,
    ),
    "a hundred requests": (some_rows(CHANCE, 100), 200, 20, 3000),
    "a hundred requests, all served": (some_rows(CHANCE, 100, "s"), 250, 25, 2000),
    "two hundred requests": TWO_HUNDRED,
}


def numbers(values):
    return [value for value in values if value is not None]


def nearest_rank(values, p):
    return sorted(values)[-(-p * len(values) // 100) - 1]


def interpolated(values, p):
    place = p * (len(values) - 1) / 100
    low, ordered = int(place), sorted(values)
    return ordered[low] + (place - low) * (ordered[min(low + 1, len(values) - 1)] - ordered[low])


def at(place_of):
    return lambda values, p: sorted(values)[max(0, min(len(values) - 1, place_of(values, p)))]


PERCENTILE = {
    "": nearest_rank,
    "[lies_between_two_values] you return a number between two measured values; take the value "
    "number p * n / 100, rounded up.": (
        interpolated,
        lambda values, p: statistics.median(values) if p == 50 else nearest_rank(values, p),
        lambda values, p: statistics.quantiles(values, n=100)[p - 1],
        lambda values, p: statistics.quantiles(values, n=100, method="inclusive")[p - 1],
    ),
    "[one_place_too_high] you take the value after the right one: ranks count from 1 and list "
    "indices from 0.": at(lambda values, p: p * len(values) // 100),
    "[rounds_the_place_to_the_nearest] "
    "you round p * n / 100 to the nearest number; round it up.": at(
        lambda values, p: max(1, round(p * len(values) / 100)) - 1
    ),
    "[rounds_the_place_down] you round p * n / 100 down; round it up.": at(
        lambda values, p: p * len(values) // 100 - 1
    ),
    "[mean_for_a_percentile] you return the mean, and a mean hides the slow requests.": (
        lambda values, p: statistics.mean(values)
    ),
    "[maximum_for_p99] you return the largest value of all; p99 leaves 1 % above it.": (
        lambda values, p: max(values) if p == 99 else nearest_rank(values, p)
    ),
    "[percentile_from_the_top] you count from the largest value down; count from the smallest "
    "value up.": (lambda values, p: nearest_rank(values, 100 - p)),
}
FIRST_TOKENS = {
    "": lambda rows, *_: [times[0] - arrival for arrival, times, _ in rows if times],
    "[arrival_left_out] you count TTFT from 0; TTFT counts from the arrival of the request.": (
        lambda rows, *_: [times[0] for _, times, _ in rows if times]
    ),
    "[served_only] you leave out an unfinished request; such a request may have a first token, "
    "whose TTFT was measured.": (
        lambda rows, *_: [t[0] - arrival for arrival, t, ending in rows if ending == "served"]
    ),
    "[zero_left_out] you leave out a TTFT of 0 ms, which is valid. Only a request without a "
    "token has no TTFT.": (
        lambda rows, *_: [t[0] - arrival for arrival, t, _ in rows if t and t[0] != arrival]
    ),
    "[no_token_is_zero] you count the TTFT of a request without a token as 0 ms; such a request "
    "has no TTFT.": (lambda rows, *_: [t[0] - arrival if t else 0 for arrival, t, _ in rows]),
    "[no_token_is_endless] you count the TTFT of a request without a token as infinite; such a "
    "request has no TTFT. The attainment already counts such requests.": lambda rows, *_: [
        t[0] - arrival if t else math.inf for arrival, t, _ in rows
    ],
    "[whole_answer_for_first_token] you end TTFT with the last token; TTFT ends with the first "
    "token.": (lambda rows, *_: [times[-1] - arrival for arrival, times, _ in rows if times]),
}


def neighbours(times):
    return [b - a for a, b in itertools.pairwise(times)]


def tpots(rows, *_):
    return [(t[-1] - t[0]) / (len(t) - 1) if len(t) > 1 else None for _, t, _ in rows]


GAPS = {
    "": lambda rows, *_: [gap for _, times, _ in rows for gap in neighbours(times)],
    "[first_token_is_a_gap] you include the time to the first token in the gaps; this time is "
    "TTFT, not a gap between two "
    "tokens.": lambda rows, *_: [g for arrival, t, _ in rows for g in neighbours([arrival, *t])],
    "[tpot_for_itl] you take one mean for each answer, and a mean hides a long gap. Take the "
    "gaps themselves, of all answers together.": lambda rows, *_: numbers(tpots(rows)),
    "[one_gap_for_each_answer] you take one gap of each answer; a long answer has many gaps. "
    "Take all gaps together.": (
        lambda rows, *_: [max(neighbours(t)) for _, t, _ in rows if len(t) > 1],
        lambda rows, *_: [nearest_rank(neighbours(t), 99) for _, t, _ in rows if len(t) > 1],
        lambda rows, *_: sorted(nearest_rank(neighbours(t), 99) for _, t, _ in rows if len(t) > 1)[
            -1:
        ],
    ),
    "[gaps_between_answers] you also take gaps between tokens of two answers; a gap is between "
    "two tokens of one answer.": (
        lambda rows, *_: neighbours(sorted(t for _, times, _ in rows for t in times)),
        lambda rows, *_: neighbours([t for _, times, _ in rows for t in times]),
    ),
    "[gaps_of_the_served_only] you leave out the gaps of an unfinished answer; these gaps were "
    "measured, too.": (
        lambda rows, *_: [g for _, t, ending in rows if ending == "served" for g in neighbours(t)]
    ),
}


def of_each_row(form, otherwise=None):
    return lambda rows, *_: [form(*row) if len(row[1]) > 1 else otherwise for row in rows]


TPOT = {
    "": tpots,
    "[divides_by_the_tokens] you divide by n; n tokens have n - 1 gaps between them.": (
        of_each_row(lambda _, t, __: (t[-1] - t[0]) / len(t)),
        lambda rows, *_: [(t[-1] - t[0]) / len(t) if t else None for _, t, _ in rows],
    ),
    "[ttft_within_tpot] you include the time to the first token; TPOT begins with the first "
    "token.": (
        of_each_row(lambda arrival, t, _: (t[-1] - arrival) / len(t)),
        of_each_row(lambda arrival, t, _: (t[-1] - arrival) / (len(t) - 1)),
        lambda rows, *_: [(t[-1] - arrival) / len(t) if t else None for arrival, t, _ in rows],
    ),
    "[one_token_has_a_tpot] you give a TPOT to an answer of one token, which has no gap: return "
    "None. 0 would be a perfect result without a measurement.": (
        of_each_row(lambda _, t, __: (t[-1] - t[0]) / (len(t) - 1), 0),
        lambda rows, *_: [(t[-1] - t[0]) / max(1, len(t) - 1) if t else None for _, t, _ in rows],
    ),
    "[rows_left_out] you leave rows out; return a value for each row, None where there is no "
    "TPOT.": (
        lambda rows, *_: numbers(tpots(rows)),
        lambda rows, *_: [tpot for tpot, row in zip(tpots(rows), rows, strict=True) if row[1]],
    ),
    "[no_tpot_for_the_unfinished] you give None to an unfinished answer; an unfinished answer "
    "with two tokens or more has a TPOT.": (
        lambda rows, *_: [
            tpot if row[2] == "served" else None
            for tpot, row in zip(tpots(rows), rows, strict=True)
        ]
    ),
    "[cut_to_whole_ms] you round TPOT to whole milliseconds; TPOT is a fraction: divide with /, "
    "and do not round.": (
        of_each_row(lambda _, t, __: (t[-1] - t[0]) // (len(t) - 1)),
        of_each_row(lambda _, t, __: round((t[-1] - t[0]) / (len(t) - 1))),
    ),
    "[middle_gap_for_tpot] you take the median gap; TPOT is the mean gap of an answer.": (
        of_each_row(lambda _, t, __: statistics.median(neighbours(t)))
    ),
    "[longest_gap_for_tpot] you take the longest gap; TPOT is the mean gap of an answer.": (
        of_each_row(lambda _, t, __: max(neighbours(t)))
    ),
}


def good(rule, unfinished=False):
    """How many rows meet the SLO by another rule of (ttft, tpot, most, most)."""

    def count(rows, ttft_ms, tpot_ms, _):
        return sum(
            (ending == "served" or (unfinished and bool(times)))
            and rule(times[0] - arrival, tpot, ttft_ms, tpot_ms)
            for tpot, (arrival, times, ending) in zip(tpots(rows), rows, strict=True)
        )

    return count


def meets(ttft, tpot, most_ttft, most_tpot):
    return ttft <= most_ttft and (tpot is None or tpot <= most_tpot)


GOOD = {
    "": good(meets),
    "[unfinished_meets_the_slo] you count an unfinished request as one that meets the SLO; it "
    "was not served, so it misses the SLO, however fast its tokens were.": (
        good(meets, unfinished=True)
    ),
    "[exactly_is_a_miss] you count a request exactly at its SLO as a miss; a limit itself is "
    "allowed: use <=.": (
        good(lambda a, b, x, y: a < x and (b is None or b < y)),
        good(lambda a, b, x, y: a < x and (b is None or b <= y)),
        good(lambda a, b, x, y: a <= x and (b is None or b < y)),
    ),
    "[one_token_misses] you count an answer of one token as a miss; such an answer has no TPOT, "
    "so only TTFT decides.": (good(lambda a, b, x, y: a <= x and b is not None and b <= y)),
    "[tpot_limit_in_whole_ms] you compare whole milliseconds; TPOT is a fraction, and 50.2 ms "
    "exceeds a limit of 50 ms: do not round TPOT.": (
        good(lambda a, b, x, y: a <= x and (b is None or int(b) <= y)),
        good(lambda a, b, x, y: a <= x and (b is None or round(b) <= y)),
    ),
    "[ttft_alone] you check only TTFT; the SLO has two limits.": (good(lambda a, b, x, y: a <= x)),
    "[tpot_alone] you check only TPOT; the SLO has two limits.": (
        good(lambda a, b, x, y: b is None or b <= y)
    ),
    "[either_limit_is_enough] "
    "you accept a request that meets one limit; both limits must be met.": (
        good(lambda a, b, x, y: a <= x or (b is not None and b <= y)),
        good(lambda a, b, x, y: a <= x or b is None or b <= y),
    ),
    "[served_is_enough] you count every served request; a request must also meet the SLO.": (
        good(lambda *_: True)
    ),
}
ALL = {
    "": lambda rows, *_: len(rows),
    "[refused_left_out] you divide by the requests that were not refused. Then a server that "
    "refuses more "
    "looks better: divide by all rows.": lambda rows, *_: sum(row[2] != "refused" for row in rows),
    "[divides_by_the_served] you divide by the requests that were served. Refused and unfinished "
    "requests count: divide by all rows.": lambda rows, *_: sum(row[2] == "served" for row in rows),
    "[divides_by_those_with_tokens] you divide by the requests that have a token. The other "
    "requests count, too: divide by all rows.": (
        lambda rows, *_: sum(bool(row[1]) for row in rows)
    ),
    "[unfinished_left_out] you leave unfinished requests out of the denominator; these requests "
    "count, too: divide by all rows.": lambda rows, *_: sum(row[2] != "unfinished" for row in rows),
}
AS_A_SHARE = {
    "": lambda *_: lambda share: share,
    "[percent_for_a_share] you return percent; return a share from 0 to 1.": (
        lambda *_: lambda share: 100 * share
    ),
    "[share_of_the_misses] you return the share that misses the SLO; return the share that meets "
    "the SLO.": (lambda *_: lambda share: 1 - share),
}
A_SECOND = {
    "": lambda rows, _, __, duration: 1000 / duration,
    "[per_millisecond] you return requests per millisecond; return requests per second. "
    "duration_ms is in milliseconds.": (lambda rows, _, __, duration: 1 / duration),
    "[until_the_last_token] "
    "you divide by the time of the last token; the test lasts duration_ms.": (
        lambda rows, *_: 1000 / max(t for _, times, _ in rows for t in times),
        lambda rows, *_: 1000 / (max(t for _, times, _ in rows for t in times) - rows[0][0]),
    ),
    "[attainment_for_goodput] you return a share of the requests; goodput is a number of "
    "requests per second.": (
        lambda rows, *_: 1 / len(rows),
        lambda rows, _, __, duration: 1000 / duration / len(rows),
    ),
    "[a_whole_number_of_seconds] you take whole seconds; divide by duration_ms / 1000.": (
        lambda rows, _, __, duration: 1 / (duration // 1000),
        lambda rows, _, __, duration: 1 / -(-duration // 1000),
    ),
}


def percentiles(*which):
    def together(parts):
        values, percentile = parts
        return rounded([percentile(values, p) if values else None for p in which])

    return together


def entries(student, arguments):
    """The dictionary, once it is known to be one, with numbers in it."""
    rows, *limits = arguments
    got = student.call("metrics", Lent((a, Lent(t), e) for a, t, e in rows), *limits)
    if not isinstance(got, dict):
        kind = "nothing (None)" if got is None else a_kind(got)
        raise Wrong(f"[metrics_are_no_dictionary] Return a dictionary; you return {kind}.")
    missing = [name for name in ENTRIES if name not in got]
    if missing:
        raise Wrong(
            "[entry_is_missing] "
            f"Your dictionary lacks {missing[0]!r}; it needs {', '.join(ENTRIES)}.",
            got=list(got),
        )
    if not isinstance(got["tpot"], tuple | list):
        raise Wrong(
            "[tpot_is_no_list] tpot must be a list with a value for each row; you return "
            f"{a_kind(got['tpot'])}.",
            got=got["tpot"],
        )
    for name in ENTRIES:
        values = got[name] if name == "tpot" else [got[name]]
        for value in values:
            if value is not None and not is_number(value):
                raise Wrong(
                    f"[entry_is_no_number] {name} must be a number or None; you return "
                    f"{a_kind(value)}.",
                    got=got[name],
                )
    return got


def as_shown(arguments):
    rows, *limits = arguments
    is_short = len(rows) <= 4 and sum(len(times) for _, times, _ in rows) <= 40
    told = rows if is_short else f"{len(rows)} rows"
    return f"metrics({told}, {', '.join(map(str, limits))})"


def entry(student, names, together, parts, otherwise, tests=TESTS):
    """One or two entries, in every load test; if one is wrong, the belief that fits them all."""
    seen = []
    for arguments in tests.values():
        try:
            got = entries(student, arguments)
        except Raised as error:
            error.sentence = f"{as_shown(arguments)} fails with {error.sentence}"
            raise
        seen.append((arguments, rounded([got[name] for name in names])))
    for happened, (arguments, got) in zip(tests, seen, strict=True):
        expected = together([part[""](*arguments) for part in parts])
        if got != expected:
            telling = [pair for pair in seen if any(row[1] for row in pair[0][0])]
            said = why(telling, together, *parts) or otherwise
            said_of = " and ".join(names)
            raise Wrong(
                f"If {happened}: {said_of}: {said} ({as_shown(arguments)})",
                expected=expected if len(names) > 1 else expected[0],
                got=got if len(names) > 1 else got[0],
            )


AS_A_PART = rewritten(PERCENTILE, lambda form: lambda *_: form)
TTFT_PARTS = (percentiles(50, 99), (FIRST_TOKENS, AS_A_PART))
ITL_PARTS = (percentiles(99), (GAPS, AS_A_PART))
TPOT_PARTS = (lambda parts: rounded(parts), (TPOT,))
SHARE_PARTS = (lambda parts: rounded([parts[2](parts[0] / parts[1])]), (GOOD, ALL, AS_A_SHARE))
GOODPUT_PARTS = (lambda parts: rounded([parts[0] * parts[1]]), (GOOD, A_SECOND))


@pytest.mark.task("11.2", points=1)
def test_percentiles_of_ttft_are_measured_values(student):
    said = (
        "[other_ttft] your number is wrong: take times[0] - arrival of each row with a token; "
        "then the percentile."
    )
    entry(student, ("ttft_p50", "ttft_p99"), *TTFT_PARTS, said)


@pytest.mark.task("11.2", points=0.5)
def test_tpot_is_the_mean_gap_of_each_answer(student):
    said = (
        "[other_tpot] your number is wrong: take (last token - first token) / (tokens - 1), or "
        "None."
    )
    entry(student, ("tpot",), *TPOT_PARTS, said)


@pytest.mark.task("11.2", points=0.75)
def test_itl_is_taken_over_all_gaps_together(student):
    said = (
        "[other_itl] your number is wrong: take the gaps between neighbouring tokens of each "
        "answer, all in one list."
    )
    entry(student, ("itl_p99",), *ITL_PARTS, said)


@pytest.mark.task("11.2", points=1)
def test_refused_and_unfinished_requests_count(student):
    said = (
        "[other_attainment] your number is wrong: take the rows that are served within both "
        "limits, divided by all rows."
    )
    entry(student, ("attainment",), *SHARE_PARTS, said)


@pytest.mark.task("11.2", points=0.5)
def test_goodput_counts_requests_that_meet_the_slo(student):
    said = (
        "[other_goodput] your number is wrong: take the rows that meet the SLO, times 1000, "
        "divided by duration_ms."
    )
    entry(student, ("goodput",), *GOODPUT_PARTS, said)


@pytest.mark.task("11.2", points=0.25)
def test_any_load_test_gives_the_right_metrics(student, rng):
    for number in range(10):
        rows = some_rows(rng, rng.choice([1, 2, 3, 10, 50, 101]))
        arguments = (rows, rng.choice([100, 150, 200]), rng.choice([10, 13, 20]), 5000)
        got = entries(student, arguments)
        found = rounded([got[name] for name in ENTRIES])
        expected = [
            value
            for together, parts in (TTFT_PARTS, TPOT_PARTS, ITL_PARTS, SHARE_PARTS, GOODPUT_PARTS)
            for value in together([part[""](*arguments) for part in parts])
        ]
        for name, due, mine in zip(ENTRIES, expected, found, strict=True):
            if due != mine:
                raise Wrong(
                    "[other_in_a_random_test] "
                    f"Load test {number + 1}, {as_shown(arguments)}: {name} is wrong.",
                    expected=due,
                    got=mine,
                )


# 11.3 --------------------------------------------------------------------------------------------

NEAR, ENOUGH = 0.1, 33  # relative error; systems of 40
STEADY = {"spread": 0.0, "noise": 0.0, "steepness": 60.0}


def found_capacity(student, system):
    """The answer for one system, once it is a number that its runs may give."""
    failed, got = None, None
    try:
        got = student.call(
            "capacity",
            GivenFunction(system.attainment),
            system.low,
            system.high,
            system.target,
            system.most_runs,
        )
    except Raised as error:
        failed = error
    if system.problem:
        raise Wrong(f"{shown(system)}: {system.problem}.")
    if failed is not None:
        failed.sentence = f"{shown(system)} fails with {failed.sentence}"
        raise failed
    if not is_number(got):
        kind = "nothing (None)" if got is None else a_kind(got)
        raise Wrong(f"[rate_is_no_number] {shown(system)}: return a rate; you return {kind}.")
    return got


@pytest.mark.task("11.3", points=0.5)
def test_without_noise_the_rate_is_found(student):
    for knee in (2.2, 5.0, 11.0):
        system = System(f"steady {knee}", knee, **STEADY)
        got = found_capacity(student, system)
        if abs(system.error(got)) <= 0.05:
            continue
        if keeps_means(student, system):
            raise Wrong(
                "[remembers_another_system] You keep results of an earlier call, which had "
                "another system: at new rates, your answer is right. Keep nothing between calls. "
                f"{shown(system)}",
                expected=f"{system.capacity:.2f}, within 5 %",
                got=f"{got:.2f}",
            )
        said = (
            "[other_capacity] your capacity is wrong: return the highest rate whose mean "
            "attainment is at least the target"
        )
        met = max((rate for rate, _ in system.runs if rate <= system.capacity), default=0.0)
        missed = min((rate for rate, _ in system.runs if rate > system.capacity), default=math.inf)
        rates = {rate for rate, _ in system.runs}
        if got not in rates and any(math.isclose(got, value) for value in values_of(system)):
            said = "[attainment_for_a_rate] you return an attainment; return a rate"
        elif met <= got <= missed and met < missed:
            said = (
                "[too_coarse] "
                "the rates that you try are too far apart: the capacity may be anywhere between "
                "the last rate that meets the target and the first that misses it"
            )
        elif got > missed or got < met:
            said = (
                "[wrong_half] you have tried a rate between your answer and the capacity, and "
                "kept the wrong half. If a rate meets the target, the capacity is that rate or "
                "higher; if a rate misses the target, the capacity is lower"
            )
        raise Wrong(
            f"{shown(system)}, where all seeds give the same result: {said}.",
            expected=f"{system.capacity:.2f}, within 5 %",
            got=f"{got:.2f}",
        )


def keeps_means(student, system):
    """Whether the same system is measured right at rates that no other call has had."""
    ends = {"low": 1.37 * system.low, "high": 1.37 * system.high}
    again = System(f"{system.name} again", system.knee, **STEADY, **ends)
    return abs(again.error(found_capacity(student, again))) <= 0.05


def values_of(system):
    again = System(system.name, system.knee, **STEADY)
    return {again.attainment(*run) for run in list(system.runs)}


@pytest.mark.task("11.3", points=0.5)
def test_the_ends_of_the_range_are_answers_too(student):
    slow = System("slow", 0.4, **STEADY)
    got = found_capacity(student, slow)
    if got != 0.0:
        raise Wrong(
            f"[low_misses_the_target] {shown(slow)}: your answer is wrong. Even the lowest rate, "
            f"{slow.low}, misses the target, so no rate in the range meets the target: return "
            "0.0.",
            expected=0.0,
            got=got,
        )
    quick = System("quick", 90.0, **STEADY)
    got = found_capacity(student, quick)
    if got != quick.high:
        raise Wrong(
            f"[high_meets_the_target] {shown(quick)}: your answer is wrong. The highest rate, "
            f"{quick.high}, meets the target: return `high`.",
            expected=quick.high,
            got=got,
        )
    narrow = System("narrow", 42.0, 10.0, 0.0, 0.0, target=0.5, low=30.0, high=60.0)
    got = found_capacity(student, narrow)
    if abs(narrow.error(got)) > 0.05:
        raise Wrong(
            f"[ignores_its_arguments] {shown(narrow)}: your answer ignores the arguments; `low`, "
            "`high` and `target` differ from call to call.",
            expected=f"{narrow.capacity:.2f}, within 5 %",
            got=f"{got:.2f}",
        )
    exact = Step("exact", 5.0, 0.0, 0.0, 0.0, target=0.5)
    got = found_capacity(student, exact)
    if abs(exact.error(got)) > 0.1:
        raise Wrong(
            "[exact_target_is_a_miss] You count a mean exactly at the target as a miss; it meets "
            f"the target: compare with >=, not >. {shown(exact)}, where every rate up to "
            f"{exact.knee} has a mean of 0.5.",
            expected=f"{exact.capacity:.2f}, within 10 %",
            got=f"{got:.2f}",
        )
    few = System("few runs", 5.5, **STEADY, low=4.0, high=8.0, most_runs=100)
    try:
        got = found_capacity(student, few)
    except Wrong as wrong:
        if few.problem:
            raise Wrong(
                f"[ignores_most_runs] most_runs is {few.most_runs} here, and you make more runs: "
                f"choose fewer rates, so that most_runs is enough. {wrong.sentence}"
            ) from None
        raise
    if abs(few.error(got)) > NEAR:
        raise Wrong(
            f"[too_few_rates] {shown(few)}: high is twice low, and your rate differs by more "
            "than 10 % from the capacity. Use all the runs.",
            expected=f"{few.capacity:.2f}, within 10 %",
            got=f"{got:.2f}",
        )


@pytest.mark.task("11.3", points=2.5)
def test_noise_does_not_decide(student):
    found = [(system, found_capacity(student, system)) for system in hidden_systems()]
    errors = [system.error(got) for system, got in found]
    num_near = sum(abs(error) <= NEAR for error in errors)
    if num_near >= ENOUGH:
        return
    num_runs, num_seeds = (
        statistics.mean(counts)
        for counts in zip(*(system.seeds_of_a_rate() for system, _ in found), strict=True)
    )
    typical = math.sqrt(statistics.mean(error**2 for error in errors))
    raise Wrong(
        f"In {num_near} of 40 noisy systems your rate is within 10 % of the true capacity; your "
        f"typical error is {typical:.0%}. {why_so_far(errors, num_runs, num_seeds)}.",
        expected=f"{ENOUGH} systems or more",
        got=f"{num_near} systems",
    )


def why_so_far(errors, num_runs, num_seeds):
    """num_runs, num_seeds: of one rate, on average."""
    bias = statistics.mean(errors)
    if num_runs >= 3 and num_seeds < 0.6 * num_runs:
        return (
            "[repeats_the_same_run] You repeat a run with the same seed, which gives the same "
            "number. Use another seed each time"
        )
    if num_seeds < 1.5:
        return (
            "[one_seed_for_a_rate] You use one seed for each rate, and the traffic of one seed "
            "is easy or hard by chance. Take the mean of 20 seeds or more"
        )
    if bias > 0.25:
        return (
            "[easiest_seed_decides] Your rate is far too high: the mean over the seeds must meet "
            "the target, not only the best seed"
        )
    if bias < -0.15:
        return (
            "[hardest_seed_decides] Your rate is far too low: the mean over the seeds must meet "
            "the target, but a single seed may miss it"
        )
    if num_seeds < 12 and abs(bias) < 0.07:
        return (
            f"[too_few_seeds] You use about {num_seeds:.0f} seeds for a rate, and their mean is "
            "still uncertain. Try fewer rates, with 20 seeds or more for each"
        )
    if bias > 0.05:
        return (
            "[not_the_mean_of_the_seeds] Your rate is too high on average: the hard seeds count "
            "too little. Take the mean of all attainments at one rate, with equal weight. Do not "
            "take the median, do not stop when the mean looks good, and do not average the "
            "capacity of each seed"
        )
    return "[other_in_noise] Compare the mean of 20 seeds or more with the target, rate by rate"


@pytest.mark.task("11.3", points=0.5)
def test_any_range_and_target(student, rng):
    for number in range(6):
        low = rng.choice([0.5, 2.0, 10.0])
        system = System(
            f"drawn {rng.random()}",
            knee=low * rng.uniform(2.5, 9.0),
            steepness=10.0,
            spread=0.03,
            noise=0.01,
            target=rng.choice([0.5, 0.8, 0.95]),
            low=low,
            high=16 * low,
        )
        got = found_capacity(student, system)
        if abs(system.error(got)) > NEAR:
            raise Wrong(
                f"[other_in_a_random_system] System {number + 1}, {shown(system)}: with little "
                "noise, your rate differs by more than 10 % from the capacity.",
                expected=f"{system.capacity:.2f}, within 10 %",
                got=f"{got:.2f}",
            )


# 11.4 --------------------------------------------------------------------------------------------


def all_runs(names, size_of):
    """A table of every choice of names."""
    return {
        on: size_of(on)
        for count in range(len(names) + 1)
        for on in itertools.combinations(sorted(names), count)
    }


def key(names):
    return tuple(sorted(names))


TWO = {(): 80.0, ("batching",): 160.0, ("memory",): 88.0, ("batching", "memory"): 448.0}
SLOWER = {(): 50.0, ("a",): 40.0, ("b",): 100.0, ("a", "b"): 150.0}
TABLES = {
    "of two factors": (TWO, ["memory", "batching"]),
    "of two factors in the other order": (TWO, ["batching", "memory"]),
    "of three factors": (CLAIM, ["stopping", "batching", "memory"]),
    "of three factors, memory first": (CLAIM, ["memory", "stopping", "batching"]),
    "where one factor alone makes it slower": (SLOWER, ["a", "b"]),
    "of one factor": ({(): 4.0, ("x",): 6.0}, ["x"]),
}


def on_the_way(table, order, form):
    """form: of the throughput before, after, of the baseline, and of this factor alone."""
    found = []
    for place, name in enumerate(order):
        before, after = table[key(order[:place])], table[key(order[: place + 1])]
        found.append(form(before, after, table[()], table[(name,)]))
    return found


def ratios(table, order):
    return on_the_way(table, order, lambda before, after, *_: after / before)


def scaled(sizes, total):
    """Sizes whose product is made to fit, each with the same share of its logarithm."""
    together = math.log(math.prod(sizes))
    return [size ** (math.log(total) / together) for size in sizes]


def alone(table, order):
    return on_the_way(table, order, lambda _, __, base, one: one / base)


def left_out(table, order):
    return [table[key(order)] / table[key(set(order) - {name})] for name in order]


SIZES = {
    "": ratios,
    "[each_factor_alone] you compare each factor alone with the baseline. The product of these "
    "sizes is not the whole speed-up: compare with the run before, in which the earlier factors "
    "are already on.": alone,
    "[differences_for_factors] you "
    "return a difference; a factor is a ratio, after / before.": lambda table, order: on_the_way(
        table, order, lambda before, after, *_: after - before
    ),
    "[speed_up_so_far] you return the speed-up over the baseline so far; divide by the run "
    "before, not by the baseline.": lambda table, order: on_the_way(
        table, order, lambda before, after, base, _: after / base
    ),
    "[another_order] you do not follow `order`; use the order of the argument.": (
        lambda table, order: ratios(table, sorted(order)),
        lambda table, order: ratios(table, sorted(order, reverse=True)),
        lambda table, order: ratios(table, order[::-1]),
        lambda table, order: ratios(table, order[::-1])[::-1],
        lambda table, order: [
            dict(zip(sorted(order), ratios(table, sorted(order)), strict=True))[name]
            for name in order
        ],
    ),
    "[no_factor_below_one] your factors are never below 1; a factor that makes the system slower "
    "is below 1.": (
        lambda table, order: on_the_way(
            table, order, lambda before, after, *_: max(1.0, after / before)
        )
    ),
    "[upside_down] your sizes are upside down: a size is after / before.": lambda table, order: (
        on_the_way(table, order, lambda before, after, *_: before / after)
    ),
    "[each_factor_left_out] you remove each factor from the whole system. This gives the size of "
    "a factor that comes last; here each factor has its own place in the order.": left_out,
    "[made_to_fit] you change measured sizes so that their product fits. No change is needed: "
    "each size "
    "is a ratio of two runs, so the product is the whole speed-up.": lambda table, order: scaled(
        alone(table, order), table[key(order)] / table[()]
    ),
    "[less_one] you return the gain, size - 1; return the size, which is 1 for a factor without "
    "effect.": (lambda table, order: [size - 1 for size in ratios(table, order)]),
    "[percent_of_the_total] you return a share of the whole; return after / before.": (
        lambda table, order: [
            size / (table[key(order)] / table[()]) for size in ratios(table, order)
        ],
        lambda table, order: on_the_way(
            table,
            order,
            lambda before, after, *_: (after - before) / (table[key(order)] - table[()]),
        ),
    ),
    "[whole_speed_up_too] you return the whole speed-up among the factors; leave it out.": (
        lambda table, order: [*ratios(table, order), table[key(order)] / table[()]]
    ),
    "[baseline_is_no_factor] you return a 1 for the baseline; return only the factors.": (
        lambda table, order: [1.0, *ratios(table, order)]
    ),
    "[rounds_its_sizes] you round the sizes; then their product is not the whole speed-up any "
    "more.": (
        lambda table, order: [round(size, 1) for size in ratios(table, order)],
        lambda table, order: [float(round(size)) for size in ratios(table, order)],
        lambda table, order: [round(size, 2) for size in ratios(table, order)],
    ),
}


def sizes_of(student, table, order):
    got = student.call("take_apart", LentDict(table), Lent(order))
    if not isinstance(got, tuple | list) or not all(map(is_number, got)):
        kind = "nothing (None)" if got is None else a_kind(got)
        raise Wrong(
            f"[sizes_are_no_list] take_apart(…, {order}): return a list of numbers, one for each "
            f"name; you return {kind}.",
            got=got,
        )
    return rounded(got)


def given(error, sentence, table):
    """Raise an error of the learner's function again, with the likely reason and its input."""
    error.sentence = f"{unsorted_key(error.sentence, table)}{sentence} fails with {error.sentence}"
    raise error


def unsorted_key(said, table):
    """What to say of a KeyError, if the run is in the table under its sorted key; else ""."""
    found = re.match(r"KeyError: (\([^()]*\))", said)
    try:
        wanted = ast.literal_eval(found[1]) if found else ()
    except (ValueError, SyntaxError):
        return ""
    if wanted in table or key(wanted) not in table:
        return ""
    return "[key_is_not_sorted] Names in a key are in alphabetical order: tuple(sorted(on)). "


@pytest.mark.task("11.4", points=1)
def test_each_factor_is_a_ratio_of_two_runs(student):
    seen = []
    for table, order in TABLES.values():
        try:
            seen.append(((table, order), sizes_of(student, table, order)))
        except Raised as error:
            given(error, f"take_apart(…, {order}), with the runs {list(table)},", table)
    for told, ((table, order), got) in zip(TABLES, seen, strict=True):
        expected = rounded(ratios(table, order))
        if got != expected:
            said = why(seen, lambda parts: rounded(parts[0]), SIZES) or (
                "[other_sizes] your sizes are wrong: divide the run with the name by the run "
                "before."
            )
            product = rounded(table[key(order)] / table[()])
            raise Wrong(
                f"{said} The whole speed-up is {product}. A claim {told}: take_apart({table}, "
                f"{order})",
                expected=expected,
                got=got,
            )


@pytest.mark.task("11.4", points=0.5)
def test_four_runs_are_enough(student):
    order = ["stopping", "memory", "batching"]
    table = {key(order[:n]): CLAIM[key(order[:n])] for n in range(4)}
    try:
        got = sizes_of(student, table, order)
    except Raised as error:
        error.sentence = unsorted_key(error.sentence, table) + (
            f"[wants_other_runs] take_apart(…, {order}): the table has only the four runs of this "
            f"order, {list(table)}. Your function looks up another run: {error.sentence}"
        )
        raise
    if got != rounded(ratios(CLAIM, order)):
        raise Wrong(
            "[other_sizes_of_four_runs] "
            f"take_apart({table}, {order}): divide the run with the name by the run before.",
            expected=rounded(ratios(CLAIM, order)),
            got=got,
        )


def at_both_ends(first, last):
    def of_all(table):
        names = max(table, key=len)
        return {name: [first(table, name, names), last(table, name, names)] for name in names}

    return of_all


def size_first(table, name, names):
    return table[(name,)] / table[()]


def size_last(table, name, names):
    return table[names] / table[key(set(names) - {name})]


ENDS = {
    "": at_both_ends(size_first, size_last),
    "[last_and_first] you exchange the two: return (first, last).": at_both_ends(
        size_last, size_first
    ),
    "[last_is_all_the_others] you compare all the other factors with the baseline. Divide the "
    "run with all names by the run with all names but this one.": at_both_ends(
        size_first, lambda table, name, names: table[key(set(names) - {name})] / table[()]
    ),
    "[last_over_alone] you divide the whole system by this factor alone: this gives the speed-up "
    "of the other factors.": (
        at_both_ends(size_first, lambda table, name, names: table[names] / table[(name,)])
    ),
    "[last_is_what_is_left] you divide the whole speed-up by the first sizes of the other names. "
    "But together, the other names have another effect. Divide the run with all names by the run "
    "with all names but this one.": at_both_ends(
        size_first,
        lambda table, name, names: (
            table[names]
            / table[()]
            / math.prod(size_first(table, other, names) for other in names if other != name)
        ),
    ),
    "[last_upside_down] your sizes are upside down: divide the run with the name by the run "
    "without it.": at_both_ends(size_first, lambda *arguments: 1 / size_last(*arguments)),
    "[the_same_at_both_ends] you use the size of the factor alone for both ends; beside the "
    "other factors it has another size.": (at_both_ends(size_first, size_first)),
    "[differences_at_both_ends] you return a difference; a factor is a ratio.": at_both_ends(
        lambda table, name, names: table[(name,)] - table[()],
        lambda table, name, names: table[names] - table[key(set(names) - {name})],
    ),
    "[whole_speed_up_last] you return the whole speed-up as the last size; divide the run with "
    "all names by the run with all names but this one.": at_both_ends(
        size_first, lambda table, name, names: table[names] / table[()]
    ),
    "[smallest_and_largest] you sort the two sizes; either size may be the larger one.": (
        at_both_ends(
            lambda *arguments: min(size_first(*arguments), size_last(*arguments)),
            lambda *arguments: max(size_first(*arguments), size_last(*arguments)),
        )
    ),
}
FASTEST_IS_ALONE = {(): 10.0, ("a",): 20.0, ("b",): 30.0, ("a", "b"): 25.0}
OVERLAPPING = {(): 10.0, ("cache",): 40.0, ("draft",): 20.0, ("cache", "draft"): 48.0}
FOUR = all_runs("abcd", lambda on: 10.0 * math.prod(2 + len(on) * "abcd".index(n) for n in on))


def ends_of(student, table):
    got = student.call("first_and_last", LentDict(table))
    names = max(table, key=len)
    if not isinstance(got, dict):
        kind = "nothing (None)" if got is None else a_kind(got)
        raise Wrong(
            "[ends_are_no_dictionary] first_and_last returns a dictionary from name to (first, "
            f"last); you return {kind}."
        )
    fastest = max(table, key=table.get)
    if set(got) != set(names) and set(got) == set(fastest):
        raise Wrong(
            "[fastest_run_for_all] You assume that the fastest run has all factors. The run with "
            "all factors has the most names in its key, and may be slower. "
            f"first_and_last({table})",
            expected=list(names),
            got=list(got),
        )
    if set(got) != set(names):
        raise Wrong(
            "[names_are_others] first_and_last must return an entry for each name, "
            f"{', '.join(names)}.",
            expected=list(names),
            got=list(got),
        )
    for name, pair in got.items():
        if not isinstance(pair, tuple | list) or len(pair) != 2 or not all(map(is_number, pair)):
            raise Wrong(
                f"[ends_are_no_pair] For {name!r}: return two numbers, (first, last).",
                got=pair,
            )
    return rounded(got)


@pytest.mark.task("11.4", points=1)
def test_a_factor_has_another_size_at_the_other_end(student):
    tables = [TWO, CLAIM, SLOWER, OVERLAPPING, FASTEST_IS_ALONE]
    seen = []
    for table in tables:
        try:
            seen.append(((table,), ends_of(student, table)))
        except Raised as error:
            given(error, f"first_and_last, with the runs {list(table)},", table)
    for (table,), got in seen:
        expected = rounded(ENDS[""](table))
        if got != expected:
            said = why(seen, lambda parts: rounded(parts[0]), ENDS) or (
                "[other_ends] your sizes are wrong: first is (name,) divided by (); last is all "
                "names divided by all names but this one."
            )
            raise Wrong(f"{said} first_and_last({table})", expected=expected, got=got)
    few = {on: rate for on, rate in FOUR.items() if len(on) != 2}
    try:
        got = ends_of(student, few)
    except Raised as error:
        error.sentence = (
            "[wants_runs_in_the_middle] We call first_and_last with a table of four names that has "
            "no runs of two names. Your function looks up a run that it should not need: "
            f"{error.sentence}"
        )
        raise
    if got != rounded(ENDS[""](few)):
        raise Wrong(
            "[other_ends_of_four] first_and_last, with a table of four names: first is (name,) "
            "divided by (); last is all names divided by all but this one.",
            expected=rounded(ENDS[""](few)),
            got=got,
        )


@pytest.mark.task("11.4", points=0.5)
def test_any_claim_is_taken_apart(student, rng):
    for number in range(8):
        names = rng.sample(["batching", "kernel", "memory", "stopping", "cache"], rng.randint(2, 4))
        table = all_runs(names, lambda on: round(rng.uniform(50, 90) * 2.5 ** len(on), 1))
        order = rng.sample(names, len(names))
        got, expected = sizes_of(student, table, order), rounded(ratios(table, order))
        if got != expected:
            raise Wrong(
                "[other_sizes_in_a_random_claim] "
                f"Claim {number + 1}, take_apart(…, {order}): divide the run with the name by the "
                "run before.",
                expected=expected,
                got=got,
            )
        got, expected = ends_of(student, table), rounded(ENDS[""](table))
        if got != expected:
            raise Wrong(
                "[other_ends_in_a_random_claim] "
                f"Claim {number + 1}, first_and_last: one size is wrong.",
                expected=expected,
                got=got,
            )


NOW_YOURS = {
    "11.1": now_yours.load_generator,
    "11.2": now_yours.load_test,
    "11.3": now_yours.highest_rate,
    "11.4": now_yours.apart,
}

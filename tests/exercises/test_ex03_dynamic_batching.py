"""Judges exercises 3.1 and 3.2: when a batch begins, and with whom. Times in eighths of a second,
which floating point holds exactly."""

import itertools
import math

import now_yours
import pytest
from beliefs import CALLERS_LIST, a_kind, why
from serving import (
    WAKE_AT_IS_ROUNDED,
    Ask,
    asks,
    drawn,
    go_on,
    same_plan,
    serve,
    serves_in_an_engine,
)

import minibatch as mb
from minibatch.course.judging.remote_scheduler import RemoteScheduler
from minibatch.course.judging.values import Lent
from minibatch.course.judging.verdict import Wrong
from minibatch.course.judging.worker_errors import Raised

WITHHELD = {"3.2": {"minibatch.schedulers.dynamic": "Dynamic"}}


def ready(student, expected, sentence, *arguments):
    shown = "is_ready({}, now={}, max_batch_size={}, max_wait={})".format(*arguments)
    try:
        got = student.call("is_ready", *arguments)
    except Raised as error:
        if CALLERS_LIST not in error.sentence:
            error.sentence = f"{shown} fails with {error.sentence} ({sentence.rstrip('.')})."
        raise
    if got is expected:
        return
    if got is None:
        sentence = (
            "[way_out_without_return] "
            "your function returned nothing (None): each path through it needs a `return`."
        )
    elif not isinstance(got, bool):
        kind = f"{got!r:.40}" if isinstance(got, int | float | str) else a_kind(got)
        sentence = (
            f"[answer_is_no_bool] your answer is {kind}; return True or False. Use bool(...)."
        )
    elif arguments[0]:
        sentence = (
            why([(arguments, got), *probed(student)], together, *READY)
            or remembers(student, *arguments)
            or sentence
        )
    raise Wrong(f"{shown}: {sentence}", expected=expected, got=got)


def remembers(student, times, now, size, window):
    """What to say if the very same case, a day later, has another answer."""
    if not times[0] or any(8 * value % 1 for value in (*times, now, window)):
        return ""  # 0 is a time like any other, but not to everyone; others may be rounded
    day = 86_400.0
    try:
        answers = [
            student.call("is_ready", [time + later for time in times], now + later, size, window)
            for later in (0.0, day)
        ]
    except Raised:
        return ""
    if answers[0] == answers[1]:
        return ""
    return (
        "[keeps_an_earlier_deadline] "
        "the same arrivals, all shifted by one day, get another answer. Only the waiting time "
        "counts. Does your function still use a deadline of an earlier call?"
    )


def probed(student):
    """What the learner's function answers where beliefs about it differ."""
    try:
        return [(probe, student.call("is_ready", *probe)) for probe in PROBES]
    except Raised:
        return []


# 3.1 ---------------------------------------------------------------------------------------------


PROBES = [
    (times, times[-1] + later, size, window)
    for times, later, size, window in itertools.product(
        ([1.0], [1.0, 1.375], [2.0, 2.75, 3.5], [0.25, 0.5, 1.0, 1.25, 3.0]),
        (0.0, 0.25, 0.625, 2.0),
        (1, 2, 3, 8),
        (0.0, 0.5, 1.5, 3.0),
    )
] + [([1.0] * 8, 1.0, 3, 0.5), ([1.0] * 8, 1.0, 8, 0.5)]
READY = (
    {  # is anybody there?
        "": lambda times, now, size, window: True,
        "[asks_for_more_than_one] you wait for a second request; one request is enough: it "
        "starts alone if no other request arrives.": (
            lambda times, now, size, window: len(times) > 1
        ),
    },
    {  # is it full?
        "": lambda times, now, size, window: len(times) >= size,
        "[full_only_beyond_its_size] you wait for more than max_batch_size requests; "
        "max_batch_size requests already "
        "make a full batch (>=, not >).": (lambda times, now, size, window: len(times) > size),
        "[full_only_at_its_size] you treat a batch as full only if exactly max_batch_size "
        "requests wait; the batch is full also when more requests wait than there are slots (>=, "
        "not ==).": (lambda times, now, size, window: len(times) == size),
        "[full_only_at_multiples] you treat a batch as full only at multiples of max_batch_size; "
        "the batch is full "
        "also at numbers between them.": (lambda times, now, size, window: len(times) % size == 0),
        "[full_one_seat_early] you treat the batch as full while a slot is left; a full batch "
        "needs max_batch_size requests.": (lambda times, now, size, window: len(times) >= size - 1),
        "[size_of_its_own] "
        "you use a fixed number; the batch is full at max_batch_size requests.": tuple(
            lambda times, now, size, window, n=n: len(times) >= n for n in range(2, 9)
        ),
        "[full_batch_waits] you let a full batch wait; a full batch starts at once, before its "
        "window ends.": (
            lambda times, now, size, window: False,
            lambda times, now, size, window: (
                len(times) >= size and now >= times[min(len(times), size) - 1] + window
            ),
        ),
        "[full_batch_waits_a_little] you let a full batch wait a little; a full batch starts at "
        "once, even if its requests have "
        "just arrived.": (lambda times, now, size, window: len(times) >= size and now > times[0]),
    },
    {  # has it waited?
        "": lambda times, now, size, window: now >= times[0] + window,
        "[window_ends_after_its_end] your window ends too late: the window is over exactly at "
        "arrival + max_wait (>=, not >).": (
            lambda times, now, size, window: now > times[0] + window
        ),
        "[window_ends_at_one_moment] your window is over only at one moment; the window is over "
        "at arrival + max_wait and at any later time (>=, not ==).": (
            lambda times, now, size, window: now == times[0] + window
        ),
        "[newest_decides] you use the window of the newest request; the batch starts when the "
        "oldest "
        "request's window is over.": (lambda times, now, size, window: now >= times[-1] + window),
        "[second_decides] you use the second request; use the oldest request, arrival_times[0].": (
            lambda times, now, size, window: now >= times[min(1, len(times) - 1)] + window
        ),
        "[wait_is_negative] you calculate `arrival - now`; the waiting time is `now - arrival`.": (
            lambda times, now, size, window: times[0] - now >= window
        ),
        "[window_of_other_length] your window is too long or too short; the window is exactly "
        "max_wait.": tuple(
            lambda times, now, size, window, factor=factor: now >= times[0] + factor * window
            for factor in (2, 0.5)
        ),
        "[mean_wait_decides] you use the mean of all waiting times; use only the waiting time of "
        "the oldest request.": (
            lambda times, now, size, window: now >= sum(times) / len(times) + window
        ),
        "[sum_of_waits_decides] you use the sum of all waiting times; use only the waiting time of "
        "the oldest request.": (
            lambda times, now, size, window: sum(now - time for time in times) >= window,
            lambda times, now, size, window: (
                sum(now - time for time in times) >= window > 0 or now >= times[0] + window
            ),
        ),
        "[wait_ends_with_the_newest] you count the waiting time up to the newest arrival; count it "
        "up to `now`.": (
            lambda times, now, size, window: times[-1] - times[0] >= window,
            lambda times, now, size, window: times[-1] - times[0] > window,
        ),
        "[window_is_a_time] you use max_wait as a time on the clock; max_wait is a duration that "
        "begins at the arrival.": (
            lambda times, now, size, window: now >= window,
            lambda times, now, size, window: now > window,
        ),
        "[window_in_milliseconds] you use max_wait in milliseconds; max_wait is in seconds, as "
        "`now` is.": (
            lambda times, now, size, window: now >= times[0] + window / 1000,
            lambda times, now, size, window: (now - times[0]) / 1000 >= window,
        ),
        "[whole_seconds] you count in whole seconds; do not round.": tuple(
            lambda times, now, size, window, form=form, whole=whole: form(
                whole, times[0], now, window
            )
            for whole in (int, round, math.ceil)
            for form in (
                lambda whole, time, now, window: whole(now) >= whole(time + window),
                lambda whole, time, now, window: whole(now) >= whole(time) + whole(window),
                lambda whole, time, now, window: whole(now - time) >= window,
                lambda whole, time, now, window: whole(now - time) >= whole(window),
                lambda whole, time, now, window: whole(now) - whole(time) >= window,
            )
        ),
        "[knows_no_window] you ignore the window: when the window of the oldest request is over, "
        "the batch starts even if it is not full.": lambda times, now, size, window: False,
        "[window_of_zero_is_none] you treat a window of 0 as no window, as `if max_wait` does; a "
        "window of 0 s is over at once.": (
            lambda times, now, size, window: window > 0 and now >= times[0] + window
        ),
        "[starts_at_once] you start the batch at once; the window is not over, so the batch "
        "waits.": (lambda times, now, size, window: True),
        "[asks_the_opposite] you test the opposite; the batch starts when `now` is past the end of "
        "the window.": (
            lambda times, now, size, window: now < times[0] + window,
            lambda times, now, size, window: now <= times[0] + window,
        ),
    },
    {  # how do they go together?
        "": lambda *_: lambda full, waited: full or waited,
        "[asks_for_both] you require both conditions; one is enough: the batch is full, or the "
        "window of the oldest request is over.": (lambda *_: lambda full, waited: full and waited),
    },
)


def together(parts):
    anybody, full, waited, combined = parts
    return anybody and combined(full, waited)


@pytest.mark.task("3.1", points=0.5)
def test_without_a_request_there_is_no_batch(student):
    ready(
        student,
        False,
        "[starts_with_nobody] you start a batch although no request waits, so there is nothing "
        "to start.",
        [],
        5.0,
        8,
        0.5,
    )
    said = (
        "[starts_with_nobody_in_a_short_window] you start a batch although no request waits; "
        "nothing starts then, however short the window is."
    )
    ready(student, False, said, [], 5.0, 8, 0.0)
    ready(student, False, said, [], 0.0, 1, 0.0)


@pytest.mark.task("3.1", points=0.5)
def test_a_full_batch_is_ready_at_once(student):
    said = (
        "[other_when_full] your answer is wrong: three requests wait for three slots, so the "
        "batch is full and starts."
    )
    ready(student, True, said, [1.0, 1.0, 1.0], 1.0, 3, 0.5)
    said = (
        "[other_when_more_wait] your answer is wrong: more requests wait than there are slots, "
        "so the batch is full."
    )
    ready(student, True, said, [1.0] * 5, 1.0, 3, 0.5)
    said = (
        "[other_with_one_seat] your answer is wrong: the only slot is taken, so the batch is full."
    )
    ready(student, True, said, [1.0], 1.0, 1, 0.5)
    said = (
        "[other_when_full_one_by_one] your answer is wrong: three requests wait for three slots. "
        "They arrived one after another, but the batch is full."
    )
    ready(student, True, said, [1.0, 1.375, 1.4375], 1.4375, 3, 0.5)


@pytest.mark.task("3.1", points=0.5)
def test_the_oldest_request_has_waited_long_enough(student):
    said = (
        "[other_past_the_window] your answer is wrong: one request has waited 2 s, longer than "
        "its window. Then the batch need not be full."
    )
    ready(student, True, said, [1.0], 3.0, 8, 0.5)
    said = (
        "[other_at_the_windows_end] your answer is wrong: one request has waited 0.5 s, so its "
        "window is over exactly now."
    )
    ready(student, True, said, [1.0], 1.5, 8, 0.5)
    said = (
        "[other_with_two_in_the_window] your answer is wrong: the oldest request has waited 0.5 "
        "s, its whole window; the newest request does not count."
    )
    ready(student, True, said, [1.0, 1.375], 1.5, 8, 0.5)
    ready(
        student,
        True,
        "[other_without_a_window] your answer is wrong: a window of 0 s is over at once.",
        [1.0],
        1.0,
        8,
        0.0,
    )
    said = (
        "[arrival_at_zero_is_none] your answer is wrong: an arrival at 0.0 is a valid arrival, "
        "and that request has waited 2 s."
    )
    ready(student, True, said, [0.0], 2.0, 8, 0.5)
    said = (
        "[difference_is_rounded] your answer is wrong: the window of the oldest request ends "
        "exactly now, and `now - arrival` is below max_wait by a rounding error. Compare `now` "
        "with `arrival + max_wait`."
    )
    ready(student, True, said, [ROUNDED[0]], ROUNDED[0] + ROUNDED[1], 8, ROUNDED[1])
    far, window = 1_700_000_004.21, 0.26  # times since 1970, where rounding errors are larger
    ready(student, True, said, [far], far + window, 8, window)
    said = (
        "[beginning_is_rounded] your answer is wrong: the window of the oldest request ends "
        "exactly now, and `now - max_wait` is before the arrival by a rounding error. Compare "
        "`now` with `arrival + max_wait`."
    )
    ready(student, True, said, [MOVED[0]], MOVED[0] + MOVED[1], 8, MOVED[1])


@pytest.mark.task("3.1", points=0.5)
def test_a_batch_that_is_not_ready_waits(student, rng):
    said = (
        "[other_within_the_window] your answer is wrong: one request waits, the batch is not full, "
        "and the request's window is not over."
    )
    ready(student, False, said, Lent([1.0]), 1.375, 8, 0.5)
    said = (
        "[other_with_several_in_the_window] your answer is wrong: the batch is not full, and the "
        "oldest request has waited 0.375 s of 0.5 s. (The waiting time of the oldest request "
        "counts, not the sum, and not the time on the clock.)"
    )
    ready(student, False, said, [1.0, 1.25, 1.25], 1.375, 8, 0.5)
    said = (
        "[other_with_a_seat_left] your answer is wrong: two requests wait for three slots. The "
        "batch is not full, and the window is not over."
    )
    ready(student, False, said, [1.0, 1.25], 1.25, 3, 0.5)
    said = (
        "[other_just_before_the_end] your answer is wrong: the window of the oldest request has "
        "0.5 ms left; do not round."
    )
    ready(student, False, said, [1.0], 1.4995, 8, 0.5)
    said = (
        "[other_a_little_before_the_end] your answer is wrong: the window of the oldest request is "
        "not over yet. Add no tolerance, however little is left: compare `now` with `arrival + "
        "max_wait`."
    )
    ready(student, False, said, [1.0], 1.04995, 8, 0.05)
    ready(student, False, said, [1.0], 1.499999999999, 8, 0.5)
    said = (
        "[other_far_from_zero] your answer is wrong: the request has waited 0.25 s of 0.5 s. "
        "Large times must keep their precision (float32 loses it)."
    )
    ready(student, False, said, [90_000_000.0], 90_000_000.25, 8, 0.5)
    said = (
        "[other_when_just_come] your answer is wrong: the requests have just arrived together. "
        "The batch is not full, and no request has waited yet."
    )
    ready(student, False, said, [9.0, 9.0], 9.0, 3, 0.5)
    for _ in range(20):
        times = sorted(rng.randrange(0, 40) / 8 for _ in range(rng.randrange(1, 6)))
        now = times[-1] + rng.randrange(0, 16) / 8
        size, window = rng.randrange(1, 8), rng.randrange(0, 24) / 8
        expected = len(times) >= size or now >= times[0] + window
        full = f"{len(times)} requests wait for {size} slots"
        said = (
            f"[other_in_a_random_case] your answer is wrong: {full}, and the oldest request has "
            f"waited {now - times[0]:g} s of its window of {window:g} s."
        )
        ready(student, expected, said, Lent(times), now, size, window)


# 3.2 ---------------------------------------------------------------------------------------------

# An arrival and a window whose sum, less the arrival, is a rounding error less than the window.
ROUNDED = (0.7, 0.1)
assert sum(ROUNDED) - ROUNDED[0] < ROUNDED[1]
# And one whose sum, less the window, is a rounding error before the arrival.
MOVED = (0.1, 0.7)
assert sum(MOVED) - MOVED[1] < MOVED[0]


class Noted(RemoteScheduler):
    """Notes each time at which it was asked and had no rows, and the wake_at that it answered."""

    def __init__(self, *args, **options):
        super().__init__(*args, **options)
        self.alarms = []

    def plan(self, now):
        plan = super().plan(now)
        if not plan.rows:
            self.alarms.append((now, plan.wake_at))
        return plan


def windowed(student, max_wait=2.0):
    return Noted(student, "MyDynamic", 3, max_wait=max_wait)


def first_batch(engine):
    """When the first step began, and who was in it."""
    step = engine.trace.steps[0]
    return start(step), who(step)


def start(step):
    """When a step began; who asks again and again wakes up a rounding error late."""
    return round(step.start_time, 6)


def who(step):
    return ", ".join(sorted(row.request_id for row in step.rows))


MANY = 20  # times that a policy is asked before the window of one request is over


def begins(student, requests, expected, *, early, late, window=2.0):
    """When the first batch begins, and with whom. early, late: what to say if it does not then."""
    policy = windowed(student, window)
    engine = serve(policy, requests, steps=1)
    got, has_an_alarm = first_batch(engine), engine.scheduler.planned.wake_at is not None
    expected = round(expected[0], 6), expected[1]
    if got == expected:
        return
    asked_at = max(ask.arrival for ask in requests if ask.arrival <= got[0])
    members = [s for s in engine.scheduler.running if s.first_scheduled_time < got[0] - 1e-6]
    if members:
        said = (
            f"[forms_a_batch_before_its_time] Your policy admits {members[0].request_id}, and then "
            "returns a plan without rows, so the batch is already formed when the next request "
            "arrives. First decide whether the batch starts; only then call super().plan(now), "
            "which admits."
        )
    elif got[0] == expected[0]:
        said = (
            "[other_members_start] Your batch starts at the right time, but with the wrong "
            f"requests: with {got[1]}, although {expected[1]} wait."
        )
    elif got[0] > expected[0] and len(policy.alarms) > MANY:
        said = (
            "[asks_again_and_comes_late] "
            f"{late} Your policy was called {len(policy.alarms)} times, always with a new "
            "wake_at, and so it is late. Set wake_at to the end of the window: then one call is "
            "enough."
        )
    elif got[0] > expected[0]:
        said = late
    elif has_an_alarm:
        said = (
            "[rows_and_wake_at] "
            "Your plan has both rows and a wake_at. Rows run at once; wake_at does not delay "
            "them. To wait, return a plan without rows."
        )
    elif round(got[0], 6) == round(asked_at + window / 1000, 6):
        said = (
            "[policy_counts_milliseconds] "
            "max_wait is in seconds, as `now` and arrival_time are; you count milliseconds."
        )
    elif goes_by_another_clock(student):
        said = (
            "[reads_another_clock] Your policy does not read the engine's clock: it waits too "
            "long if `now` is very large, and not at all if `now` is small. Use `now`; "
            "arrival_time is on the same clock."
        )
    else:
        said = early
    raise Wrong(
        said,
        expected="at {:g} s with {}".format(*expected),
        got="at {:g} s with {}".format(*got),
    )


def goes_by_another_clock(student):
    """Whether someone who comes very late, in engine time, has to wait longer than the window."""
    late = 1e10  # seconds: no clock of a computer shows as many
    try:
        begin, _ = first_batch(serve(windowed(student), asks(("A", 4, 3, late)), steps=1))
    except Wrong:
        return True
    return begin > late + 2


@pytest.mark.task("3.2", points=0.5)
def test_a_full_batch_starts_at_once(student):
    begins(
        student,
        asks(("A", 4, 3), ("B", 2, 3), ("C", 3, 3), ("D", 3, 3)),
        (0.0, "A, B, C"),
        early="",
        late=(
            "[four_do_not_fill_three_slots] Four requests wait for three slots "
            "(self.max_batch_size), and your batch did not start at once: a full batch need not "
            "wait."
        ),
    )
    begins(
        student,
        asks(("A", 4, 3), ("B", 2, 3), ("C", 3, 3)),
        (0.0, "A, B, C"),
        early="",
        late=(
            "[three_do_not_fill_three_slots] Three requests wait for three slots, and your batch "
            "did not start at once: the batch is full, and a full batch need not wait."
        ),
    )


@pytest.mark.task("3.2", points=0.75)
def test_a_lone_request_waits_for_its_window_and_no_longer(student):
    begins(
        student,
        asks(("A", 4, 3, 1.0)),
        (3.0, "A"),
        early=(
            "[starts_without_its_window] A arrived at 1 s, alone, and the window is 2 s: until 3 s "
            "the plan has only wake_at and no rows. Your plan had rows earlier: do you return the "
            "plan that waits? (Time passes between calls of `plan`, not during a call: do not "
            "sleep in `plan`.)"
        ),
        late=(
            "[waits_beyond_its_window] A arrived at 1 s, alone, and the window is 2 s: at 3 s A "
            "runs, even alone. Your policy waited longer."
        ),
    )
    came, window = ROUNDED
    begins(
        student,
        asks(("A", 4, 3, came)),
        (came + window, "A"),
        early=(
            f"[window_begins_at_zero] Your policy did not wait. A arrived at {came:g} s, alone; "
            f"A's window of {window:g} s begins then, not at 0 s."
        ),
        late=(
            "[late_comer_waits_beyond_its_window] Your policy waits too long: A arrived at "
            f"{came:g} s, alone, and waited longer than the window of {window:g} s."
        ),
        window=window,
    )
    sets_its_alarm(student, 0.25)
    for came in (1.0004, 1.0006):
        sets_its_alarm(student, 0.25, came)
    begins(
        student,
        asks(("A", 4, 3, 1.0)),
        (1.0, "A"),
        early="",
        late=(
            "[zero_window_is_not_over] Your policy waits although the window is 0 s. A window of "
            "0 s is over at once; `if max_wait` treats 0 as if there were no window."
        ),
        window=0.0,
    )


TOO_SOON = 0.005  # s from now on, to be asked again before anything has happened


def sets_its_alarm(student, window, came=1.0):
    """Wrong if the alarm for A, alone, misses the end of its window, or draws near in small steps.

    Looking again now and then does no harm."""
    policy, ends = windowed(student, window), came + window
    serve(policy, asks(("A", 4, 3, came)), steps=1)
    others = [(now, at) for now, at in policy.alarms if now >= came and abs(at - ends) > 1e-6]
    rounded = [at for _, at in others if at != ends and 0 < abs(at - ends) <= 1e-3]
    if rounded and len(others) == 1:
        raise Wrong(
            f"{WAKE_AT_IS_ROUNDED} A arrived at {came} s, and A's window of {window} s ends at "
            f"{ends} s. Set wake_at to exactly this number.",
            expected=f"wake_at={ends}",
            got=f"wake_at={rounded[0]}",
        )
    if any(at > ends or at - now < TOO_SOON for now, at in others):
        (now, at), gaps = others[0], {round(at - now, 6) for now, at in others}
        again = (
            (f" Your policy sets a new wake_at every {gaps.pop():g} s.") if len(gaps) == 1 else ""
        )
        raise Wrong(
            f"[wakes_at_another_time] At {now:g} s A waits, and your wake_at is {at:g}. A's "
            f"window of {window:g} s ends at {ends:g} s: set wake_at to {ends:g} s, and set it "
            f"only once.{again}",
            expected=f"wake_at={ends:g}",
            got=f"wake_at={at:g}",
        )


@pytest.mark.task("3.2", points=0.5)
def test_the_oldest_request_decides_when_the_batch_starts(student):
    late = (
        "[arrival_begins_the_window_anew] Your window begins again at each arrival, and then A "
        "could wait forever. A arrived at 0 s and B at 1.5 s. The window of 2 s belongs to A, "
        "the oldest, and ends at 2 s."
    )
    three = asks(("A", 4, 3, 0.0), ("B", 2, 3, 1.5), ("C", 2, 3, 2.5))
    many_seats = RemoteScheduler(student, "MyDynamic", 8, max_wait=2.0)
    if first_batch(serve(many_seats, three, steps=1))[0] == 2.5:
        late = (
            "[arrival_moves_wake_at] "
            "A arrived at 0 s, and its window of 2 s ends at 2 s. Your policy starts correctly "
            "when a request arrives at 2.5 s. But after B arrived at 1.5 s, your wake_at is later "
            "than 2 s: set it to the end of the oldest request's window."
        )
    begins(
        student,
        asks(("A", 4, 3, 0.0), ("B", 2, 3, 1.5)),
        (2.0, "A, B"),
        early=(
            "[two_of_three_start_early] Your policy did not wait. A arrived at 0 s and B at 1.5 "
            "s; the window of 2 s is A's and ends at 2 s. Two of three slots are taken, so the "
            "batch is not full."
        ),
        late=late,
    )


@pytest.mark.task("3.2", points=0.5)
def test_the_arrival_that_fills_the_batch_starts_it(student):
    begins(
        student,
        asks(("A", 4, 3, 0.0), ("B", 2, 3, 0.5), ("C", 2, 3, 1.0)),
        (1.0, "A, B, C"),
        early=(
            "[starts_before_it_is_full] Your batch starts too early: until C arrives at 1 s the "
            "batch is not full, and the window is open until 2 s."
        ),
        late=(
            "[full_batch_waits_for_the_window] Your batch waits for the end of the window; at 1 "
            "s C fills the batch, and a full batch starts then."
        ),
    )


@pytest.mark.task("3.2", points=0.5)
def test_a_running_batch_continues_and_admits_no_request(student):
    full = asks(("A", 4, 6), ("B", 2, 2), ("C", 3, 4), ("D", 3, 3, 2.5))
    lone = asks(("A", 4, 6), ("D", 3, 3, 4.5), ("E", 3, 3, 5.5))
    for requests, members, begin in ((full, "A, B, C", 0), (lone, "A", 2)):
        engine = serve(windowed(student), requests)
        steps = engine.trace.steps[:6]
        late = [n for n, step in enumerate(steps) if start(step) != begin + n]
        if late:
            raise Wrong(
                "[running_batch_waits] "
                f"The batch of {members} did not run before step {late[0] + 1}: it waited for "
                "more requests. Only requests that do not run yet may wait: check self.running "
                "first."
            )
        if any(who(step) != members for step in steps):
            raise Wrong(
                "[joins_a_running_batch] D joined a batch that was already running. A running "
                "batch takes no new requests: D waits until the batch ends.",
                drawing=drawn(serve(mb.Dynamic(3, 2.0), requests), engine),
            )


@pytest.mark.task("3.2", points=0.5)
def test_each_batch_has_a_window_of_its_own(student):
    """A runs from 2 s to 4 s; D comes long after, and E, while D's batch runs; of four who come at
    once, J is left over, and K comes while the others run."""
    requests = asks(("A", 4, 2), ("D", 3, 3, 20.0), ("E", 2, 2, 23.5), ("F", 2, 2, 24.0))
    requests += asks(*((name, 2, 1, 40.0) for name in "GHIJ"), ("K", 2, 1, 40.5))
    engine, times = serve(windowed(student), requests), {}
    for step in engine.trace.steps:
        for row in step.rows:
            times.setdefault(row.request_id, start(step))
    right = {"A": 2.0, "D": 22.0, "E": 25.5, "F": 25.5, "G": 40.0, "J": 42.0}
    for name, time in right.items():
        if times[name] != time:
            early = times[name] < time
            said = {
                "A": (
                    "[first_batch_at_another_time] Your first batch starts at the wrong time: A "
                    "arrived at 0 s and may start at 2 s."
                ),
                "D": (
                    "[later_batch_at_another_time] D arrived at 20 s, long after A's batch had "
                    "ended, and D's window ends at 22 s. "
                )
                + (
                    "Your policy did not wait: does your policy still use the deadline, or the "
                    "end, of the first batch?"
                    if early
                    else (
                        "Your policy waited longer: does your policy still use something from the "
                        "first batch?"
                    )
                ),
                "E": (
                    "[window_begins_with_the_batchs_end] You begin E's window when D's batch "
                    "ends, at 25 s. E arrived at 23.5 s, while D's batch was running, and F at "
                    "24 s. E's window begins when E arrives, so it ends at 25.5 s."
                ),
                "F": (
                    "[second_member_at_another_time] Your policy starts F at the wrong time: F "
                    "arrived at 24 s, and joins E, whose window ends at 25.5 s."
                ),
                "G": (
                    "[crowd_does_not_fill_the_batch] Your batch does not start at 40 s, when G, "
                    "H, I and J arrive: three of these requests fill the batch, and a full batch "
                    "starts at once."
                ),
                "J": (
                    "[left_behind_at_another_time] Your policy starts J at the wrong time: G, H, I "
                    "and J arrived at 40 s, and J found no slot. J is now the oldest, and J's "
                    "window ends at 42 s, even though K arrived at 40.5 s."
                ),
            }[name]
            raise Wrong(said, expected=f"at {time:g} s", got=f"at {times[name]:g} s")


@pytest.mark.task("3.2", points=0.25)
def test_the_deadline_of_an_aborted_request_is_forgotten(student):
    """A is given up before B comes, or after it: the window is B's then."""
    for time in (1.0, 1.75):
        engine = serve(windowed(student), asks(("A", 4, 3, 0.0), ("B", 2, 3, 1.5)), steps=0)
        while engine.clock.now() < time:
            engine.step(wait=False)
            engine.clock.sleep(min(0.25, time - engine.clock.now()))
        engine.abort("A")
        go_on(engine, steps=1)
        if (begin := start(engine.trace.steps[0])) != 3.5:
            raise Wrong(
                f"[deadline_of_one_given_up] A arrived at 0 s and was aborted at {time:g} s. B "
                "arrived at 1.5 s and is now the oldest request that waits: B's window of 2 s ends "
                "at 3.5 s. Do you still use A's deadline? Read self.waiting[0] in each plan.",
                expected="at 3.5 s",
                got=f"at {begin:g} s",
            )


@pytest.mark.task("3.2", points=0.5)
def test_any_arrivals_give_the_batches_of_the_rule(student, rng):
    three = ("A", 4, 3), ("B", 2, 5, 0.5), ("C", 7, 2, 1.5)
    fixed = asks(*three, ("D", 3, 4, 9.0), ("E", 5, 1, 12.5))
    serves_in_an_engine(windowed(student), mb.Dynamic(3, 2.0), fixed)
    for _ in range(3):
        requests, arrival = [], 0.0
        for name in "ABCDEFGH":
            arrival += rng.choice([0, 0.25, 0.5, 1.5, 3, 6])
            requests.append(Ask(name, rng.randint(1, 9), rng.randint(1, 8), arrival))
        window = rng.choice([0.0, 0.5, 1.25, 3.0])
        expected = serve(mb.Dynamic(3, window), requests)
        got = serve(windowed(student, window), requests)
        same_plan(
            expected,
            got,
            f"[other_batch_than_due] Your policy starts the wrong batch; the window is {window:g} "
            "s.",
        )
        starts = [[start(step) for step in run.trace.steps] for run in (expected, got)]
        if starts[0] != starts[1]:
            raise Wrong(
                "[batches_begin_at_other_times] Your batches have the right requests, but begin at "
                "the wrong times.",
                expected=starts[0],
                got=starts[1],
            )


NOW_YOURS = {"3.1": now_yours.coaches, "3.2": now_yours.dynamic}

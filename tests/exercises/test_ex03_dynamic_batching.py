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
            "your function returned nothing (None): each way out of it needs a `return`."
        )
    elif not isinstance(got, bool):
        kind = f"{got!r:.40}" if isinstance(got, int | float | str) else a_kind(got)
        sentence = (
            "[answer_is_no_bool] "
            f"the answer is True or False, and yours is {kind}: bool(...) makes one."
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
        "the same arrivals, as long ago, a day later have another answer: only how long they have "
        "waited counts. Is a deadline of an earlier call still in use?"
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
        "[asks_for_more_than_one] one is enough: it starts alone, if nobody else comes.": (
            lambda times, now, size, window: len(times) > 1
        ),
    },
    {  # is it full?
        "": lambda times, now, size, window: len(times) >= size,
        "[full_only_beyond_its_size] "
        "max_batch_size of them are a full batch already (>=, not >); waiting on serves nobody.": (
            lambda times, now, size, window: len(times) > size
        ),
        "[full_only_at_its_size] "
        "it is full also when more wait than there are seats (>=, not ==).": (
            lambda times, now, size, window: len(times) == size
        ),
        "[full_only_at_multiples] it is full also when more wait than make so many full batches.": (
            lambda times, now, size, window: len(times) % size == 0
        ),
        "[full_one_seat_early] "
        "one seat is left, and that is not full: max_batch_size of them are.": (
            lambda times, now, size, window: len(times) >= size - 1
        ),
        "[size_of_its_own] "
        "it is full at max_batch_size, whatever that is; yours has a number of its own.": tuple(
            lambda times, now, size, window, n=n: len(times) >= n for n in range(2, 9)
        ),
        "[full_batch_waits] "
        "a full batch starts at once, without its window; waiting on serves nobody.": (
            lambda times, now, size, window: False,
            lambda times, now, size, window: (
                len(times) >= size and now >= times[min(len(times), size) - 1] + window
            ),
        ),
        "[full_batch_waits_a_little] "
        "a full batch starts at once, also when they have just come; yours lets some time pass.": (
            lambda times, now, size, window: len(times) >= size and now > times[0]
        ),
    },
    {  # has it waited?
        "": lambda times, now, size, window: now >= times[0] + window,
        "[window_ends_after_its_end] "
        "its whole window is over at the very moment arrival + max_wait (>=, not >).": (
            lambda times, now, size, window: now > times[0] + window
        ),
        "[window_ends_at_one_moment] "
        "its patience has ended at arrival + max_wait, and at any time after it (>=, not ==).": (
            lambda times, now, size, window: now == times[0] + window
        ),
        "[newest_decides] "
        "the oldest's wait decides, its whole window; the newest's clock does not count.": (
            lambda times, now, size, window: now >= times[-1] + window
        ),
        "[second_decides] the oldest's wait decides, that of arrival_times[0]; not the second's.": (
            lambda times, now, size, window: now >= times[min(1, len(times) - 1)] + window
        ),
        "[wait_is_negative] "
        "how long it has waited is now - arrival; yours is the other way round.": (
            lambda times, now, size, window: times[0] - now >= window
        ),
        "[window_of_other_length] its window is max_wait, once; yours is another one.": tuple(
            lambda times, now, size, window, factor=factor: now >= times[0] + factor * window
            for factor in (2, 0.5)
        ),
        "[mean_wait_decides] the oldest's wait decides, not the mean of all.": (
            lambda times, now, size, window: now >= sum(times) / len(times) + window
        ),
        "[sum_of_waits_decides] each one's own waiting counts, the oldest's, not the sum of all.": (
            lambda times, now, size, window: sum(now - time for time in times) >= window,
            lambda times, now, size, window: (
                sum(now - time for time in times) >= window > 0 or now >= times[0] + window
            ),
        ),
        "[wait_ends_with_the_newest] "
        "it has waited since it came: what counts is now, not when the newest came.": (
            lambda times, now, size, window: times[-1] - times[0] >= window,
            lambda times, now, size, window: times[-1] - times[0] > window,
        ),
        "[window_is_a_time] "
        "max_wait is how long it waits from its arrival on, not a time on the clock.": (
            lambda times, now, size, window: now >= window,
            lambda times, now, size, window: now > window,
        ),
        "[window_in_milliseconds] max_wait is in seconds, as `now` is, not in milliseconds.": (
            lambda times, now, size, window: now >= times[0] + window / 1000,
            lambda times, now, size, window: (now - times[0]) / 1000 >= window,
        ),
        "[whole_seconds] nothing is rounded: yours counts in whole seconds.": tuple(
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
        "[knows_no_window] "
        "it need not be full then: when the oldest has waited for its window, it starts. Yours "
        "knows no window.": lambda times, now, size, window: False,
        "[window_of_zero_is_none] "
        "a window of 0 s is over at once; `if max_wait` takes it for none.": (
            lambda times, now, size, window: window > 0 and now >= times[0] + window
        ),
        "[starts_at_once] "
        "it waits, for the window is not over; yours starts with whoever is there.": (
            lambda times, now, size, window: True
        ),
        "[asks_the_opposite] "
        "the time has come when now is past the end of its window; yours asks the opposite.": (
            lambda times, now, size, window: now < times[0] + window,
            lambda times, now, size, window: now <= times[0] + window,
        ),
    },
    {  # how do they go together?
        "": lambda *_: lambda full, waited: full or waited,
        "[asks_for_both] "
        "either is enough, a full batch or the oldest's window over; you ask for both.": (
            lambda *_: lambda full, waited: full and waited
        ),
    },
)


def together(parts):
    anybody, full, waited, combined = parts
    return anybody and combined(full, waited)


@pytest.mark.task("3.1", points=0.5)
def test_without_anybody_there_is_no_batch(student):
    ready(
        student,
        False,
        "[starts_with_nobody] nobody waits, so there is nothing to start.",
        [],
        5.0,
        8,
        0.5,
    )
    said = (
        "[starts_with_nobody_in_a_short_window] "
        "nobody waits, so there is nothing to start, however short the window."
    )
    ready(student, False, said, [], 5.0, 8, 0.0)
    ready(student, False, said, [], 0.0, 1, 0.0)


@pytest.mark.task("3.1", points=0.5)
def test_a_full_batch_is_ready_at_once(student):
    said = (
        "[other_when_full] three wait for three seats, the batch is full; waiting on serves nobody."
    )
    ready(student, True, said, [1.0, 1.0, 1.0], 1.0, 3, 0.5)
    said = "[other_when_more_wait] more wait than there are seats, so the batch is full."
    ready(student, True, said, [1.0] * 5, 1.0, 3, 0.5)
    said = "[other_with_one_seat] the one seat is taken, so the batch is full."
    ready(student, True, said, [1.0], 1.0, 1, 0.5)
    said = (
        "[other_when_full_one_by_one] "
        "three wait for three seats; that they came one after another changes nothing."
    )
    ready(student, True, said, [1.0, 1.375, 1.4375], 1.4375, 3, 0.5)


@pytest.mark.task("3.1", points=0.5)
def test_the_oldest_has_waited_long_enough(student):
    said = (
        "[other_past_the_window] "
        "one waits, and has waited 2 s, longer than its window: it need not be full then."
    )
    ready(student, True, said, [1.0], 3.0, 8, 0.5)
    said = (
        "[other_at_the_windows_end] "
        "one waits, and has waited 0.5 s: its whole window is over at this very moment."
    )
    ready(student, True, said, [1.0], 1.5, 8, 0.5)
    said = (
        "[other_with_two_in_the_window] "
        "the oldest has waited 0.5 s, its whole window; the newest's clock does not count."
    )
    ready(student, True, said, [1.0, 1.375], 1.5, 8, 0.5)
    ready(
        student,
        True,
        "[other_without_a_window] a window of 0 s is over at once.",
        [1.0],
        1.0,
        8,
        0.0,
    )
    said = (
        "[arrival_at_zero_is_none] "
        "an arrival at 0.0 is an arrival: somebody waits, and has waited 2 s."
    )
    ready(student, True, said, [0.0], 2.0, 8, 0.5)
    said = (
        "[difference_is_rounded] "
        "the oldest's patience ends at this very moment. now - arrival comes out a rounding error "
        "below max_wait: compare now with arrival + max_wait."
    )
    ready(student, True, said, [ROUNDED[0]], ROUNDED[0] + ROUNDED[1], 8, ROUNDED[1])
    far, window = 1_700_000_004.21, 0.26  # times since 1970, where rounding errors are larger
    ready(student, True, said, [far], far + window, 8, window)
    said = (
        "[beginning_is_rounded] "
        "the oldest's patience ends at this very moment. now - max_wait comes out a rounding error "
        "before its arrival: compare now with arrival + max_wait."
    )
    ready(student, True, said, [MOVED[0]], MOVED[0] + MOVED[1], 8, MOVED[1])


@pytest.mark.task("3.1", points=0.5)
def test_otherwise_it_waits(student, rng):
    said = "[other_within_the_window] one waits, not full, and it has waited less than its window."
    ready(student, False, said, Lent([1.0]), 1.375, 8, 0.5)
    said = (
        "[other_with_several_in_the_window] "
        "not full, and the oldest has waited 0.375 s of 0.5 s. (Each one's own waiting counts, not "
        "their sum, and not the time on the clock.)"
    )
    ready(student, False, said, [1.0, 1.25, 1.25], 1.375, 8, 0.5)
    said = (
        "[other_with_a_seat_left] "
        "two wait for three seats: that is not full, and the window is not over."
    )
    ready(student, False, said, [1.0, 1.25], 1.25, 3, 0.5)
    said = (
        "[other_just_before_the_end] "
        "the oldest has 0.5 ms left; nothing is rounded, and nothing is given away."
    )
    ready(student, False, said, [1.0], 1.4995, 8, 0.5)
    said = (
        "[other_a_little_before_the_end] "
        "the oldest's patience has not ended yet. However little is left, no tolerance is added: "
        "compare now with arrival + max_wait, as they are."
    )
    ready(student, False, said, [1.0], 1.04995, 8, 0.05)
    ready(student, False, said, [1.0], 1.499999999999, 8, 0.5)
    said = (
        "[other_far_from_zero] "
        "it has waited 0.25 s of 0.5 s; times far from 0 are told apart, too (float32 cannot)."
    )
    ready(student, False, said, [90_000_000.0], 90_000_000.25, 8, 0.5)
    said = (
        "[other_when_just_come] they came together, just now: not full, and nobody has waited yet."
    )
    ready(student, False, said, [9.0, 9.0], 9.0, 3, 0.5)
    for _ in range(20):
        times = sorted(rng.randrange(0, 40) / 8 for _ in range(rng.randrange(1, 6)))
        now = times[-1] + rng.randrange(0, 16) / 8
        size, window = rng.randrange(1, 8), rng.randrange(0, 24) / 8
        expected = len(times) >= size or now >= times[0] + window
        full = f"{len(times)} wait for {size} seats"
        said = (
            "[other_in_a_random_case] "
            f"{full}, and the oldest has waited {now - times[0]:g} s of {window:g} s."
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
            "[forms_a_batch_before_its_time] "
            f"Your policy takes {members[0].request_id} in, and then answers without rows: whoever "
            "comes now finds a batch that is formed already. Decide first whether it is time; "
            "super().plan(now) takes them in."
        )
    elif got[0] == expected[0]:
        said = (
            "[other_members_start] "
            f"The batch starts when it should, with {got[1]}; it is {expected[1]} who wait."
        )
    elif got[0] > expected[0] and len(policy.alarms) > MANY:
        said = (
            "[asks_again_and_comes_late] "
            f"{late} It asks again and again, {len(policy.alarms)} times, and so comes late: name "
            "the end of the window itself in wake_at, and ask once, then."
        )
    elif got[0] > expected[0]:
        said = late
    elif has_an_alarm:
        said = (
            "[rows_and_wake_at] "
            "Your plan has rows, and a wake_at beside them: rows run at once, and wake_at puts "
            "nothing off. To wait, answer with a plan that has no rows."
        )
    elif round(got[0], 6) == round(asked_at + window / 1000, 6):
        said = (
            "[policy_counts_milliseconds] "
            "max_wait is in seconds, as `now` and arrival_time are; you count milliseconds."
        )
    elif goes_by_another_clock(student):
        said = (
            "[reads_another_clock] "
            "Your policy reads another clock than the engine's: it waits as it should not where "
            "`now` is very large, and not at all where it is small. `now` is the time; arrival_time"
            " is on the same clock."
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
def test_a_full_batch_leaves_at_once(student):
    begins(
        student,
        asks(("A", 4, 3), ("B", 2, 3), ("C", 3, 3), ("D", 3, 3)),
        (0.0, "A, B, C"),
        early="",
        late="[four_do_not_fill_three_slots] "
        "Four wait for three slots, which is what self.max_batch_size says here, and the "
        "batch did not start at once: a full batch has nothing to wait for.",
    )
    begins(
        student,
        asks(("A", 4, 3), ("B", 2, 3), ("C", 3, 3)),
        (0.0, "A, B, C"),
        early="",
        late="[three_do_not_fill_three_slots] "
        "Three wait for three slots, and the batch did not start at once: three are full, and "
        "a full batch has nothing to wait for.",
    )


@pytest.mark.task("3.2", points=0.75)
def test_a_lone_request_waits_for_its_window_and_no_longer(student):
    begins(
        student,
        asks(("A", 4, 3, 1.0)),
        (3.0, "A"),
        early="[starts_without_its_window] "
        "A came at 1 s, alone, and the window is 2 s: until 3 s the plan has no rows, only "
        "wake_at. Yours had rows before: is the plan that waits returned? (Time passes between two "
        "calls of plan, and not in one: nothing is to sleep there.)",
        late="[waits_beyond_its_window] "
        "A came at 1 s, alone, and the window is 2 s: at 3 s it runs, alone if need be. Yours "
        "waited longer.",
    )
    came, window = ROUNDED
    begins(
        student,
        asks(("A", 4, 3, came)),
        (came + window, "A"),
        early="[window_begins_at_zero] "
        f"A came at {came:g} s, alone; its window of {window:g} s begins then, not at 0 s. "
        "Yours did not wait for it.",
        late="[late_comer_waits_beyond_its_window] "
        f"A came at {came:g} s, alone, and waited longer than its window of {window:g} s.",
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
        late="[zero_window_is_not_over] "
        "A window of 0 s is over at once; `if max_wait` takes it for none.",
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
            f"{WAKE_AT_IS_ROUNDED} A came at {came} s, and its window of {window} s ends at "
            f"{ends} s, which is wake_at.",
            expected=f"wake_at={ends}",
            got=f"wake_at={rounded[0]}",
        )
    if any(at > ends or at - now < TOO_SOON for now, at in others):
        (now, at), gaps = others[0], {round(at - now, 6) for now, at in others}
        again = f" Yours asks again every {gaps.pop():g} s." if len(gaps) == 1 else ""
        raise Wrong(
            "[wakes_at_another_time] "
            f"At {now:g} s A waits, and your wake_at is {at:g}. A's window of {window:g} s ends at "
            f"{ends:g} s: ask once, then.{again}",
            expected=f"wake_at={ends:g}",
            got=f"wake_at={at:g}",
        )


@pytest.mark.task("3.2", points=0.5)
def test_the_oldest_decides_when_it_leaves(student):
    late = (
        "[arrival_begins_the_window_anew] "
        "A came at 0 s and B at 1.5 s; the window of 2 s is A's, the oldest's, and ends at 2 s. If "
        "each arrival began it anew, a steady trickle would keep A waiting for ever."
    )
    three = asks(("A", 4, 3, 0.0), ("B", 2, 3, 1.5), ("C", 2, 3, 2.5))
    many_seats = RemoteScheduler(student, "MyDynamic", 8, max_wait=2.0)
    if first_batch(serve(many_seats, three, steps=1))[0] == 2.5:
        late = (
            "[arrival_moves_wake_at] "
            "A came at 0 s, and its window of 2 s ends at 2 s. Your policy knows it, for somebody "
            "who comes at 2.5 s sets it off; but B came at 1.5 s, and since then wake_at is later "
            "than 2 s. It is when the oldest's patience ends."
        )
    begins(
        student,
        asks(("A", 4, 3, 0.0), ("B", 2, 3, 1.5)),
        (2.0, "A, B"),
        early="[two_of_three_start_early] "
        "A came at 0 s and B at 1.5 s; the window of 2 s is A's, and ends at 2 s. With two "
        "of three slots taken the batch is not full, and yours did not wait for the third.",
        late=late,
    )


@pytest.mark.task("3.2", points=0.5)
def test_the_arrival_that_fills_it_starts_it(student):
    begins(
        student,
        asks(("A", 4, 3, 0.0), ("B", 2, 3, 0.5), ("C", 2, 3, 1.0)),
        (1.0, "A, B, C"),
        early="[starts_before_it_is_full] "
        "Until C comes at 1 s the batch is not full, and the window is open until 2 s.",
        late="[full_batch_waits_for_the_window] "
        "At 1 s C fills the batch: it starts then, not at the end of the window.",
    )


@pytest.mark.task("3.2", points=0.5)
def test_a_running_batch_goes_on_and_takes_no_one_in(student):
    full = asks(("A", 4, 6), ("B", 2, 2), ("C", 3, 4), ("D", 3, 3, 2.5))
    lone = asks(("A", 4, 6), ("D", 3, 3, 4.5), ("E", 3, 3, 5.5))
    for requests, members, begin in ((full, "A, B, C", 0), (lone, "A", 2)):
        engine = serve(windowed(student), requests)
        steps = engine.trace.steps[:6]
        late = [n for n, step in enumerate(steps) if start(step) != begin + n]
        if late:
            raise Wrong(
                "[running_batch_waits] "
                f"The batch of {members} stood still before step {late[0] + 1}, to wait for "
                "company. Only those who are not running yet may be made to wait, and only they "
                "count: ask self.running first."
            )
        if any(who(step) != members for step in steps):
            raise Wrong(
                "[joins_a_running_batch] "
                "D joined a batch that was running already. Forming is flexible, running is not: D "
                "waits until the batch has ended.",
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
                "A": "[first_batch_at_another_time] A came at 0 s and may start at 2 s.",
                "D": "[later_batch_at_another_time] "
                "D came at 20 s, long after A's batch had ended, and its own window ends at "
                "22 s. "
                + (
                    "Yours did not wait: is the first batch's deadline, or end, still in use?"
                    if early
                    else "Yours waited longer: is something still in use that the first batch left?"
                ),
                "E": "[window_begins_with_the_batchs_end] "
                "E came at 23.5 s, while D's batch was running, and F at 24 s; D's batch "
                "ended at 25 s. E's window began when it came, not when the batch ended, and ends "
                "at 25.5 s.",
                "F": "[second_member_at_another_time] "
                "F came at 24 s, and joins E, whose window ends at 25.5 s.",
                "G": "[crowd_does_not_fill_the_batch] "
                "G, H, I and J came at 40 s: three fill the batch, which starts at once.",
                "J": "[left_behind_at_another_time] "
                "G, H, I and J came at 40 s, and J found no slot. J is the oldest now, and "
                "its window ends at 42 s, though K came after it, at 40.5 s.",
            }[name]
            raise Wrong(said, expected=f"at {time:g} s", got=f"at {times[name]:g} s")


@pytest.mark.task("3.2", points=0.25)
def test_who_is_given_up_takes_its_deadline_along(student):
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
                "[deadline_of_one_given_up] "
                f"A came at 0 s and was given up at {time:g} s; B came at 1.5 s, and is the oldest "
                "that waits: its window of 2 s ends at 3.5 s. Is A's deadline still in use? Ask "
                "self.waiting[0] anew in each plan.",
                expected="at 3.5 s",
                got=f"at {begin:g} s",
            )


@pytest.mark.task("3.2", points=0.5)
def test_any_arrivals_give_the_batches_they_should(student, rng):
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
            f"[other_batch_than_due] With a window of {window:g} s another batch was due.",
        )
        starts = [[start(step) for step in run.trace.steps] for run in (expected, got)]
        if starts[0] != starts[1]:
            raise Wrong(
                "[batches_begin_at_other_times] The batches are right and begin at other times.",
                expected=starts[0],
                got=starts[1],
            )


NOW_YOURS = {"3.1": now_yours.coaches, "3.2": now_yours.dynamic}

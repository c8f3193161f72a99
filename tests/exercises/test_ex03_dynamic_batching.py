"""Judges exercises 3.1 and 3.2: when a batch begins, and with whom. Times in eighths of a second,
which floating point holds exactly."""

import now_yours
import pytest
from serving import Ask, asks, drawn, same_plan, serve, serves_in_an_engine

import minibatch as mb
from minibatch.course.judging.remote import RemoteScheduler
from minibatch.course.judging.values import Lent
from minibatch.course.judging.verdict import Wrong

WITHHELD = {"3.2": {"minibatch.schedulers.dynamic": "Dynamic"}}


def ready(student, expected, sentence, *arguments):
    got = student.call("is_ready", *arguments)
    if got is expected:
        return
    shown = "is_ready({}, now={}, max_batch_size={}, max_wait={})".format(*arguments)
    if got is None:
        sentence = "your function returned nothing (None): each way out of it needs a `return`."
    elif not isinstance(got, bool):
        sentence = f"the answer is True or False, and yours is {got!r:.40}: bool(...) makes one."
    raise Wrong(f"{shown}: {sentence}", expected=expected, got=got)


# 3.1 ---------------------------------------------------------------------------------------------


@pytest.mark.task("3.1", points=0.5)
def test_without_anybody_there_is_no_batch(student):
    ready(student, False, "nobody waits, so there is nothing to start.", [], 5.0, 8, 0.5)
    said = "nobody waits, so there is nothing to start, however short the window."
    ready(student, False, said, [], 5.0, 8, 0.0)
    ready(student, False, said, [], 0.0, 1, 0.0)


@pytest.mark.task("3.1", points=0.5)
def test_a_full_batch_is_ready_at_once(student):
    said = "three wait for three seats, the batch is full; waiting on serves nobody."
    ready(student, True, said, [1.0, 1.0, 1.0], 1.0, 3, 0.5)
    said = "more wait than there are seats, so the batch is full."
    ready(student, True, said, [1.0] * 5, 1.0, 3, 0.5)
    said = "the one seat is taken, so the batch is full."
    ready(student, True, said, [1.0], 1.0, 1, 0.5)
    said = "three wait for three seats; that they came one after another changes nothing."
    ready(student, True, said, [1.0, 1.375, 1.4375], 1.4375, 3, 0.5)


@pytest.mark.task("3.1", points=0.5)
def test_the_oldest_has_waited_long_enough(student):
    said = "one waits, and has waited 2 s, longer than its window: it need not be full then."
    ready(student, True, said, [1.0], 3.0, 8, 0.5)
    said = "one waits, and has waited 0.5 s: its whole window is over at this very moment."
    ready(student, True, said, [1.0], 1.5, 8, 0.5)
    said = "the oldest has waited 0.5 s, its whole window; the newest's clock does not count."
    ready(student, True, said, [1.0, 1.375], 1.5, 8, 0.5)
    ready(student, True, "a window of 0 s is over at once.", [1.0], 1.0, 8, 0.0)
    said = "an arrival at 0.0 is an arrival: somebody waits, and has waited 2 s."
    ready(student, True, said, [0.0], 2.0, 8, 0.5)


@pytest.mark.task("3.1", points=0.5)
def test_otherwise_it_waits(student, rng):
    said = "one waits, not full, and it has waited less than its window."
    ready(student, False, said, [1.0], 1.375, 8, 0.5)
    said = (
        "not full, and the oldest has waited 0.375 s of 0.5 s. (Each one's own waiting counts, not "
        "their sum, and not the time on the clock.)"
    )
    ready(student, False, said, [1.0, 1.25, 1.25], 1.375, 8, 0.5)
    said = "two wait for three seats: that is not full, and the window is not over."
    ready(student, False, said, [1.0, 1.25], 1.25, 3, 0.5)
    said = "the oldest has 0.5 ms left; nothing is rounded, and nothing is given away."
    ready(student, False, said, [1.0], 1.4995, 8, 0.5)
    said = "it has waited 0.25 s of 0.5 s; times far from 0 are told apart, too (float32 cannot)."
    ready(student, False, said, [90_000_000.0], 90_000_000.25, 8, 0.5)
    said = "they came together, just now: not full, and nobody has waited yet."
    ready(student, False, said, [9.0, 9.0], 9.0, 3, 0.5)
    said = (
        "the oldest's patience ends at this very moment. now - arrival comes out a rounding error "
        "below max_wait: compare now with arrival + max_wait."
    )
    ready(student, True, said, [ROUNDED[0]], ROUNDED[0] + ROUNDED[1], 8, ROUNDED[1])
    said = (
        "the oldest's patience ends at this very moment. now - max_wait comes out a rounding error "
        "before its arrival: compare now with arrival + max_wait."
    )
    ready(student, True, said, [MOVED[0]], MOVED[0] + MOVED[1], 8, MOVED[1])
    for _ in range(20):
        times = sorted(rng.randrange(0, 40) / 8 for _ in range(rng.randrange(1, 6)))
        now = times[-1] + rng.randrange(0, 16) / 8
        size, window = rng.randrange(1, 8), rng.randrange(0, 24) / 8
        expected = len(times) >= size or now >= times[0] + window
        full = f"{len(times)} wait for {size} seats"
        said = f"{full}, and the oldest has waited {now - times[0]:g} s of {window:g} s."
        ready(student, expected, said, Lent(times), now, size, window)


# 3.2 ---------------------------------------------------------------------------------------------

# An arrival and a window whose sum, less the arrival, is a rounding error less than the window.
ROUNDED = (0.7, 0.1)
assert sum(ROUNDED) - ROUNDED[0] < ROUNDED[1]
# And one whose sum, less the window, is a rounding error before the arrival.
MOVED = (0.1, 0.7)
assert sum(MOVED) - MOVED[1] < MOVED[0]


def windowed(student, max_wait=2.0):
    return RemoteScheduler(student, "MyDynamic", 3, max_wait=max_wait)


def first_batch(engine):
    """When the first step began, and who was in it."""
    step = engine.trace.steps[0]
    return start(step), who(step)


def start(step):
    """When a step began; who asks again and again wakes up a rounding error late."""
    return round(step.start_time, 6)


def who(step):
    return ", ".join(sorted(row.request_id for row in step.rows))


def begins(student, requests, expected, *, early, late, window=2.0):
    """When the first batch begins, and with whom. early, late: what to say if it does not then."""
    got = first_batch(serve(windowed(student, window), requests, steps=1))
    expected = round(expected[0], 6), expected[1]
    if got == expected:
        return
    if got[0] < expected[0] and goes_by_another_clock(student):
        said = (
            "Your policy reads another clock than the engine's: it waits as it should not where "
            "`now` is very large, and not at all where it is small. `now` is the time; arrival_time"
            " is on the same clock."
        )
    elif got[0] == expected[0]:
        said = f"The batch starts when it should, with {got[1]}; it is {expected[1]} who wait."
    else:
        said = early if got[0] < expected[0] else late
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
        late="Four wait for three slots, and the batch did not start at once: a full batch has "
        "nothing to wait for.",
    )
    begins(
        student,
        asks(("A", 4, 3), ("B", 2, 3), ("C", 3, 3)),
        (0.0, "A, B, C"),
        early="",
        late="Three wait for three slots, and the batch did not start at once: three are full, and "
        "a full batch has nothing to wait for.",
    )


@pytest.mark.task("3.2", points=0.75)
def test_a_lone_request_waits_for_its_window_and_no_longer(student):
    begins(
        student,
        asks(("A", 4, 3, 1.0)),
        (3.0, "A"),
        early="A came at 1 s, alone, and the window is 2 s: until 3 s the plan has no rows, only "
        "wake_at. Yours did not wait so long.",
        late="A came at 1 s, alone, and the window is 2 s: at 3 s it runs, alone if need be. Yours "
        "waited longer.",
    )
    came, window = ROUNDED
    begins(
        student,
        asks(("A", 4, 3, came)),
        (came + window, "A"),
        early=f"A came at {came:g} s, alone; its window of {window:g} s begins then, not at 0 s. "
        "Yours did not wait for it.",
        late=f"A came at {came:g} s, alone, and waited longer than its window of {window:g} s.",
        window=window,
    )


@pytest.mark.task("3.2", points=0.5)
def test_the_oldest_decides_when_it_leaves(student):
    begins(
        student,
        asks(("A", 4, 3, 0.0), ("B", 2, 3, 1.5)),
        (2.0, "A, B"),
        early="A came at 0 s and B at 1.5 s; the window of 2 s is A's, and ends at 2 s. With two "
        "of three slots taken the batch is not full, and yours did not wait for the third.",
        late="A came at 0 s and B at 1.5 s; the window of 2 s is A's, the oldest's, and ends at "
        "2 s. If each arrival began it anew, a steady trickle would keep A waiting for ever.",
    )


@pytest.mark.task("3.2", points=0.5)
def test_the_arrival_that_fills_it_starts_it(student):
    begins(
        student,
        asks(("A", 4, 3, 0.0), ("B", 2, 3, 0.5), ("C", 2, 3, 1.0)),
        (1.0, "A, B, C"),
        early="Until C comes at 1 s the batch is not full, and the window is open until 2 s.",
        late="At 1 s C fills the batch: it starts then, not at the end of the window.",
    )


@pytest.mark.task("3.2", points=0.75)
def test_a_running_batch_goes_on_and_takes_no_one_in(student):
    full = asks(("A", 4, 6), ("B", 2, 2), ("C", 3, 4), ("D", 3, 3, 2.5))
    lone = asks(("A", 4, 6), ("D", 3, 3, 4.5), ("E", 3, 3, 5.5))
    for requests, members, begin in ((full, "A, B, C", 0), (lone, "A", 2)):
        engine = serve(windowed(student), requests)
        steps = engine.trace.steps[:6]
        late = [n for n, step in enumerate(steps) if start(step) != begin + n]
        if late:
            raise Wrong(
                f"The batch of {members} stood still before step {late[0] + 1}, to wait for "
                "company. Only those who are not running yet may be made to wait, and only they "
                "count: ask self.running first."
            )
        if any(who(step) != members for step in steps):
            raise Wrong(
                "D joined a batch that was running already. Forming is flexible, running is not: D "
                "waits until the batch has ended.",
                drawing=drawn(serve(mb.Dynamic(3, 2.0), requests), engine),
            )


@pytest.mark.task("3.2", points=0.5)
def test_each_batch_has_a_window_of_its_own(student):
    """A runs from 2 s to 4 s; D comes long after, and E, while D's batch runs."""
    requests = asks(("A", 4, 2), ("D", 3, 3, 20.0), ("E", 2, 2, 23.5), ("F", 2, 2, 24.0))
    engine, times = serve(windowed(student), requests), {}
    for step in engine.trace.steps:
        for row in step.rows:
            times.setdefault(row.request_id, start(step))
    right = {"A": 2.0, "D": 22.0, "E": 25.5, "F": 25.5}
    for name, time in right.items():
        if times[name] != time:
            early = times[name] < time
            said = {
                "A": "A came at 0 s and may start at 2 s.",
                "D": "D came at 20 s, long after A's batch had ended, and its own window ends at "
                "22 s. "
                + (
                    "Yours did not wait for it: is the first batch's deadline still in use?"
                    if early
                    else "Yours waited longer: is something still in use that the first batch left?"
                ),
                "E": "E came at 23.5 s, while D's batch was running, and F at 24 s; D's batch "
                "ended at 25 s. E's window began when it came, not when the batch ended, and ends "
                "at 25.5 s.",
                "F": "F came at 24 s, and joins E, whose window ends at 25.5 s.",
            }[name]
            raise Wrong(said, expected=f"at {time:g} s", got=f"at {times[name]:g} s")


@pytest.mark.task("3.2", points=0.5)
def test_any_arrivals_give_the_batches_they_should(student, rng):
    for _ in range(3):
        requests, arrival = [], 0.0
        for name in "ABCDEFGH":
            arrival += rng.choice([0, 0.25, 0.5, 1.5, 3, 6])
            requests.append(Ask(name, rng.randint(1, 9), rng.randint(1, 8), arrival))
        window = rng.choice([0.0, 0.5, 1.25, 3.0])
        expected = serve(mb.Dynamic(3, window), requests)
        got = serve(windowed(student, window), requests)
        same_plan(expected, got, f"With a window of {window:g} s another batch was due.")
        starts = [[start(step) for step in run.trace.steps] for run in (expected, got)]
        if starts[0] != starts[1]:
            raise Wrong(
                "The batches are right and begin at other times.", expected=starts[0], got=starts[1]
            )
    serves_in_an_engine(windowed(student), mb.Dynamic(3, 2.0), requests)


NOW_YOURS = {"3.1": now_yours.minibuses, "3.2": now_yours.dynamic}

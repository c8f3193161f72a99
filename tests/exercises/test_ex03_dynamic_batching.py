"""Judges exercises 3.1 and 3.2: when a batch begins, and with whom. Times in eighths of a second,
which floating point holds exactly."""

import pytest
from serving import Ask, asks, drawn, same_plan, serve

import minibatch as mb
from minibatch.course.judging.remote import RemoteScheduler
from minibatch.course.judging.verdict import Wrong

WITHHELD = {"3.2": {"minibatch.schedulers.dynamic": "Dynamic"}}


def ready(student, expected, sentence, *arguments):
    got = student.call("is_ready", *arguments)
    if got is not expected:
        shown = "is_ready({}, now={}, max_batch_size={}, max_wait={})".format(*arguments)
        raise Wrong(f"{shown}: {sentence}", expected=expected, got=got)


# 3.1 ---------------------------------------------------------------------------------------------


@pytest.mark.task("3.1", points=0.5)
def test_without_anybody_there_is_no_batch(student):
    ready(student, False, "nobody waits, so there is nothing to start.", [], 5.0, 8, 0.5)


@pytest.mark.task("3.1", points=0.5)
def test_a_full_batch_is_ready_at_once(student):
    said = "three wait for three seats; waiting on serves nobody."
    ready(student, True, said, [1.0, 1.0, 1.0], 1.0, 3, 0.5)
    ready(student, True, "more wait than there are seats.", [1.0] * 5, 1.0, 3, 0.5)


@pytest.mark.task("3.1", points=0.5)
def test_the_oldest_has_waited_long_enough(student):
    said = "the oldest has waited 0.5 s, its whole window; the newest's clock does not count."
    ready(student, True, said, [1.0, 1.375], 1.5, 8, 0.5)
    said = "the oldest has waited longer than its window."
    ready(student, True, said, [1.0], 3.0, 8, 0.5)


@pytest.mark.task("3.1", points=0.5)
def test_otherwise_it_waits(student, rng):
    said = "not full, and the oldest has waited less than its window."
    ready(student, False, said, [1.0, 1.25], 1.375, 8, 0.5)
    for _ in range(20):
        times = sorted(rng.randrange(0, 40) / 8 for _ in range(rng.randrange(1, 6)))
        now = times[-1] + rng.randrange(0, 16) / 8
        size, window = rng.randrange(1, 8), rng.randrange(0, 24) / 8
        expected = len(times) >= size or now - times[0] >= window
        ready(student, expected, "look at the three questions again.", times, now, size, window)
    arrival, window = next(
        (a / 100, w / 100)
        for a in range(rng.randrange(1, 40), 400)
        for w in range(1, 100)
        if (a / 100 + w / 100) - a / 100 < w / 100
    )
    said = (
        "the oldest's patience ends at this very moment. now - arrival comes out a rounding error "
        "below max_wait: compare now with arrival + max_wait."
    )
    ready(student, True, said, [arrival], arrival + window, 8, window)


# 3.2 ---------------------------------------------------------------------------------------------


def windowed(student, max_wait=2.0):
    return RemoteScheduler(student, "MyDynamic", 3, max_wait=max_wait)


def first_batch(engine):
    """When the first step began, and who was in it."""
    step = engine.trace.steps[0]
    return step.start_time, ", ".join(sorted(row.request_id for row in step.rows))


def begins(student, requests, expected, sentence):
    got = first_batch(serve(windowed(student), requests, steps=1))
    if got != expected:
        raise Wrong(
            sentence,
            expected="at {:g} s with {}".format(*expected),
            got="at {:g} s with {}".format(*got),
        )


@pytest.mark.task("3.2", points=0.5)
def test_a_full_batch_leaves_at_once(student):
    begins(
        student,
        asks(("A", 4, 3), ("B", 2, 3), ("C", 3, 3), ("D", 3, 3)),
        (0.0, "A, B, C"),
        "Three wait for three slots, and the batch did not start at once: a full batch has nothing "
        "to wait for.",
    )


@pytest.mark.task("3.2", points=1)
def test_a_lone_request_waits_for_its_window_and_no_longer(student):
    begins(
        student,
        asks(("A", 4, 3, 1.0)),
        (3.0, "A"),
        "A came at 1 s, alone, and the window is 2 s: at 3 s it runs, alone if need be.",
    )


@pytest.mark.task("3.2", points=0.5)
def test_the_oldest_decides_when_it_leaves(student):
    begins(
        student,
        asks(("A", 4, 3, 0.0), ("B", 2, 3, 1.5)),
        (2.0, "A, B"),
        "A came at 0 s and B at 1.5 s; the window of 2 s is A's, the oldest's, and ends at 2 s. If "
        "each arrival began it anew, a steady trickle would keep A waiting for ever.",
    )


@pytest.mark.task("3.2", points=0.5)
def test_the_arrival_that_fills_it_starts_it(student):
    begins(
        student,
        asks(("A", 4, 3, 0.0), ("B", 2, 3, 0.5), ("C", 2, 3, 1.0)),
        (1.0, "A, B, C"),
        "At 1 s C fills the batch: it starts then, not at the end of the window.",
    )


@pytest.mark.task("3.2", points=1)
def test_a_running_batch_goes_on_and_takes_no_one_in(student):
    requests = asks(("A", 4, 6), ("B", 2, 2), ("C", 3, 4), ("D", 3, 3, 2.5))
    engine = serve(windowed(student), requests)
    expected = serve(mb.Dynamic(3, 2.0), requests)
    steps = engine.trace.steps[:6]
    late = [number for number, step in enumerate(steps, 1) if step.start_time != number - 1]
    if late:
        raise Wrong(
            f"The batch of A, B and C stood still before step {late[0]}, to wait for company. Only "
            "those who are not running yet may be made to wait: ask self.running first."
        )
    if any(row.request_id == "D" for step in steps for row in step.rows):
        raise Wrong(
            "D joined a batch that was running already. Forming is flexible, running is not: D "
            "waits until the batch has ended.",
            drawing=drawn(expected, engine),
        )


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
        starts = [[step.start_time for step in run.trace.steps] for run in (expected, got)]
        if starts[0] != starts[1]:
            raise Wrong(
                "The batches are right and begin at other times.", expected=starts[0], got=starts[1]
            )

"""Judges exercises 12.1 to 12.4: an answer whose client hangs up, a reader of server-sent events,
blocks of rows in flight, and the parts of a latency."""

import pytest
from streaming import NEVER, Line, Scene

from minibatch.course.judging.verdict import Wrong
from minibatch.course.judging.worker_errors import NotAttempted, Raised, reported_error

# 12.1 --------------------------------------------------------------------------------------------

HE_LLO = [(10, "He"), (20, "llo"), (40, " you")]
CALM = Line(HE_LLO, 50)
SLOW_CLIENT = Line(HE_LLO, 50, send_ms=25)
EMPTY = Line([], 30)
AT_ONCE = Line([(0, "a"), (0, "b"), (0, "c")], 0)


def answered(student, *lines):
    """Play a scene of one line or of several at once, and judge each line's log."""
    scene = Scene(lines)
    try:
        scene.run(student)
    except Raised as error:
        error.sentence = f"answer({lines[0]}) fails with {error.sentence}"
        raise
    together = f" {len(lines)} answers at once, this is one of them." * (len(lines) > 1)
    for line in lines:
        judge_line(student, scene, line, f"answer({line}):{together}")
    if scene.others:
        several = "a task" if scene.others == 1 else f"{scene.others} tasks"
        raise Wrong(
            f"answer({lines[0]}): [leaves_a_task] answer has ended, and {several} of it still "
            "waits. A server then has one more with each request: cancel what you have started.",
            expected="no task",
            got=several,
        )


def judge_line(student, scene, line, told):
    if line.problem:
        raise Wrong(f"{told} {line.problem}.")
    outcome = line.outcome or {}
    if "error" in outcome:
        error = reported_error(outcome["error"], student.limits)
        if isinstance(error, NotAttempted):
            raise error
        if error.exception.endswith("ExceptionGroup"):
            raise Wrong(
                f"{told} [wraps_the_exception] what tokens raises goes on as it is; yours comes in "
                f"a group, as a TaskGroup wraps it: {error.sentence}."
            )
        error.sentence = f"{told} it fails with {error.sentence}"
        raise error
    judge_aborts(scene, line, told)
    judge_sends(scene, line, told)
    judge_outcome(scene, line, outcome, told)


def judge_aborts(scene, line, told):
    due = line.must_abort_ms
    times = [when for when, _ in line.aborts]
    shown = f"abort() at {', '.join(map(str, times))} ms" if times else "no abort()"
    said = ""
    if line.aborts and line.aborts[0][1]:
        said = (
            "[aborts_after_the_end] tokens has ended or raised before: the engine has not got this "
            "request any more. With asyncio.wait both tasks may be done; ask first whether tokens "
            "has ended"
        )
    elif times and times[0] < min(due, line.stops_ms):
        said = "[aborts_without_reason] the client is there, and the task is not cancelled"
    elif len(times) > 1:
        said = (
            "[aborts_twice] a second abort may hit another request that has its place by now: "
            "abort in one place only"
        )
    elif due < NEVER and times != [due]:
        said = why_late(scene, line, due, times)
    if said:
        raise Wrong(
            f"{told} {said}.",
            expected=f"abort() at {due} ms" if due < NEVER else "no abort()",
            got=shown,
        )


def why_late(scene, line, due, times):
    if due == line.cancel_ms:
        return (
            "[shutdown_without_abort] the task is cancelled, and the engine goes on. A "
            "CancelledError is not an Exception: `finally` sees it, `except Exception` does not"
        )
    if due == line.failed_ms and due < line.hangs_up_ms:
        return (
            "[failed_send_without_abort] a send has failed, so the client is gone; hung_up need "
            "not return. Abort then"
        )
    waits_in_send = line.sends and line.sends[-1][0] + line.send_ms > due
    if not times and line.outcome and line.done_ms == due:
        return "[returns_without_abort] answer returns, and the engine computes on for nobody"
    if waits_in_send and line.stuck:
        return (
            "[hang_up_during_a_send] the client hangs up while a send waits, and yours goes on "
            "waiting: hung_up and send have to be waited for at the same time"
        )
    return (
        "[notices_late] the client is gone, and the engine computes on for nobody. Wait for "
        "hung_up and for the next piece at the same time, not for one after the other"
    )


def judge_sends(scene, line, told):
    due, stop = line.due_sends, line.stops_ms
    got = [one for one in line.sends if one[0] < stop]
    later = [one for one in line.sends if one[0] >= stop]
    said = ""
    if line.failed_ms < NEVER and len(later) > 1:
        said = "[sends_after_a_failure] a send has failed: the client is gone, so send no more"
    elif got != due:
        said = why_other_sends(line, due, got)
    if said:
        raise Wrong(f"{told} {said}.", expected=as_sends(due), got=as_sends(line.sends))


def as_sends(sends):
    return ", ".join(f"send({text!r}) at {when}" for when, text in sends) or "no send"


def why_other_sends(line, due, got):
    texts, due_texts = ["".join(text for _, text in part) for part in (got, due)]
    if not got and due == [(line.end_ms, "")]:
        return "[empty_answer_is_not_sent] an answer without a piece is a text, too: send it, empty"
    if not got:
        return (
            "[sends_nothing] the client gets nothing. (send is a coroutine function: it does "
            "nothing until it is awaited)"
        )
    if not line.stream and line.failure:
        return "[sends_part_of_an_answer] tokens has raised, so there is no whole answer: send none"
    if not line.stream and len(got) > 1:
        return "[streams_a_whole_answer] without stream, send one text, when tokens has ended"
    if line.stream and len(due) > 1 and len(got) == 1 and texts == due_texts:
        return "[one_text_for_a_stream] with stream, send each piece when it comes"
    if [text for _, text in got] == [text for _, text in due]:
        late = next(i for i, (one, other) in enumerate(zip(got, due, strict=True)) if one != other)
        return (
            f"[sends_late] {due[late][1]!r} can be sent at {due[late][0]} ms, and yours is sent at "
            f"{got[late][0]} ms. Send it before you wait for the next piece"
        )
    if sorted(got) == sorted(due) or sorted(texts) == sorted(due_texts):
        return "[pieces_out_of_order] the pieces come in another order"
    return "[other_text] the client gets another text"


def judge_outcome(scene, line, outcome, told):
    first = min(line.told_end_ms, line.hangs_up_ms, line.failed_ms, line.cancel_ms)
    due = "returned"
    if line.failure and line.told_end_ms == first:
        due = "given"
    if line.was_cancelled:
        due = "cancelled"
    if due in outcome or (due == "given" and line.hangs_up_ms == line.told_end_ms and outcome):
        return
    names = {
        "returned": "answer returns",
        "given": f"{line.failure[0] if line.failure else 'it'} is raised",
        "cancelled": "CancelledError is raised",
    }
    got = next((names[name] for name in names if name in outcome), "answer does not end")
    said = {
        "cancelled": "[swallows_the_cancellation] the task is cancelled, and its caller has to see "
        "that: let the CancelledError go on, after the abort",
        "given": "[swallows_the_exception] tokens has raised, and its caller has to see that",
        "returned": "[raises_to_the_caller] a client that hangs up is not an error of the server: "
        "return",
    }[due]
    if not outcome:
        said = (
            "[answer_never_ends] nothing more will happen, and answer still waits. Is it for "
            "hung_up, of a client that does not hang up?"
        )
    raise Wrong(f"{told} {said}.", expected=names[due], got=got)


@pytest.mark.task("12.1", points=0.5)
def test_each_piece_is_sent_when_it_comes(student):
    for line in (CALM, SLOW_CLIENT, EMPTY, AT_ONCE):
        answered(student, line.at(stream=True))


@pytest.mark.task("12.1", points=0.5)
def test_a_whole_answer_is_one_text(student):
    for line in (CALM, SLOW_CLIENT, EMPTY, AT_ONCE):
        answered(student, line.at(stream=False))


@pytest.mark.task("12.1", points=1)
def test_a_hang_up_ends_the_request_in_the_engine(student):
    for stream in (True, False):
        for when in (5, 15, 30, 45):  # before the first piece, between two, after the last
            answered(student, Line(HE_LLO, 50, stream, hangs_up_ms=when))
        answered(student, Line([], 10**5, stream, hangs_up_ms=10**4))
    answered(student, Line(HE_LLO, 50, False, hangs_up_ms=40))  # in the moment of a piece


@pytest.mark.task("12.1", points=0.75)
def test_a_hang_up_during_a_send_ends_it_too(student):
    for stuck in (False, True):
        for when in (15, 40, 75):  # in the first send, the second, the last
            answered(student, Line(HE_LLO, 90, send_ms=25, hangs_up_ms=when, stuck=stuck))
    for when in (10, 40):  # in the moment of a piece
        answered(student, Line(HE_LLO, 50, hangs_up_ms=when))
    for breaks in (12, 25, 42):  # and nothing but the send tells of it
        for error in ("ConnectionError", "BrokenPipeError"):
            answered(student, Line(HE_LLO, 90, send_ms=5, breaks_ms=breaks, error=error))


@pytest.mark.task("12.1", points=0.5)
def test_a_complete_answer_is_not_aborted(student):
    for stream in (True, False):
        answered(student, Line(HE_LLO, 50, stream, hangs_up_ms=50))
        answered(student, Line([], 50, stream, hangs_up_ms=50))
    answered(student, Line(HE_LLO, 50, False, send_ms=25, breaks_ms=60))
    for stuck in (False, True):
        answered(student, Line(HE_LLO, 50, False, send_ms=25, hangs_up_ms=60, stuck=stuck))


@pytest.mark.task("12.1", points=0.75)
def test_a_shutdown_aborts_and_goes_on(student):
    for stream in (True, False):
        for when in (5, 15, 45):
            answered(student, Line(HE_LLO, 50, stream, cancel_ms=when))
    answered(student, Line(HE_LLO, 90, send_ms=25, cancel_ms=15))
    answered(student, Line(HE_LLO, 50, False, send_ms=25, cancel_ms=60))


@pytest.mark.task("12.1", points=0.5)
def test_what_the_engine_raises_goes_on(student):
    for stream in (True, False):
        for kind in ("RuntimeError", "ConnectionError", "TimeoutError"):
            answered(student, Line(HE_LLO, 50, stream, failure=(kind, "the engine has failed")))
        answered(student, Line([], 5, stream, failure=("ValueError", "too long"), hangs_up_ms=70))


@pytest.mark.task("12.1", points=0.5)
def test_any_answer_and_several_at_once(student, rng):
    for stream in (True, False):
        answered(student, Line(HE_LLO, 50, stream, cancel_ms=30, hangs_up_ms=30))
    three = [
        Line(HE_LLO, 50, hangs_up_ms=15),
        Line([(5, "No")], 12),
        Line(HE_LLO, 70, cancel_ms=45),
    ]
    answered(student, *three)
    for _ in range(12):
        answered(student, *(some_line(rng) for _ in range(rng.randint(1, 3))))


def some_line(rng):
    """A line in which no two things but a piece and a hang-up come in the same moment."""
    times = sorted(rng.sample(range(2, 200, 2), rng.randint(1, 6)))
    line = Line(
        [(when, rng.choice("abcdef") * rng.randint(1, 3)) for when in times[:-1]],
        times[-1],
        rng.random() < 0.6,
        send_ms=rng.choice([0, 0, 7, 31]),
    )
    if rng.random() < 0.2:
        line.failure = (rng.choice(["RuntimeError", "ConnectionError"]), "the engine has failed")
    match rng.choice(["nothing", "hangs up", "hangs up", "breaks", "cancelled"]):
        case "hangs up":
            line.hangs_up_ms = rng.choice([*times, rng.randrange(1, 220, 2)])
            line.stuck = rng.random() < 0.5
        case "breaks":
            line.breaks_ms = rng.randrange(1, 220, 2)
        case "cancelled":
            line.cancel_ms = rng.randrange(1, 220, 2)
    return line

"""Judges exercises 12.1 to 12.4: an answer whose client hangs up, a reader of server-sent events,
blocks of rows in flight, and the parts of a latency."""

import itertools

import now_yours
import pytest
from beliefs import a_kind, why
from sse import BELIEFS, by_bytes, cut, read
from streaming import NEVER, Line, Scene

from minibatch.course.judging.values import Lent, LentDict
from minibatch.course.judging.verdict import Wrong
from minibatch.course.judging.worker_errors import NotAttempted, Raised, reported_error

# 12.1 --------------------------------------------------------------------------------------------

ONE = b'data: {"text": "Rome"}\n\n'
STREAM = "data: Zürich – 東京 🚲\n\ndata: b: c\n\n".encode()
LINES = {
    "one event": [ONE],
    "three events, a comment between them": [b"data: a\n\n: ping\n\ndata: b\n\ndata: [DONE]\n\n"],
    "an event that no empty line has ended": [b"data: a\n\ndata: b\n"],
    "a space more": [b"data:  two\n\ndata:none\n\ndata: tail \n\n"],
    "colons in a value": [b'data: {"a": "b:c"}\n\n'],
    "other fields": [b"event: token\nid: 7\nretry: 10\ndata: x\n\ndata: y\nid: 8\n\n"],
    "names that are not 'data'": [b"database: x\nDATA: y\ndata : z\n data: w\ndata: v\n\n"],
    "several lines of data": [b"data: a\ndata: b\ndata:\ndata: c\n\n"],
    "an event without data": [b"event: end\n\n\n\ndata: x\n\n"],
    "empty data": [b"data\n\ndata:\n\ndata: \n\ndata\ndata\n\n"],
    "characters that do not end a line": ["data: a\x0bb\x0cc\x1cd\x85e\u2028f\u2029g\n\n".encode()],
}
ENDS = {
    r"lines that end with \r\n": [b"data: a\r\ndata: b\r\n\r\ndata: c\r\n\r\n"],
    r"lines that end with \r": [b"data: a\rdata: b\r\rdata: c\r\r"],
    "all three": [b"data: a\rdata: b\r\n\ndata: c\n\r\ndata: d\n\r"],
    r"a cut between \r and \n": cut(b"data: a\r\ndata: b\r\n\r\ndata: c\r\n\r\n", 8, 17, 19, 28),
    r"an event that ends with \r": [b"data: a\r", b"\r", b"\n", b"data: b\r\n\r", b"\ndata"],
}
CHUNKS = {
    "a cut in a name, in a value, between two ends": cut(ONE * 3, 2, 9, 25, 30, 47, 70),
    "single bytes": by_bytes(STREAM + b"data: a\r\n\r\n"),
    "empty chunks": [b"", b"data: a", b"", b"\n", b"", b"\n", b""],
    "a cut within a letter": cut(STREAM, 8, 17, 27, 30),
    "bytes that are not UTF-8": [b"data: a\xff\xc3\n\ndata: \xe6\x9d\n\n", b"data: b\xe6", b"\n\n"],
}
MARK = "\ufeff".encode()
MARKS = {
    "a byte order mark": [MARK + ONE],
    "a byte order mark in three chunks": by_bytes(MARK) + [ONE],
    "marks in other places": [MARK + MARK + b"data: a\n\n" + b"data: " + MARK + b"b\n\n"],
}


def texts_of(student, packed):
    """What the calls of feed gave, with the errors raised; texts come as bytes."""
    found = []
    for one in packed:
        if "raised" in one:
            raise reported_error(one["raised"], student.limits)
        gave = student.unpacked(one["gave"])
        if not isinstance(gave, list | tuple) or not all(type(each) is bytes for each in gave):
            kind = "nothing (None)" if gave is None else a_kind(gave)
            raise Wrong(
                f"[events_are_no_texts] `feed` must return a list of texts; you return {kind}."
            )
        found.append([each.decode("utf-8", "surrogatepass") for each in gave])
    return found


def streamed(student, streams):
    """Each stream to an object of its own; if one is read wrongly, the belief that fits them."""
    seen = {}
    for told, chunks in streams.items():
        try:
            calls = [(0, "feed", [chunk]) for chunk in chunks]
            seen[told] = texts_of(student, student.objects("Events", calls))
        except Raised as error:
            error.sentence = (
                f"`feed`, with {told}, {shown_chunks(chunks)}, fails with {error.sentence}"
            )
            raise
    for told, chunks in streams.items():
        expected, got = read(chunks), seen[told]
        for number, (due, gave) in enumerate(zip(expected, got, strict=True)):
            if due != gave:
                said = believed(streams, seen) or (
                    "[other_events] your events are wrong: apply the rules for lines and fields "
                    "one by one."
                )
                before = shown_chunks(chunks[: number + 1])
                raise Wrong(f"With {told}: after {before}: {said}", expected=due, got=gave)


TWO = [(0, b"data: a"), (1, b"data: b\n"), (0, b"1\n\n"), (1, b"\n")]
TWO_TOLD = ", ".join(f"{'xy'[number]}.feed({chunk})" for number, chunk in TWO)


def two_at_once(student):
    packed = student.objects("Events", [(number, "feed", [chunk]) for number, chunk in TWO])
    return texts_of(student, packed)


def shown_chunks(chunks):
    several = ", ".join(f"feed({chunk})" for chunk in chunks[-4:])
    return f"{'… ' * (len(chunks) > 4)}{several}"


def believed(streams, seen):
    for size in (1, 2):
        for beliefs in itertools.combinations(BELIEFS, size):
            if all(read(chunks, beliefs) == seen[told] for told, chunks in streams.items()):
                return " ".join(BELIEFS[one] for one in beliefs)
    return ""


@pytest.mark.task("12.1", points=1.5)
def test_an_event_is_its_lines_of_data(student):
    if (got := two_at_once(student)) == read([chunk for _, chunk in TWO]):  # as one stream
        said = f"{BELIEFS['shared']} ({TWO_TOLD})"
        raise Wrong(said, expected=[[], [], ["a1"], ["b"]], got=got)
    streamed(student, LINES)


@pytest.mark.task("12.1", points=0.75)
def test_a_line_has_one_of_three_ends(student):
    streamed(student, ENDS)


@pytest.mark.task("12.1", points=0.75)
def test_chunks_end_anywhere(student):
    streamed(student, CHUNKS)


@pytest.mark.task("12.1", points=0.5)
def test_a_byte_order_mark_is_left_out_once(student):
    streamed(student, MARKS)


@pytest.mark.task("12.1", points=0.5)
def test_any_stream_and_two_at_once(student, rng):
    got = two_at_once(student)
    if got != [[], [], ["a1"], ["b"]]:
        raise Wrong(
            f"[other_events_of_two] Two objects read two streams, {TWO_TOLD}: your events are "
            "wrong.",
            expected=[[], [], ["a1"], ["b"]],
            got=got,
        )
    for number in range(30):
        data = MARK * (rng.random() < 0.2)
        for _ in range(rng.randint(1, 12)):
            line = rng.choice(["data: ", "data:", "data", ": c", "id: 1", "", "", "data:  é東🚲 x"])
            data += (line + rng.choice(["", "", "a:b", "\x85"]) * ("data:" in line)).encode()
            data += rng.choice([b"\n", b"\n", b"\r\n", b"\r"])
        places = sorted(rng.choices(range(len(data) + 1), k=rng.randint(0, 8)))
        streamed(student, {f"random stream {number + 1}": cut(data, *places)})


# 12.2 --------------------------------------------------------------------------------------------

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
    together = f" This is one of {len(lines)} answers at once." * (len(lines) > 1)
    for line in lines:
        judge_line(student, scene, line, f"answer({line}):{together}")
    if scene.others:
        several = "a task" if scene.others == 1 else f"{scene.others} tasks"
        raise Wrong(
            f"answer({lines[0]}): [leaves_a_task] `answer` has ended, but {several} that it "
            "started did not end. Then a server collects more tasks with each request: cancel what "
            "you start.",
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
                f"{told} [wraps_the_exception] you raise an exception group; a TaskGroup makes "
                f"one. Let the exception that `tokens` raises pass unchanged: {error.sentence}."
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
            "[aborts_after_the_end] you call `abort` although `tokens` has already ended or "
            "raised: the engine no longer has this request. After asyncio.wait, both tasks may be "
            "done; check first whether `tokens` has ended"
        )
    elif times and times[0] < min(due, line.stops_ms):
        said = (
            "[aborts_without_reason] you call `abort` although the client is still connected and "
            "the task is not cancelled"
        )
    elif len(times) > 1:
        said = (
            "[aborts_twice] you call `abort` twice: the second call may hit another request that "
            "has taken the place of the first; call `abort` in one place only"
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
            "[shutdown_without_abort] you do not call `abort` when the task is cancelled, so the "
            "engine continues. A CancelledError is not an Exception: `finally` handles it, `except "
            "Exception` does not"
        )
    if due == line.failed_ms and due < line.hangs_up_ms:
        return (
            "[failed_send_without_abort] you do not call `abort` after a send has failed: then the "
            "client has disconnected, even if `hung_up` does not return"
        )
    waits_in_send = line.sends and line.sends[-1][0] + line.send_ms > due
    if not times and line.outcome and line.done_ms == due:
        return (
            "[returns_without_abort] your function returns without a call of `abort`, so the "
            "engine continues to compute for no client"
        )
    if waits_in_send and line.stuck:
        return (
            "[hang_up_during_a_send] you still wait for a send after the client has hung up: wait "
            "for `hung_up` and `send` at the same time"
        )
    return (
        "[notices_late] you notice late that the client has disconnected, and the engine continues "
        "to compute for no client. Wait for `hung_up` and for the next piece at the same time, not "
        "one after the other"
    )


def judge_sends(scene, line, told):
    due, stop = line.due_sends, line.stops_ms
    got = [one for one in line.sends if one[0] < stop]
    later = [one for one in line.sends if one[0] >= stop]
    said = ""
    if line.failed_ms < NEVER and len(later) > 1:
        said = (
            "[sends_after_a_failure] you send after a send has failed: the client has "
            "disconnected, so send no more"
        )
    elif got != due:
        said = why_other_sends(line, due, got)
    if said:
        raise Wrong(f"{told} {said}.", expected=as_sends(due), got=as_sends(line.sends))


def as_sends(sends):
    return ", ".join(f"send({text!r}) at {when}" for when, text in sends) or "no send"


def why_other_sends(line, due, got):
    texts, due_texts = ["".join(text for _, text in part) for part in (got, due)]
    if not got and due == [(line.end_ms, "")]:
        return (
            "[empty_answer_is_not_sent] you send nothing for an answer without pieces; such an "
            "answer is an empty text: send this text"
        )
    if not got:
        return (
            "[sends_nothing] you send nothing to the client. (`send` is a coroutine function: "
            "await it)"
        )
    if not line.stream and line.failure:
        return (
            "[sends_part_of_an_answer] you send part of an answer; `tokens` has raised, so the "
            "answer is not complete: send nothing"
        )
    if not line.stream and len(got) > 1:
        return (
            "[streams_a_whole_answer] you send pieces although `stream` is False; send one text "
            "after `tokens` has ended"
        )
    if line.stream and len(due) > 1 and len(got) == 1 and texts == due_texts:
        return (
            "[one_text_for_a_stream] you send one text although `stream` is True; send each piece "
            "when it comes"
        )
    if [text for _, text in got] == [text for _, text in due]:
        late = next(i for i, (one, other) in enumerate(zip(got, due, strict=True)) if one != other)
        return (
            f"[sends_late] {due[late][1]!r} can be sent at {due[late][0]} ms, but you send it at "
            f"{got[late][0]} ms. Send each piece before you wait for the next piece"
        )
    if sorted(got) == sorted(due) or sorted(texts) == sorted(due_texts):
        return "[pieces_out_of_order] you send the pieces in the wrong order"
    return "[other_text] you send the wrong text to the client"


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
        "cancelled": (
            "[swallows_the_cancellation] you swallow the cancellation, but the caller must see it: "
            "after the abort, let the CancelledError pass"
        ),
        "given": (
            "[swallows_the_exception] you swallow the exception that `tokens` raises; the caller "
            "of `answer` must see this exception"
        ),
        "returned": (
            "[raises_to_the_caller] you raise an exception to the caller; a client that hangs up "
            "is not a server error: return normally"
        ),
    }[due]
    if not outcome:
        said = (
            "[answer_never_ends] your function waits forever. Perhaps it waits for `hung_up`, and "
            "the client does not hang up"
        )
    raise Wrong(f"{told} {said}.", expected=names[due], got=got)


@pytest.mark.task("12.2", points=0.5)
def test_each_piece_is_sent_when_it_comes(student):
    for line in (CALM, SLOW_CLIENT, EMPTY, AT_ONCE):
        answered(student, line.at(stream=True))


@pytest.mark.task("12.2", points=0.5)
def test_a_whole_answer_is_one_text(student):
    for line in (CALM, SLOW_CLIENT, EMPTY, AT_ONCE):
        answered(student, line.at(stream=False))


@pytest.mark.task("12.2", points=1)
def test_a_hang_up_ends_the_request_in_the_engine(student):
    for stream in (True, False):
        for when in (5, 15, 30, 45):  # before the first piece, between two, after the last
            answered(student, Line(HE_LLO, 50, stream, hangs_up_ms=when))
        answered(student, Line([], 10**5, stream, hangs_up_ms=10**4))
    answered(student, Line(HE_LLO, 50, False, hangs_up_ms=40))  # in the moment of a piece


@pytest.mark.task("12.2", points=0.75)
def test_a_hang_up_during_a_send_ends_it_too(student):
    for stuck in (False, True):
        for when in (15, 40, 75):  # in the first send, the second, the last
            answered(student, Line(HE_LLO, 90, send_ms=25, hangs_up_ms=when, stuck=stuck))
    for when in (10, 40):  # in the moment of a piece
        answered(student, Line(HE_LLO, 50, hangs_up_ms=when))
    for breaks in (12, 25, 42):  # and nothing but the send tells of it
        for error in ("ConnectionError", "BrokenPipeError"):
            answered(student, Line(HE_LLO, 90, send_ms=5, breaks_ms=breaks, error=error))


@pytest.mark.task("12.2", points=0.5)
def test_a_complete_answer_is_not_aborted(student):
    for stream in (True, False):
        answered(student, Line(HE_LLO, 50, stream, hangs_up_ms=50))
        answered(student, Line([], 50, stream, hangs_up_ms=50))
    answered(student, Line(HE_LLO, 50, False, send_ms=25, breaks_ms=60))
    for stuck in (False, True):
        answered(student, Line(HE_LLO, 50, False, send_ms=25, hangs_up_ms=60, stuck=stuck))


@pytest.mark.task("12.2", points=0.75)
def test_a_shutdown_aborts_and_passes_on_the_cancellation(student):
    for stream in (True, False):
        for when in (5, 15, 45):
            answered(student, Line(HE_LLO, 50, stream, cancel_ms=when))
    answered(student, Line(HE_LLO, 90, send_ms=25, cancel_ms=15))
    answered(student, Line(HE_LLO, 50, False, send_ms=25, cancel_ms=60))


@pytest.mark.task("12.2", points=0.5)
def test_an_exception_of_the_engine_is_passed_on(student):
    for stream in (True, False):
        for kind in ("RuntimeError", "ConnectionError", "TimeoutError"):
            answered(student, Line(HE_LLO, 50, stream, failure=(kind, "the engine has failed")))
        answered(student, Line([], 5, stream, failure=("ValueError", "too long"), hangs_up_ms=70))


@pytest.mark.task("12.2", points=0.5)
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


# 12.3 --------------------------------------------------------------------------------------------

NAMES = ("client", "network", "queue", "prefill", "event loop", "decode")


def row(due, parts, offset=0, back=None, slower=0):
    """A row with these six parts. offset: of the server's clock. back: milliseconds of the network
    on the way back; by default half. slower: of the last token's way, beyond the first one's."""
    client, network, queue, prefill, loop, decode = parts
    back = network // 2 if back is None else back
    sent = due + client
    received = sent + network - back
    written = received + queue + prefill + loop
    first = written + back
    return (
        {"due": due, "sent": sent, "first_token": first, "last_token": first + decode},
        {
            "received": offset + received,
            "scheduled": offset + received + queue,
            "first_computed": offset + received + queue + prefill,
            "first_written": offset + written,
            "last_written": offset + written + decode - slower,
        },
    )


def without(one, *names, server=True):
    client, times = one
    client = {name: None if name in names else when for name, when in client.items()}
    times = {name: None if name in names else when for name, when in times.items()}
    return client, times if server else None


def some_time_rows(chance, num_rows, offset):
    rows = []
    for i in range(num_rows):
        parts = [chance.randint(0, most) for most in (9, 20, 200, 90, 15, 300)]
        if chance.random() < 0.05:
            parts[chance.randrange(6)] += 900
        made = row(10 * i, parts, offset, chance.randint(0, parts[1]), chance.randint(0, 3))
        match chance.randrange(12):
            case 0:
                made = without(made, "first_token", "last_token", server=False)
            case 1:
                made = without(made, "last_token", "last_written")
        rows.append(made)
    return rows


def tail_rows():
    """Queue has the largest sum of all, event loop that of the slowest; decode the p99 alone."""
    rows = [row(i, (1, 4, 300, 20, 2, 100 + i % 7)) for i in range(198)]
    slow = [row(500, (0, 4, 10, 20, 900, 30)), row(510, (0, 4, 650, 20, 500, 30))]
    return rows + slow


REFUSED = without(row(0, (0, 0, 0, 0, 0, 0)), "first_token", "last_token", server=False)
UNFINISHED = without(row(40, (900, 10, 30, 50, 10, 900), -70), "last_token", "last_written")
TIMES = {
    "one request": [row(0, (5, 10, 30, 50, 10, 295), 9000)],
    "the server's clock is behind": [row(100, (5, 10, 30, 50, 10, 60), -5000, back=9)],
    "the load generator is late": [row(100, (700, 10, 30, 50, 10, 60)), row(120, (0,) * 6)],
    "a network that is slow in one direction": [row(3, (0, 41, 1, 2, 3, 4), 17, back=40)],
    "the last token takes longer than the first": [row(3, (0, 9, 1, 2, 3, 40), 17, 4, slower=25)],
    "one is refused, and one has no last token": [
        *(REFUSED, row(10, (1, 8, 300, 50, 10, 60), 7), UNFINISHED),
    ],
    "no request has an answer": [REFUSED, UNFINISHED],
    "two hundred requests": tail_rows(),
    "one percent is one request": [row(i, (0, 2, 30 + i, 9, 0, 10)) for i in range(99)]
    + [row(7, (0, 2, 0, 0, 400, 0))],
    "one percent is rounded up": [row(i, (0, 2, 30, 9, 0, 10)) for i in range(99)]
    + [row(7, (0, 2, 190, 0, 210, 0)), row(8, (0, 2, 395, 0, 0, 0))],
    "two slow requests have different lengths": [row(i, (0, 2, 9, 9, 9, 9)) for i in range(150)]
    + [row(7, (0, 0, 620, 0, 380, 0)), row(8, (0, 0, 120, 0, 280, 0))],
    "several are as slow as the slowest": [
        *(row(0, (0, 0, 50, 0, 0, 0)), row(9, (0, 0, 0, 26, 0, 24)), row(5, (0, 0, 0, 26, 0, 24))),
        row(7, (0, 0, 0, 30, 0, 20)),
    ],
    "two parts have the same sum": [row(0, (0, 0, 20, 50, 0, 50)), row(0, (0, 7, 7, 0, 0, 0))],
}


def span(one, begin, end):
    return one[end] - one[begin]


PART = {
    "client": {"": lambda c, s: span(c, "due", "sent")},
    "network": {
        "": lambda c, s: span(c, "sent", "first_token") - span(s, "received", "first_written"),
        "[compares_two_clocks] you subtract times of two different clocks, whose offset is not "
        "known. Take only differences of one clock.": (
            lambda c, s: s["received"] - c["sent"],
            lambda c, s: c["first_token"] - s["first_written"],
            lambda c, s: (
                abs(s["received"] - c["sent"]) + abs(c["first_token"] - s["first_written"])
            ),
        ),
        "[half_of_the_way] you return half of the network time; the network time is the way there "
        "and back. (The two halves need not be equal.)": lambda c, s: (
            (span(c, "sent", "first_token") - span(s, "received", "first_written")) // 2
        ),
        "[network_of_the_last_token] you compute the network time from the last token; compute it "
        "from the first token.": lambda c, s: (
            span(c, "sent", "last_token") - span(s, "received", "last_written")
        ),
        "[network_from_due] you count the wait before sending as network time; the network time "
        "begins at `sent`.": (
            lambda c, s: span(c, "due", "first_token") - span(s, "received", "first_written")
        ),
        "[network_with_the_event_loop] you count the wait before the write as network time; this "
        "wait belongs to the event loop.": lambda c, s: (
            span(c, "sent", "first_token") - span(s, "received", "first_computed")
        ),
    },
    "queue": {
        "": lambda c, s: span(s, "received", "scheduled"),
        "[queue_from_due] you begin the queue at `due`; the queue begins when the server has "
        "received the request.": (
            lambda c, s: s["scheduled"] - c["due"],
            lambda c, s: s["scheduled"] - c["sent"],
        ),
    },
    "prefill": {
        "": lambda c, s: span(s, "scheduled", "first_computed"),
        "[prefill_with_the_queue] you count the queue as prefill; prefill begins when the "
        "request is scheduled.": (lambda c, s: span(s, "received", "first_computed")),
        "[prefill_with_the_event_loop] you count the event loop as prefill; prefill ends when "
        "the first token is computed, and the time until it "
        "is written belongs to the event loop.": lambda c, s: span(s, "scheduled", "first_written"),
    },
    "event loop": {
        "": lambda c, s: span(s, "first_computed", "first_written"),
        "[event_loop_at_the_client] you use a time of the client; the event loop's time is "
        "between two times of the server.": (lambda c, s: c["first_token"] - s["first_computed"]),
    },
    "decode": {
        "": lambda c, s: span(c, "first_token", "last_token"),
        "[decode_of_the_server] you take decode from the server's times, and then the six parts do "
        "not add up to the latency; take decode from the client's times.": lambda c, s: span(
            s, "first_written", "last_written"
        ),
        "[decode_from_the_computed] you begin decode when the server has computed the first "
        "token; decode begins when the client has the first token.": (
            lambda c, s: span(s, "first_computed", "last_written")
        ),
    },
}


def is_complete(client, server):
    return server is not None and None not in (*client.values(), *server.values())


def right_parts(rows):
    return [
        {name: PART[name][""](*one) for name in NAMES} if is_complete(*one) else None
        for one in rows
    ]


def largest(sums):
    return max(NAMES, key=lambda name: sums[name])


def summed(parts):
    return largest({name: sum(part[name] for part in parts) for name in NAMES})


def latency(part):
    return sum(part.values())


def slow_by(count, ties=True):
    def of(rows):
        parts = sorted((part for part in right_parts(rows) if part), key=latency, reverse=True)
        if not parts:
            return None
        num = count(len(parts))
        least = latency(parts[max(num, 1) - 1])
        return summed([part for part in parts if latency(part) >= least] if ties else parts[:num])

    return of


def of_complete(form):
    return lambda rows: form(parts) if (parts := [p for p in right_parts(rows) if p]) else None


def highest_percentile(parts):
    place = -(-99 * len(parts) // 100) - 1
    return largest({name: sorted(part[name] for part in parts)[place] for name in NAMES})


def mean_share(parts):
    num = -(-len(parts) // 100)
    least = sorted(map(latency, parts), reverse=True)[num - 1]
    slow = [part for part in parts if latency(part) >= least]
    return largest(
        {name: sum(part[name] / (latency(part) or 1) for part in slow) for name in NAMES}
    )


SLOWEST = {
    "": slow_by(lambda n: -(-n // 100)),
    "[slowest_of_all_rows] you add up the parts of all requests. The slowest 1 % may be slow for "
    "a different reason than the other requests.": of_complete(summed),
    "[percentile_of_each_part] you take the p99 of each part; these values belong to different "
    "requests. Find the slowest requests first.": of_complete(highest_percentile),
    "[maximum_of_each_part] you take the largest value of each part. Find the slowest requests "
    "first, and add up their own parts.": of_complete(
        lambda parts: largest({name: max(part[name] for part in parts) for name in NAMES})
    ),
    "[one_percent_rounded_down] you round n / 100 down; round it up.": (
        slow_by(lambda n: n // 100)
    ),
    "[ties_left_out] you leave out a request that is exactly as slow as the last of the slowest "
    "1 %; this request counts, too.": (slow_by(lambda n: -(-n // 100), ties=False)),
    "[only_the_slowest] you use only the slowest request; 1 % may be several requests.": (
        slow_by(lambda n: 1)
    ),
    "[slowest_ten_percent] you take more than the slowest 1 %, which is n / 100 requests.": (
        slow_by(lambda n: -(-n // 10)),
        slow_by(lambda n: -(-n // 20)),
    ),
    "[mean_of_shares] you add up shares; add up milliseconds.": of_complete(mean_share),
}


def lent_rows(rows):
    return Lent((LentDict(c), None if s is None else LentDict(s)) for c, s in rows)


def shown_rows(rows):
    return f"where_the_time_went({rows if len(rows) <= 2 else f'{len(rows)} rows'})"


def found_times(student, rows):
    try:
        got = student.call("where_the_time_went", lent_rows(rows))
    except Raised as error:
        error.sentence = f"{shown_rows(rows)} fails with {error.sentence}"
        raise
    if not isinstance(got, dict) or not {"parts", "left_out", "slowest"} <= set(got):
        kind = "nothing (None)" if got is None else a_kind(got)
        raise Wrong(
            "[times_are_no_dictionary] return a dictionary with `parts`, `left_out` and `slowest`; "
            f"you return {list(got) if isinstance(got, dict) else kind}."
        )
    parts = got["parts"]
    if not isinstance(parts, list | tuple) or len(parts) != len(rows):
        raise Wrong(
            f"{shown_rows(rows)}: [an_entry_for_each_row] `parts` must have an entry for each row, "
            "None for a row without a latency.",
            expected=f"{len(rows)} entries",
            got=parts,
        )
    return got


def judge_parts(student, tests):
    seen = [(told, rows, found_times(student, rows)) for told, rows in tests.items()]
    for told, rows, got in seen:
        for one, due, part in zip(rows, right_parts(rows), got["parts"], strict=True):
            if due == part:
                continue
            start = f"If {told}, row {one}:"
            if due is None:
                raise Wrong(
                    f"{start} [parts_of_no_latency] a time is missing, so this row has no latency: "
                    "its entry must be None.",
                    expected="None",
                    got=part,
                )
            if not isinstance(part, dict) or set(part) != set(NAMES):
                raise Wrong(
                    f"{start} [other_names_of_parts] the entry of this row must have the six names "
                    "of the exercise.",
                    expected=list(NAMES),
                    got=part,
                )
            name = next(name for name in NAMES if due[name] != part[name])
            pairs = [
                (each, given[name])
                for _, several, answer in seen
                for each, given in zip(several, answer["parts"], strict=True)
                if is_complete(*each) and isinstance(given, dict) and name in given
            ]
            said = why(pairs, lambda values: values[0], PART[name]) or (
                "[other_part] this part is wrong."
            )
            raise Wrong(f"{start} {name}: {said}", expected=due[name], got=part[name])


@pytest.mark.task("12.3", points=2)
def test_the_six_parts_are_differences_of_one_clock(student):
    judge_parts(student, TIMES)


@pytest.mark.task("12.3", points=0.5)
def test_a_row_without_a_latency_is_counted(student):
    for told, rows in TIMES.items():
        got, due = found_times(student, rows)["left_out"], right_parts(rows).count(None)
        if type(got) is not int or got != due:
            raise Wrong(
                f"If {told}, {shown_rows(rows)}: [left_out_is_other] `left_out` must count the "
                "rows whose entry is None.",
                expected=due,
                got=got,
            )


@pytest.mark.task("12.3", points=1)
def test_the_slowest_requests_have_their_own_reason(student):
    seen = [((rows,), found_times(student, rows)["slowest"]) for rows in TIMES.values()]
    for told, ((rows,), got) in zip(TIMES, seen, strict=True):
        due = SLOWEST[""](rows)
        if got != due:
            said = why(seen, lambda values: values[0], SLOWEST) or (
                "[other_slowest] your slowest part is wrong: add up each part over the slowest 1 "
                "%, and name the largest sum."
            )
            if due is None:
                said = (
                    "[slowest_of_nothing] you name a slowest part although every row is left out: "
                    "`slowest` must be None."
                )
            raise Wrong(f"If {told}, {shown_rows(rows)}: {said}", expected=str(due), got=got)


@pytest.mark.task("12.3", points=0.5)
def test_any_two_clocks(student, rng):
    for number in range(8):
        rows = some_time_rows(rng, rng.choice([1, 5, 100, 101, 250]), rng.randint(-(10**6), 10**12))
        got = found_times(student, rows)
        due = {
            "parts": right_parts(rows),
            "left_out": right_parts(rows).count(None),
            "slowest": SLOWEST[""](rows),
        }
        for name in due:
            if got[name] != due[name]:
                raise Wrong(
                    f"Random case {number + 1}, {shown_rows(rows)}: [other_in_random_rows] "
                    f"{name} is wrong.",
                    expected=due[name],
                    got=got[name],
                )


# 12.4 --------------------------------------------------------------------------------------------

WALKS = {  # what happens: calls. L: launched, E: ended, C: collected
    "a request ends while the next step has a row of it": [
        *(("L", 1, "AB"), ("L", 2, "AB"), ("C", 1), ("E", "A", [7, 4]), ("L", 3, "B")),
        *(("C", 2), ("C", 3), ("E", "B", [5])),
    ],
    "a request ends, and no step in flight contains it": [
        *(("L", 1, "A"), ("C", 1), ("E", "A", [3, 9]), ("E", "B", [2])),
        *(("L", 2, "C"), ("E", "D", [8]), ("C", 2), ("E", "C", [1])),
    ],
    "a request is in two steps in flight": [
        *(("L", 1, "AB"), ("L", 2, "AB"), ("E", "A", [1, 2]), ("C", 1), ("C", 2)),
        *(("L", 3, "B"), ("C", 3), ("E", "B", [6])),
    ],
    "a request is in the older of two steps": [
        *(("L", 1, "AB"), ("L", 2, "B"), ("E", "A", [1]), ("C", 1), ("L", 3, "B")),
        *(("E", "B", [2, 3]), ("C", 2), ("C", 3)),
    ],
    "three steps are in flight": [
        *(("L", 4, "ABC"), ("L", 6, "AB"), ("L", 9, "A"), ("E", "C", [1]), ("E", "A", [2])),
        *(("E", "B", [3]), ("C", 4), ("C", 6), ("C", 9)),
    ],
    "several end in one step": [
        *(("L", 1, "ABC"), ("E", "A", [1, 2]), ("E", "B", [3]), ("E", "C", []), ("C", 1)),
        *(("L", 2, "D"), ("C", 2), ("E", "D", [1])),
    ],
    "steps are empty, and step numbers are missing": [
        *(("L", 10, "A"), ("L", 20, ""), ("E", "A", [5]), ("L", 21, ""), ("C", 10)),
        *(("C", 20), ("C", 21), ("E", "B", [4]), ("L", 30, ""), ("E", "C", [9]), ("C", 30)),
    ],
    "a preempted request comes back with other blocks": [
        *(("L", 1, "AB"), ("E", "A", [1, 2]), ("L", 2, "AB"), ("C", 1), ("E", "A", [8, 9])),
        *(("C", 2), ("E", "B", [3])),
    ],
    "a request comes back and ends again before the first step is collected": [
        *(("L", 1, "A"), ("E", "A", [1]), ("L", 2, "A"), ("E", "A", [2]), ("L", 3, "A")),
        *(("C", 1), ("E", "A", [3]), ("C", 2), ("C", 3)),
    ],
    "a request comes back, and ends before it is in a step": [
        *(("L", 1, "A"), ("E", "A", [1]), ("E", "A", [2]), ("C", 1)),
    ],
}
METHODS = {"L": "launched", "E": "ended", "C": "collected"}


class Ledger:
    """The right releases, with what the grader tells of them: (step, request) by block."""

    def __init__(self):
        self.steps, self.held = {}, {}

    def call(self, kind, name, content=()):
        if kind == "L":
            self.steps[name] = set(content)
            return []
        if kind == "E":
            having = [step for step, requests in self.steps.items() if name in requests]
            for requests in self.steps.values():
                requests.discard(name)  # a later row of this name has other blocks
            self.held |= {block: (max(having), name) for block in content} if having else {}
            return [] if having else sorted(content)
        del self.steps[name]
        free = [block for block, (step, _) in self.held.items() if step == name]
        for block in free:
            del self.held[block]
        return sorted(free)


def shown_call(call):
    kind, *arguments = call
    if kind == "L":
        arguments = [arguments[0], list(arguments[1])]
    return f"{METHODS[kind]}({', '.join(map(repr, arguments))})"


def walked(student, told, calls):
    """The learner's object and the ledger, call after call."""
    packed = [(0, METHODS[kind], [first, *map(list, rest)]) for kind, first, *rest in calls]
    got = student.objects("Releases", packed)
    ledger, given_back = Ledger(), set()
    for number, (call, one) in enumerate(zip(calls, got, strict=False)):
        before = ", ".join(map(shown_call, calls[: number + 1]))
        start = f"If {told}, {before}:"
        if "raised" in one:
            error = reported_error(one["raised"], student.limits)
            error.sentence = f"{start} it fails with {error.sentence}"
            raise error
        held = dict(ledger.held)
        due = ledger.call(*call)
        gave = student.unpacked(one["gave"])
        if call[0] == "L":
            continue
        if not isinstance(gave, list | tuple) or not all(type(each) is int for each in gave):
            kind = "nothing (None)" if gave is None else a_kind(gave)
            raise Wrong(f"{start} [blocks_are_no_list] return a list of blocks; you return {kind}.")
        if sorted(gave) != due:
            said = what_goes_wrong(calls, number, held | ledger.held, due, list(gave), given_back)
            raise Wrong(f"{start} {said}", expected=due, got=list(gave))
        given_back |= set(due)
        given_back -= set(itertools.chain(*(c[2] for c in calls[number + 1 :] if c[0] == "E")))


def what_goes_wrong(calls, number, held, due, gave, given_back):
    kind, name = calls[number][:2]
    early = [block for block in gave if block in held and block not in due]
    if early:
        step, request = held[early[0]]
        later = [each for call in calls[number + 1 :] if call[0] == "L" for each in call[2]]
        other = next((each for each in later if each != request), "the next request")
        return (
            f"[freed_while_in_flight] step {step} is in flight with a row of {request}, and "
            f"still writes K and V into block {early[0]}. You free this block now. {other} gets "
            f"it, and step {step} then overwrites {other}'s K and V with those of {request}."
        )
    twice = [block for block in gave if gave.count(block) > 1 or block in given_back]
    if twice:
        return (
            f"[freed_twice] you return block {twice[0]} twice. Then two requests get this block, "
            "and each overwrites the other's K and V."
        )
    missing = [block for block in due if block not in gave]
    if missing and kind == "E":
        return (
            "[waits_for_nothing] "
            f"no step in flight has a row of {name}, so nothing writes into its blocks: free "
            f"block {missing[0]} at once."
        )
    if missing:
        return (
            f"[block_is_kept] the last step that wrote into block {missing[0]} was step {name}, "
            "which is now collected: free this block now. Other requests cannot use a block that "
            "is freed late or never."
        )
    return "[other_blocks] you return blocks that were not passed to you."


@pytest.mark.task("12.4", points=1)
def test_blocks_wait_for_the_step_in_flight(student):
    for told in list(WALKS)[:4]:
        walked(student, told, WALKS[told])


@pytest.mark.task("12.4", points=1)
def test_several_requests_and_several_steps(student):
    for told in list(WALKS)[4:7]:
        walked(student, told, WALKS[told])


@pytest.mark.task("12.4", points=1)
def test_a_request_id_may_come_back(student):
    for told in list(WALKS)[7:]:
        walked(student, told, WALKS[told])


@pytest.mark.task("12.4", points=1)
def test_any_engine_keeps_its_blocks_apart(student, rng):
    for number in range(20):
        walked(student, f"an engine runs, case {number + 1}", some_engine(rng))


def some_engine(rng):
    """Calls of an engine with few blocks, up to three steps in flight, and preemptions."""
    free, running, calls, steps, step = list(range(100, 130)), {}, [], [], rng.randint(0, 50)
    ledger = Ledger()
    for _ in range(rng.randint(10, 40)):
        name = rng.choice("ABCDE")
        what = rng.random()
        if what < 0.35 and len(steps) < 3:
            if name not in running and len(free) > 3:
                running[name] = [free.pop() for _ in range(rng.randint(0, 3))]
            step += rng.randint(1, 3)
            steps.append(step)
            calls.append(("L", step, "".join(rng.sample(sorted(running), len(running) * 2 // 3))))
        elif what < 0.7 and steps:
            calls.append(("C", steps.pop(0)))
        elif name in running:
            calls.append(("E", name, running.pop(name)))
        else:
            continue
        free = ledger.call(*calls[-1]) + free
    return calls + [("C", one) for one in steps]


NOW_YOURS = {
    "12.1": now_yours.stream_reader,
    "12.2": now_yours.hang_up,
    "12.3": now_yours.time_parts,
    "12.4": now_yours.releases,
}

"""An engine, a client and a server around one coroutine function: `answer` of exercise 12.2.

The scene decides when each piece of text comes, how long each send takes, when the client hangs up
and when the server shuts down. It answers what the worker's event loop asks (worker_async.py), and
keeps a log. All times are whole milliseconds.
"""

import math
from dataclasses import dataclass, field

from minibatch.course.judging.values import pack, unpack

NEVER = 10**9
MOST_MS = 10**6
GIVEN = [
    {"given": {"name": "tokens", "kind": "iterator"}},
    {"given": {"name": "send", "kind": "coroutine"}},
    {"given": {"name": "hung_up", "kind": "coroutine"}},
    {"given": {"name": "abort", "kind": "function"}},
]


@dataclass
class Line:
    """One request and its client.

    pieces: (when, text). end_ms: when the engine ends the request, with a failure (type, message)
    or without. send_ms: what one send takes. hangs_up_ms: when hung_up returns and sends fail;
    breaks_ms: when sends begin to fail, and nothing else tells of it. stuck: a send that is under
    way then waits for ever, and does not fail. cancel_ms: when the server cancels the task.
    error: what a failing send raises.
    """

    pieces: list[tuple[int, str]]
    end_ms: int
    stream: bool = True
    failure: tuple[str, str] | None = None
    send_ms: int = 0
    hangs_up_ms: int = NEVER
    breaks_ms: int = NEVER
    stuck: bool = False
    cancel_ms: int = NEVER
    error: str = "ConnectionResetError"

    # The log
    sends: list[tuple[int, str]] = field(default_factory=list)  # begun: when, text
    sent: list[str] = field(default_factory=list)  # without failing
    aborts: list[tuple[int, bool]] = field(default_factory=list)  # when; was the end given before
    failed_ms: int = NEVER  # the first send that failed
    told_end_ms: int = NEVER  # when the end of tokens, or its failure, was given
    num_read: int = 0
    was_cancelled: bool = False  # before it had ended
    done_ms: int = NEVER  # when the answer ended
    outcome: dict | None = None
    problem: str = ""

    def at(self, stream):
        """The same line, fresh, with or without streaming."""
        kept = {
            name: getattr(self, name)
            for name in (
                *("pieces", "end_ms", "failure", "send_ms", "hangs_up_ms", "breaks_ms", "stuck"),
                *("cancel_ms", "error"),
            )
        }
        return Line(**kept, stream=stream)

    @property
    def gone_ms(self):
        """When sends begin to fail."""
        return min(self.hangs_up_ms, self.breaks_ms)

    @property
    def must_abort_ms(self):
        """When this request has to be aborted; NEVER if it must not be."""
        when = min(self.hangs_up_ms, self.failed_ms, self.cancel_ms)
        return NEVER if self.told_end_ms <= when else when

    @property
    def due_sends(self):
        """The sends that must begin, before the client is gone or the task is cancelled."""
        coming, free = self.pieces, 0
        if not self.stream:
            whole = "".join(text for _, text in self.pieces)
            coming = [] if self.failure else [(self.end_ms, whole)]
        found = []
        for when, text in coming:
            begin = max(when, free)
            found.append((begin, text))
            free = begin + self.send_ms
        return [one for one in found if one[0] < self.stops_ms]

    @property
    def stops_ms(self):
        return min(self.gone_ms, self.cancel_ms)

    def __str__(self):
        pieces = ", ".join(f"{text!r} at {when}" for when, text in self.pieces) or "no pieces"
        said = f"tokens: {pieces}, "
        said += f"raises {self.failure[0]}" if self.failure else "ends"
        said += f" at {self.end_ms} ms"
        for when, what in (
            (self.send_ms or NEVER, "a send takes {} ms"),
            (self.hangs_up_ms, "the client hangs up at {} ms"),
            (self.breaks_ms, "sends fail from {} ms on"),
            (self.cancel_ms, "the task is cancelled at {} ms"),
        ):
            said += f"; {what.format(when)}" if when < NEVER else ""
        return f"stream={self.stream}; {said}"

    def fail(self, sentence):
        self.problem = self.problem or sentence
        raise ValueError(sentence)


class Scene:
    """One or several lines at once. Called with what the worker's event loop asks."""

    def __init__(self, lines):
        self.lines, self.time = lines, 0
        self.waiting = {}  # ticket: (line, name, when its result comes, text of a send)
        self.others = 0  # tasks that are left when all answers have ended
        self.stands_still = False
        self._tickets = 0

    def __call__(self, question):
        match question["asks"]:
            case "call":
                line = self.lines[question["call"]]
                name, args = question["name"], [unpack(value) for value in question["args"]]
                return getattr(self, name)(line, *args)
            case "withdraw":
                self.waiting.pop(question["ticket"], None)
            case "idle":
                return self.idle(question)

    def run(self, student):
        """Play the scene. Each line then has its log."""
        calls = [[*GIVEN, pack(line.stream)] for line in self.lines]
        student.run_async("answer", self, calls)
        return self

    # What `answer` is given ----------------------------------------------------------------------

    def tokens(self, line):
        if any(own is line and name == "tokens" for own, name, _, _ in self.waiting.values()):
            line.fail(
                "[reads_twice_at_once] two calls wait for the next piece of `tokens` at the same "
                "time"
            )
        return self._later(line, "tokens", self._next_ms(line))

    def send(self, line, *texts):
        if len(texts) != 1 or not isinstance(texts[0], str):
            line.fail(f"[sends_no_text] send{texts!r}: send takes one text")
        if any(own is line and name == "send" for own, name, _, _ in self.waiting.values()):
            line.fail(
                "[two_sends_at_once] a send begins before the last send has ended. Then the pieces "
                "may arrive in another order: await each send before the next"
            )
        line.sends.append((self.time, texts[0]))
        when = self.time + line.send_ms
        if self.time >= line.gone_ms:
            when = self.time
        elif when > line.gone_ms:
            when = NEVER if line.stuck else line.gone_ms
        return self._later(line, "send", when, texts[0])

    def hung_up(self, line):
        return self._later(line, "hung_up", line.hangs_up_ms)

    def abort(self, line, *args):
        if args:
            line.fail(f"[abort_takes_nothing] abort{args!r}: abort takes no arguments")
        line.aborts.append((self.time, line.told_end_ms <= self.time))
        return {"now": None}

    # Time ----------------------------------------------------------------------------------------

    def _next_ms(self, line):
        """When the next piece, or the end, can be read. After abort nothing comes any more."""
        if line.aborts:
            return NEVER
        coming = [*(when for when, _ in line.pieces), line.end_ms]
        return coming[min(line.num_read, len(line.pieces))]

    def _later(self, line, name, when, text=""):
        if when <= self.time:
            return self._result(line, name, text)
        self._tickets += 1
        self.waiting[self._tickets] = (line, name, when, text)
        return {"later": self._tickets}

    def _result(self, line, name, text):
        if name == "tokens":
            if line.num_read < len(line.pieces):
                line.num_read += 1
                return {"now": line.pieces[line.num_read - 1][1]}
            line.told_end_ms = min(line.told_end_ms, self.time)
            return {"raise": list(line.failure)} if line.failure else {"end": True}
        if name == "send":
            if self.time >= line.gone_ms:
                line.failed_ms = min(line.failed_ms, self.time)
                return {"raise": [line.error, "the client has disconnected"]}
            line.sent.append(text)
        return {"now": None}

    def idle(self, question):
        for line, outcome in zip(self.lines, question["outcomes"], strict=True):
            if outcome is not None and line.outcome is None:
                line.outcome, line.done_ms = outcome, self.time
        if all(line.outcome is not None for line in self.lines):
            self.others = question["others"]
            return None
        timer = question["timer_ms"]
        coming = [
            self._next_ms(line) if name == "tokens" else when
            for line, name, when, _ in self.waiting.values()
        ]
        coming += [
            line.cancel_ms for line in self.lines if line.cancel_ms > self.time and not line.outcome
        ]
        coming += [] if timer is None else [max(timer, self.time)]
        when = min(coming, default=NEVER)
        if when > MOST_MS:
            self.stands_still = True
            return None
        before, self.time = self.time, max(self.time, math.ceil(when - 1e-6))
        # the engine first: at the same moment, its end comes before a hang-up
        order = sorted(self.waiting.items(), key=lambda one: (one[1][1] == "hung_up", one[0]))
        results = []
        for ticket, (line, name, due, text) in order:
            if (self._next_ms(line) if name == "tokens" else due) <= self.time:
                del self.waiting[ticket]
                results.append([ticket, self._result(line, name, text)])
        cancel = [i for i, one in enumerate(self.lines) if before < one.cancel_ms <= self.time]
        for number in cancel:
            self.lines[number].was_cancelled |= self.lines[number].outcome is None
        return {"time_ms": self.time, "results": results, "cancel": cancel}

"""The whole engine on drawn traffic, interrupted at drawn places: `run_one(seed)`.

A seed decides everything: policy and its parts, pool, requests, and what happens to the engine in
which order (add, fork, abort, step, reset, and exceptions in the midst of these). The model is
`token_store`, which finds K and V of the wrong token. What has to hold besides:

- nothing but the exceptions that are raised here on purpose comes out of the engine;
- `check_invariants` passes after every act;
- at the end each request that was taken in has come back exactly once, with exactly its tokens, or
  with a reason that it can have; every block is free; the engine has no work.

    python tests/support/engine_fuzz.py SEED             one run, and what was drawn
    python tests/support/engine_fuzz.py SEED --number N  as many, from this seed on

Only what the engine shows to its users is used, so a change of its inside changes nothing here.
What is drawn may change with the engine's answers: a failure is told with the list of actions.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections import Counter
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path

from late_rows import LateRowsModel
from token_store import MAX_MODEL_LEN, VOCAB_SIZE, TokenStoreModel, expected, mostly_right

import minibatch as mb
from minibatch.core.completion import Completion
from minibatch.schedulers import admission, chunks, orders, victims

PACKAGE = Path(mb.__file__).parent
ROOMS = ("core", "engine", "memory", "schedulers", "speculation")
TRACED = {str(path) for room in ROOMS for path in (PACKAGE / room).rglob("*.py")}
# An exception in here interrupts the mending after another one. The engine then mends before its
# next act, and its books need not add up sooner.
MENDING = {str(PACKAGE / "engine" / name) for name in ("guard.py", "recovery.py")}
# They set attributes, on lines that call nothing. Python looks for a signal only where a call
# begins or ends and where a loop goes back, so nothing real comes between these lines. Real
# signals: tests/engine/test_recovery.py.
GUARD = str(PACKAGE / "engine" / "guard.py")
NEVER_CUT = {(GUARD, "run"), (GUARD, "recover_if_needed")}

ORDERS = {
    "FirstCome()": orders.FirstCome,
    "Priority()": orders.Priority,
    "Priority(aging=0.1)": lambda: orders.Priority(aging=0.1),
    "ShortestPrompt()": orders.ShortestPrompt,
    "LongestCachedPrefix()": orders.LongestCachedPrefix,
    "FairShare()": orders.FairShare,
}
ADMISSIONS = {
    "ReserveMaximum()": admission.ReserveMaximum,
    "PromptOnly()": admission.PromptOnly,
    "Watermark(0.2)": lambda: admission.Watermark(0.2),
    "Optimistic(num_steps=20, ahead=2)": lambda: admission.Optimistic(num_steps=20, ahead=2),
}
VICTIMS = {
    "newest": lambda: victims.newest,
    "oldest": lambda: victims.oldest,
    "least_computed": lambda: victims.least_computed,
    "fewest_output_tokens": lambda: victims.fewest_output_tokens,
    "most_computed": lambda: victims.most_computed,
    "lowest_priority": lambda: victims.lowest_priority,
    "Random()": victims.Random,
}
CHUNKS = {
    "first_come_first_served": chunks.first_come_first_served,
    "equal_progress": chunks.equal_progress,
}
POLICIES = (
    "Sequential",
    "Static",
    "Dynamic",
    "Continuous",
    "Continuous in chunks",
    "PrefillFirst",
    *("Budget",) * 4,
)
SPECULATION = {
    "nobody": lambda: None,
    "PromptLookup()": mb.PromptLookup,
    "PromptLookup(2, longest=1)": lambda: mb.PromptLookup(2, longest=1),
    "right three times in four": lambda: mostly_right,
}
BLOCK_SIZES = (1, 2, 3, 4, 7, 16, MAX_MODEL_LEN)
PARTS = {  # of a step: who does it, and by which method
    "plan": ("scheduler", "plan"),
    "draft": ("drafting", "add_to"),
    "run": ("runner", "run"),
    "a row of run": ("runner", "before_row"),
    "tick": ("clock", "tick"),
    "update": ("scheduler", "update"),
    "record": ("trace", "record"),
}


class Interruption(KeyboardInterrupt):
    """The stop button, pressed by a run."""


class Breakdown(RuntimeError):
    """Something that failed, because a run wanted it to."""


RAISED = (Interruption, Breakdown)


class Fault:
    """One exception that is to come in the midst of an act; `with fault:` around the act.

    where: "line" (before the nth line of the package's rooms that is executed), or one of PARTS,
    "before" or "after" it. again: after such a part has failed, raise once more, before the nth
    line that is executed then: in the mending. cut_the_mending: whether mending was interrupted.
    """

    def __init__(self, rng: random.Random, engine: mb.Engine, in_step: bool) -> None:
        self.engine, self.error = engine, rng.choice(RAISED)
        self.where = rng.choice(("line", *PARTS)) if in_step else "line"
        self.when = rng.choice(("before", "after"))
        self.index = rng.choice((0, 0, 1, 2))  # which row, of "a row of run"
        self.again = self.where != "line" and rng.random() < 0.2
        self.nth = int(2 ** rng.uniform(0, 9.5 if in_step and not self.again else 6.5))
        self.place = ""
        self.cut_the_mending = False
        self._target: object = None
        self._before = None

    def __str__(self) -> str:
        where = f"line {self.nth}" if self.where == "line" else f"{self.when} {self.where}"
        more = f", then line {self.nth}" if self.again else ""
        came = f" [came at {self.place}]" if self.place else " [never came]"
        return f"{self.error.__name__} {where}{more}{came}"

    def __enter__(self) -> Fault:
        self._before = sys.gettrace()
        if self.where == "line":
            sys.settrace(self._enter_frame)
            return self
        owner, name = PARTS[self.where]
        self._target = getattr(self.engine, owner, None)
        method = getattr(self._target, name, None)
        if method is not None:
            setattr(self._target, name, self._broken(method))
        return self

    def __exit__(self, *_: object) -> None:
        sys.settrace(self._before)
        self._repair()

    def _broken(self, method: Callable) -> Callable:
        def broken(*arguments, **keywords):
            if self.where == "a row of run" and arguments[0] != self.index:
                return None
            if self.when == "after":
                method(*arguments, **keywords)
            self.place = f"{self.when} {self.where}"
            self._repair()
            if self.again:
                sys.settrace(self._enter_frame)
            raise self.error(self.place)

        return broken

    def _repair(self) -> None:
        """The method of the class is found again."""
        if self._target is not None:
            vars(self._target).pop(PARTS[self.where][1], None)

    def _enter_frame(self, frame, event, _):
        code = frame.f_code
        if code.co_filename not in TRACED or (code.co_filename, code.co_name) in NEVER_CUT:
            return None
        return self._in_frame

    def _in_frame(self, frame, event, _):
        if event == "line":
            self.nth -= 1
            if self.nth <= 0:
                path = Path(frame.f_code.co_filename)
                self.place += f" {path.parent.name}/{path.name}:{frame.f_lineno}"
                self.cut_the_mending = is_mending(frame)
                sys.settrace(None)
                raise self.error(self.place)
        return self._in_frame


def is_mending(frame) -> bool:
    while frame is not None:
        if frame.f_code.co_filename in MENDING:
            return True
        frame = frame.f_back
    return False


class Books:
    """What a user of the engine knows: which requests it took in, and how each may end."""

    def __init__(self) -> None:
        self.taken: Counter[str] = Counter()  # by id; a fork's id may be used again
        self.aborted: Counter[str] = Counter()
        self.perhaps_aborted: Counter[str] = Counter()  # the call was interrupted
        self.perhaps_forked: dict[str, list[int]] = {}  # by parent, how many in each such call

    def live(self, completions: list[Completion]) -> list[str]:
        ended = Counter(c.request_id for c in completions)
        return [name for name, times in self.taken.items() if times > ended[name]]

    def check(self, completions: list[Completion], requests: dict[str, mb.Request], limited: bool):
        """Everybody came back, once, and rightly."""
        for completion in completions:
            request = requests[completion.request_id.partition("/")[0]]
            check_completion(completion, request, limited)
        ended = Counter(c.request_id for c in completions)
        for name, times in self.taken.items():
            assert ended[name] >= times, f"{name!r} was taken in {times}x, ended {ended[name]}x"
        more = Counter()  # by parent, forks that nobody knew of
        for name, times in (ended - self.taken).items():
            parent, slash, _ = name.rpartition("/")
            assert slash, f"{name!r} was taken in {self.taken[name]}x, ended {ended[name]}x"
            more[parent] += times
        for parent, number in more.items():
            sums = {0}
            for n in self.perhaps_forked.get(parent, ()):
                sums |= {total + n for total in sums}
            assert number in sums, f"{number} more ended than were taken in, forks of {parent!r}"
        aborts = Counter(c.request_id for c in completions if c.finish_reason == "abort")
        for name in aborts | self.aborted:
            least, most = self.aborted[name], self.aborted[name] + self.perhaps_aborted[name]
            assert least <= aborts[name] <= most, f"{name!r} was aborted {aborts[name]}x"


def check_completion(completion: Completion, request: mb.Request, limited: bool) -> None:
    """Its tokens are right, and it ended for a reason that it can have."""
    name, reason, right = completion.request_id, completion.finish_reason, expected(request)
    assert completion.prompt_token_ids == list(request.prompt), f"{name!r}: another prompt"
    assert len(completion.token_times) == len(completion.token_ids), f"{name!r}: times are lost"
    assert completion.token_times == sorted(completion.token_times), f"{name!r}: times fall"
    if completion.was_served:
        assert completion.token_ids == right, f"{name!r}: {completion.token_ids}, not {right}"
        whole = len(right) == request.max_tokens
        assert whole or reason == "stop", f"{name!r} ended by {reason!r}, at {len(right)} tokens"
    else:
        so_far = right[: len(completion.token_ids)]
        assert completion.token_ids == so_far, f"{name!r}: {completion.token_ids}, not {so_far}"
    if reason in ("deadline", "refused"):
        possible = request.deadline is not None if reason == "deadline" else limited
        assert possible, f"{name!r} ended by {reason!r}, which it cannot"
        assert completion.first_scheduled_time is None, f"{name!r}: {reason!r}, though it ran"
    if request.deadline is not None and completion.first_scheduled_time is not None:
        waited = completion.first_scheduled_time - completion.arrival_time
        assert waited <= request.deadline + 1e-9, f"{name!r} began {waited:.3f} s after it came"


class Run:
    """One drawn run. drawn: a line for each choice; actions: what was done, in order."""

    def __init__(self, seed: int, forks: bool, faults: bool, overlap: bool) -> None:
        self.rng = rng = random.Random(seed)
        self.drawn: dict[str, object] = {}
        self.actions: list[str] = []
        self.seen: Counter[str] = Counter()
        self.is_torn = False  # until the engine's next act; see MENDING
        self.requests = {request.request_id: request for request in self.draw_requests()}
        scheduler = self.draw_policy()
        block_size, num_blocks = self.draw_pool()
        speculation = self.draw("speculation", SPECULATION)
        late = random.Random(seed).choice((0.0, 0.5, 1.0))
        self.engine = mb.Engine(
            LateRowsModel(seed, late) if overlap else TokenStoreModel(),
            scheduler,
            num_blocks=num_blocks,
            block_size=block_size,
            prefix_caching=self.draw("prefix caching", (False, True)),
            speculation=None if overlap else speculation(),
            overlap=overlap,
            clock=mb.VirtualClock(0.025),
            trace=mb.Trace(keep=self.draw("trace keeps", (None, 10**6))),  # two kinds of shelf
        )
        self.rates = {
            "fault": self.draw("fault rate", (0, 0.03, 0.1, 0.3)) if faults else 0,
            "fork": self.draw("fork rate", (0, 0.1, 0.3, 0.6)) if forks else 0,
            "abort": self.draw("abort rate", (0, 0, 0.05, 0.2)),
        }
        self.left = {"fault": 8, "fork": 5, "abort": 4}
        self.resets = self.draw("reset after actions", (None,) * 5 + (rng.randrange(1, 30),))
        self.served_again = self.draw("served again", (None,) * 3 + ("as it is", "after reset"))
        total = sum(len(r.prompt) + r.max_tokens for r in self.requests.values())
        self.most_actions = 200 + 40 * total
        self.begin()

    def __str__(self) -> str:
        return "\n".join(
            [
                *(f"  {name}: {what}" for name, what in self.drawn.items()),
                *(f"  request {request_line(r)}" for r in self.requests.values()),
                "  actions:",
                *(f"    {i} {action}" for i, action in enumerate(self.actions)),
            ]
        )

    # What is drawn -------------------------------------------------------------------------------

    def draw(self, name: str, values):
        """One of these; of a dict, the value of a key that is noted."""
        self.drawn[name] = key = self.rng.choice(list(values))
        return values[key] if isinstance(values, dict) else key

    def draw_requests(self) -> list[mb.Request]:
        rng = self.rng
        trunks = [[rng.randrange(VOCAB_SIZE) for _ in range(50)] for _ in range(rng.choice((1, 3)))]
        lengths = rng.choice(((1, 2, 5), (1, 2, 5), (1, 4, 8, 9, 14), (3, 8, 16, 25), (50, 44, 5)))
        salts = rng.choice(((None,), (None,), (None, "his"), ("hers", "his")))
        deadlines = rng.choice(((None,), (None,), (None, None, 0.0, 0.2, 1.0)))
        answers = rng.choice(((1, 2, 5, 8, 14), (1, 14), (8, 13, 14)))
        requests = []
        for i in range(rng.choice((1, 2, 2, 3, 4, 5, 6, 7, 8, 10, 12))):
            length = rng.choice(lengths)
            common = rng.choice((0, length, length, length // 2))
            tail = [rng.randrange(VOCAB_SIZE) for _ in range(length - common)]
            request = mb.Request(
                rng.choice(trunks)[:common] + tail,
                max_tokens=rng.choice(answers),
                arrival_time=rng.choice((None, None, 0.0, 0.1, 0.3, 0.6)),
                priority=rng.randint(0, 3),
                client=rng.choice("xyz"),
                deadline=rng.choice(deadlines),
                cache_salt=rng.choice(salts),
                ignore_eos=rng.random() < 0.7,
                stop_token_ids=rng.choice(((), (), (), (), (), (3,))),
                request_id=f"r{i}",
            )
            requests.append(request)
        return requests

    def draw_policy(self) -> mb.Scheduler:
        rng = self.rng
        name, size = self.draw("policy", POLICIES), self.draw("slots", (1, 2, 3, 4, 5, 8))
        if name in ("Continuous in chunks", "Budget"):
            tokens = size + self.draw("more tokens than slots", (0, 1, 3, 8, 30))
        if name == "Sequential":
            scheduler = mb.Sequential()
        elif name == "Static":
            scheduler = mb.Static(size)
        elif name == "Dynamic":
            scheduler = mb.Dynamic(size, self.draw("max_wait", (0.0, 0.05, 0.4)))
        elif name == "Continuous":
            scheduler = mb.Continuous(size)
        elif name == "Continuous in chunks":
            scheduler = mb.Continuous(size, tokens)
        elif name == "PrefillFirst":
            scheduler = mb.PrefillFirst(size)
        else:
            scheduler = mb.Budget(
                size,
                tokens,
                chunks=self.draw("chunks", CHUNKS),
                order=self.draw("order", ORDERS)(),
                admission=self.draw("admission", ADMISSIONS)(),
                victim=self.draw("victim", VICTIMS)(),
            )
        if rng.random() < 0.2:
            most = self.draw("max_waiting", (None, 0, 2)), self.draw("max_waiting_tokens", (9, 40))
            scheduler.limits = mb.QueueLimits(*most)
        return scheduler

    def draw_pool(self) -> tuple[int, int]:
        block_size = self.draw("block size", BLOCK_SIZES)
        longest = max(len(r.prompt) + r.max_tokens - 1 for r in self.requests.values())
        least = -(-longest // block_size)
        more = self.draw("more blocks than the largest request needs", (0, 0, 0, 1, 2, 5, 20))
        self.drawn["num_blocks"] = least + more
        return block_size, least + more

    # What happens --------------------------------------------------------------------------------

    def begin(self) -> None:
        self.books = Books()
        self.to_add = list(self.requests.values())
        self.most_at_once = self.draw("added before the first step", (0, 4, 12, 12))

    def play(self) -> None:
        engine = self.engine
        while len(self.books.taken) < self.most_at_once and self.to_add:
            self.add(self.to_add.pop(0))
        while self.to_add or engine.has_work:
            assert len(self.actions) < self.most_actions, f"no end after {self.most_actions} acts"
            if self.resets is not None and len(self.actions) >= self.resets:
                self.resets = None
                self.reset()
                self.begin()
            else:
                self.one_act()
        self.check_rest()
        self.books.check(engine.trace.completions, self.requests, self.is_limited)
        self.note()
        if self.served_again:
            self.serve_again()

    def note(self) -> None:
        """Count what has come about, for a test that nothing is drawn in vain."""
        trace, seen = self.engine.trace, self.seen
        seen.update(completion.finish_reason for completion in trace.completions)
        seen["preemption"] += trace.summary()["num_preemptions"]
        for step in trace.steps:
            seen["wasted row"] += sum(row.kind == "wasted" for row in step.rows)
            seen["accepted guess"] += sum(row.num_accepted for row in step.rows)
            seen["rejected draft"] += sum(row.num_rejected for row in step.rows)
            seen["padding"] += sum(row.num_padding_tokens for row in step.rows)
            lookups = step.sharing.lookups if step.sharing else ()
            seen["cached tokens"] += sum(lookup.num_hits for lookup in lookups)

    def one_act(self) -> None:
        live = self.books.live(self.engine.trace.completions)
        if self.to_add and (not self.engine.has_work or self.rng.random() < 0.3):
            self.add(self.to_add.pop(0))
        elif live and self.happens("fork"):
            parent = self.rng.choice((live[-1], self.rng.choice(live)))
            self.fork(parent, self.rng.choice((1, 1, 2, 3)))
        elif live and self.happens("abort"):
            self.abort(self.rng.choice(live))
        else:
            self.step()

    def happens(self, what: str) -> bool:
        if not self.left[what] or self.rng.random() >= self.rates[what]:
            return False
        self.left[what] -= 1
        return True

    def act(self, what: str, call: Callable, in_step: bool = False):
        """Do it, perhaps with a fault in its midst. Returns its answer, and whether it came."""
        fault = Fault(self.rng, self.engine, in_step) if self.happens("fault") else None
        was_torn, came, as_it_should = self.is_torn, False, True
        self.actions.append(what)
        self.seen[what.split()[0].partition("(")[0]] += 1
        try:
            with fault or nullcontext():
                result = call()
            came = True
            self.actions[-1] += f" -> {shown(result)}"
            return result, True
        except RAISED:
            return None, False
        except Exception as error:
            self.actions[-1] += f" -> {type(error).__name__}"
            as_it_should = isinstance(error, mb.QueueFull)
            raise
        finally:
            if fault is not None:
                self.actions[-1] += f"; {fault}"
                self.seen[f"{fault.when} {fault.where}"] += bool(fault.place)
            was_cut = fault is not None and fault.cut_the_mending
            self.is_torn = was_cut or (was_torn and not came)  # it may have failed before mending
            if as_it_should and not self.is_torn:
                self.engine.check_invariants()

    def add(self, request: mb.Request) -> None:
        """A user whose call was interrupted tries again."""
        name, came = request.request_id, False
        try:
            while not came:
                _, came = self.act(f"add {name}", lambda: self.engine.add(request))
        except mb.QueueFull:
            assert self.is_limited, "a queue without a limit is full"
            return
        except ValueError as error:
            if "is already live" not in str(error):
                raise
        self.books.taken[name] += 1

    def fork(self, parent: str, n: int) -> None:
        was_torn = self.is_torn
        try:
            names, came = self.act(f"fork {parent} {n}", lambda: self.engine.fork(parent, n))
        except mb.QueueFull:
            assert self.is_limited, "a queue without a limit is full"
            return
        except ValueError as error:
            self.has_ended(parent, was_torn, error)
            return
        if came:
            assert len(names) == n, f"{n} forks asked of {parent!r}, got {names}"
            self.books.taken.update(names)
        else:
            self.books.perhaps_forked.setdefault(parent, []).append(n)

    def abort(self, name: str) -> None:
        """A request that has all its tokens, but no completion yet, cannot be aborted any more."""
        was_torn = self.is_torn
        try:
            _, came = self.act(f"abort {name}", lambda: self.engine.abort(name))
        except ValueError as error:
            self.has_ended(name, was_torn, error)
            return
        (self.books.aborted if came and not was_torn else self.books.perhaps_aborted)[name] += 1

    def has_ended(self, name: str, was_torn: bool, error: ValueError) -> None:
        """The engine recovers before the call, and finds that the request had all its tokens."""
        ended = name in (c.request_id for c in self.engine.trace.completions)
        if not (was_torn and ended and "no live request" in str(error)):
            raise error

    def step(self) -> None:
        engine, torn_before = self.engine, self.is_torn
        wait = self.rng.random() < 0.8
        try:
            record, came = self.act(f"step(wait={wait})", lambda: engine.step(wait), in_step=True)
        except RuntimeError as error:
            # All who were left had ended in an act that was cut off, mending included; the engine
            # has found that out by now.
            if "nothing to do" in str(error) and torn_before and not engine.has_work:
                return
            raise
        if came and record is None and engine.has_work:
            now, event_time = engine.clock.now(), engine.next_event_time
            assert not wait, "step has waited, and gives no record although there is work"
            assert event_time is not None, "there is work, and no time to ask again"
            assert event_time > now, f"nothing to compute at {now}; asked again at {event_time}"
            engine.clock.sleep(event_time - now)

    def reset(self) -> None:
        """One that was interrupted is done again."""
        engine = self.engine
        _, came = self.act("reset", engine.reset)
        if not came:
            engine.reset()
            self.is_torn = False
            engine.check_invariants()
        assert engine.clock.now() == 0.0, "the clock goes on after a reset"
        assert not engine.trace.completions, "completions are left after a reset"
        self.check_rest()

    def serve_again(self) -> None:
        """All of them by one `run`, whatever went before; answers come in the order given."""
        engine = self.engine
        if self.served_again == "after reset":
            self.reset()
        self.actions.append("run all")
        completions = engine.run(self.requests.values())
        names = [completion.request_id for completion in completions]
        assert names == list(self.requests), f"run answers {names}"
        for completion in completions:
            assert completion.finish_reason != "abort", "aborted by nobody"
            check_completion(completion, self.requests[completion.request_id], self.is_limited)
        engine.check_invariants()
        self.check_rest()

    def check_rest(self) -> None:
        """Nobody is here, and nothing is held."""
        engine = self.engine
        pool, scheduler = engine.pool, engine.scheduler
        assert not engine.has_work, "the engine has work, and nobody is left"
        assert engine.next_event_time is None, "an event is to come, and nobody is left"
        assert not scheduler.waiting, f"{len(scheduler.waiting)} wait, and nobody is left"
        assert not scheduler.running, f"{len(scheduler.running)} run, and nobody is left"
        assert pool.num_free == pool.num_blocks, (
            f"{pool.num_free} of {pool.num_blocks} blocks are free, and nobody is left"
        )

    @property
    def is_limited(self) -> bool:
        return self.engine.scheduler.limits is not None


def request_line(request: mb.Request) -> str:
    """What of it is not as it always is."""
    parts = [f"{request.request_id}: {request.prompt} + {request.max_tokens}"]
    for name in ("arrival_time", "deadline", "cache_salt", "priority", "client"):
        value = getattr(request, name)
        if value not in (None, 0):
            parts.append(f"{name}={value}")
    ends = [*request.stop_token_ids, *([] if request.ignore_eos else ["end token"])]
    return ", ".join([*parts, f"stops at {ends}"])


def shown(result: object) -> object:
    """A step's record as its rows, each with the number of tokens computed."""
    rows = getattr(result, "rows", None)
    return result if rows is None else " ".join(f"{r.request_id}:{r.num_tokens}" for r in rows)


def run_one(
    seed: int, forks: bool = True, faults: bool = True, overlap: bool = False
) -> Counter[str]:
    """Draw a run and play it; returns how often each thing has come about in it. Raises
    AssertionError, with the seed and all that was drawn, if something is wrong. overlap: the same
    run with overlapped steps, whose rows are executed as late as it may be (late_rows.py)."""
    run = Run(seed, forks, faults, overlap)
    try:
        run.play()
    except Exception as error:
        command = f"python tests/support/engine_fuzz.py {seed}" + " --no-forks" * (not forks)
        command += " --overlap" * overlap
        raise AssertionError(
            f"{command}{' --no-faults' * (not faults)}\n  {type(error).__name__}: {error}\n{run}"
        ) from error
    return run.seen


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=run_one.__doc__)
    parser.add_argument("seed", type=int)
    parser.add_argument("--number", type=int, metavar="N", default=1, help="runs, from SEED on")
    parser.add_argument("--no-forks", action="store_true")
    parser.add_argument("--no-faults", action="store_true", help="nothing is interrupted")
    parser.add_argument("--overlap", action="store_true", help="steps overlap")
    options = parser.parse_args(arguments)
    begin, seen, num_failed = time.process_time(), Counter(), 0
    for seed in range(options.seed, options.seed + options.number):
        try:
            seen += run_one(seed, not options.no_forks, not options.no_faults, options.overlap)
        except AssertionError as error:
            num_failed += 1
            whole = options.number == 1
            print(error if whole else f"seed {seed}: {str(error).splitlines()[1].strip()}")
    seconds = time.process_time() - begin
    print(", ".join(f"{name} {times}" for name, times in sorted(seen.items())))
    print(f"{options.number} runs, {seconds:.1f} s: {num_failed} failed")
    return int(num_failed > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

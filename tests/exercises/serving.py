"""What the graders of policies share: a made-up model with secret lengths, and one way to serve."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import minibatch as mb
from minibatch.course.judging.drawing import Drawing, difference
from minibatch.course.judging.noted_passes import noted_passes
from minibatch.course.judging.remote_scheduler import RemoteScheduler
from minibatch.course.judging.reported_state import MirrorPool
from minibatch.course.judging.verdict import Wrong
from minibatch.course.judging.worker_errors import Raised

END = 1
WORDS = (5, 3, 7, 4, 6, 2)  # and 0, in second place, which is a token like any other
MOST_STEPS = 400
MAX_TOKENS = 20  # what every request allows; the real lengths are the model's secret


@dataclass(frozen=True)
class Ask:
    """One request of a grader: how long its prompt is, how long its answer will turn out to be."""

    name: str
    prompt: int | list[int]
    answer: int
    arrival: float = 0.0


def asks(*triples: tuple) -> list[Ask]:
    return [Ask(*triple) for triple in triples]


class SecretLengths(mb.PretendModel):
    """A pretend model whose answers end by themselves, at lengths that no policy can look up.

    at_once: tokens that a row brings, as it does where guesses were verified; those past the end of
    an answer are words like any other.
    """

    eos_token_ids = frozenset({END})
    vocab_size = 8

    def __init__(self, requests: list[Ask], at_once: int = 1) -> None:
        self.lengths = {ask.name: ask.answer for ask in requests}
        self.at_once = at_once

    def runner(self, pool: object, attention: object) -> SecretLengths:
        return self

    def run(self, plan: mb.StepPlan) -> list[list[int]]:
        return [self.new_tokens(row.sequence) if row.reaches_end else [] for row in plan.rows]

    def new_tokens(self, sequence: mb.Sequence) -> list[int]:
        number = sequence.num_output_tokens
        name, numbers = sequence.request_id, range(number, number + self.at_once)
        return [WORDS[0] if n >= self.lengths[name] else self.token(name, n) for n in numbers]

    def token(self, name: str, number: int) -> int:
        last = number + 1 >= self.lengths[name]
        if last or number == 1:
            return END if last else 0
        return WORDS[(number + ord(name[0]) - ord("A")) % len(WORDS)]


def serve(
    scheduler: mb.Scheduler,
    requests: list[Ask],
    *,
    num_blocks: int = 64,
    block_size: int = 4,
    max_tokens: int = MAX_TOKENS,
    steps: int | None = None,
    model: object | None = None,
    exactly: bool = False,
    at_once: int = 1,
) -> mb.Engine:
    """Run a policy, the learner's or one of ours; each step takes one second.

    steps: no more than so many; None is to the end. model: one that really computes. exactly: no
    sequence may hold more blocks than it can ever need. at_once: tokens that a row brings.
    """
    engine = mb.Engine(
        model or SecretLengths(requests, at_once),
        scheduler,
        pool=MirrorPool(num_blocks, block_size),
        clock=mb.VirtualClock(step_time=1.0),
        trace=mb.Trace(names=True),
    )
    for ask in requests:
        prompt = ask.prompt if isinstance(ask.prompt, list) else [WORDS[0]] * ask.prompt
        request = mb.Request(
            prompt,
            max_tokens=max_tokens if model is None else ask.answer,
            request_id=ask.name,
            arrival_time=ask.arrival,
            ignore_eos=model is not None,
        )
        engine.add(request)
    if exactly:
        engine.on_step(_fits_exactly(scheduler))
    go_on(engine, steps)
    return engine


def go_on(engine: mb.Engine, steps: int | None = None) -> None:
    """Step after step, to the end, or until so many have been done.

    What the engine refuses (a plan that would be computed wrongly) is the learner's to hear.
    """
    scheduler = engine.scheduler
    while engine.has_work and len(engine.trace.steps) != steps:
        number = len(engine.trace.steps) + 1
        if number > MOST_STEPS:
            raise Wrong(
                f"[no_end] After {MOST_STEPS} steps the run has not ended; still running: "
                f"{_names(scheduler.running)}."
            )
        try:
            engine.step()
        except (ValueError, RuntimeError) as error:
            if isinstance(scheduler, RemoteScheduler):
                scheduler.restore_answer()
            said = why_refused(scheduler, error, engine.clock.now())
            raise Wrong(f"In step {number}: {said}") from None
        except Raised as error:
            error.sentence = in_a_policy(scheduler, error.sentence)
            raise


WAKE_AT_IS_ROUNDED = "[wake_at_is_rounded] Your wake_at is rounded, so it is too early or too late:"
OF_A_SEQUENCE = (
    "[arrival_of_a_sequence] A sequence is not a time: use sequence.arrival_time, its arrival on "
    "the engine's clock."
)
MEANS = {  # what Python says, and what that means in a policy
    "IndexError: deque index": "[asks_an_empty_queue] "
    "The queue is empty there: check `self.waiting` before each self.waiting[0]. (self.admit "
    "itself removes the head of the queue.)",
    "deque mutated during iteration": "[loops_over_a_changing_queue] "
    "self.admit removes a sequence from self.waiting while your `for` loop walks through it. A "
    "`while` loop checks the queue again each time.",
    "'int' object is not subscriptable": (
        "[advance_with_other_arguments] Call sequence.advance(num_tokens, new_tokens, now): "
        "num_tokens is how many tokens the row has computed, and new_tokens is a list, which may "
        "be empty."
    ),
    "IndexError: list index": "[partial_row_has_no_token] "
    "A row that has not reached its sequence's end has an empty list of new tokens.",
    "'int' object is not iterable": "[frees_no_list] "
    "self.pool.free takes a list of blocks, such as a block_table.",
    "'bool' object is not callable": (
        "[calls_a_property] is_finished is a property: write no parentheses after it."
    ),
    "no attribute 'can_admit'": "[borrows_can_admit] "
    "can_admit, which the player shows, is a method of Continuous. Your class inherits from "
    "mb.Scheduler: write its conditions yourself (a request waits, a slot is free, and "
    "self.can_grow).",
    "RecursionError": "[plan_calls_itself] "
    "self.plan calls itself without end: call super().plan(now), the plan of the parent class.",
    "'NoneType' and 'float'": (
        "[arrival_of_the_request] Use sequence.arrival_time, a time on the engine's clock. "
        "request.arrival_time may be None."
    ),
    "'Sequence' and 'float'": OF_A_SEQUENCE,
    "'float' and 'Sequence'": OF_A_SEQUENCE,
}


def in_a_policy(scheduler: mb.Scheduler, sentence: str) -> str:
    """What Python says of a policy, and what that means there."""
    if not scheduler.waiting and not scheduler.running:
        return (
            "[fails_with_nobody_there] The engine also calls `plan` when no sequence waits or "
            f"runs, and then your policy fails: {sentence}. Return a plan without rows then, "
            "mb.StepPlan()."
        )
    meaning = [means for said, means in MEANS.items() if said in sentence]
    return f"{sentence}. {meaning[0]}" if meaning else sentence


def serves_in_an_engine(
    remote: mb.Scheduler, ours: mb.Scheduler, requests: list[Ask], num_blocks: int = 64
) -> None:
    """The learner's policy in an engine of its own, in the worker."""
    told = {
        "policy": remote.name,
        "borrowed": remote.borrowed,
        "arguments": remote.options,
        "num_blocks": num_blocks,
        "block_size": 4,
    }
    asked = [[ask.name, ask.prompt, ask.answer, ask.arrival] for ask in requests]
    try:
        got = remote.student.unpacked(
            remote.student.ask("records", attribute="finished", requests=asked, options=told)
        )
    except Raised as error:
        error.sentence = (
            f"[fails_in_its_own_engine] In a complete mb.Engine your policy fails: {error.sentence}"
        )
        raise
    engine = mb.Engine(
        mb.PretendModel(),
        ours,
        num_blocks=num_blocks,
        block_size=4,
        clock=mb.VirtualClock(step_time=1),
    )
    engine.run(
        mb.Request([0] * prompt, max_tokens=answer, request_id=name, arrival_time=arrival)
        for name, prompt, answer, arrival in asked
    )
    ends = [set(step.finished) for step in engine.trace.steps]
    theirs = [set(names) for names in got] if isinstance(got, list) else got
    if theirs != ends:
        raise Wrong(
            "[ends_differ_in_its_own_engine] In a complete mb.Engine, your policy makes requests "
            "end in the wrong steps.",
            expected=[sorted(names) for names in ends],
            got=[sorted(names) for names in theirs] if isinstance(got, list) else got,
        )


def computes_what_is_left(
    remote: mb.Scheduler,
    ours: mb.Scheduler,
    requests: list[Ask],
    said: str,
    *,
    others: str = "",
    is_padded: bool = False,
    num_blocks: int = 64,
    **options: object,
) -> None:
    """The learner's policy in an engine of its own: each row computes what is left of its request.

    said: what to say of a row with another number; others: of a pass with other requests.
    is_padded: whether rows are to be equally long. options: prefix_caching, and which passes fail.
    """
    told = {
        "policy": remote.name,
        "borrowed": remote.borrowed,
        "arguments": remote.options,
        "num_blocks": num_blocks,
        "block_size": 4,
        **options,
    }
    asked = [[ask.name, ask.prompt, ask.answer, ask.arrival] for ask in requests]
    try:
        got = remote.student.ask("records", attribute="passes", requests=asked, options=told)
    except Raised as error:
        if "tokens planned, only" not in error.sentence:
            error.sentence = f"[fails_in_that_case] {error.sentence}. {said}"
            raise
        raise Wrong(said, expected="what is left", got=error.sentence) from None
    engine = mb.Engine(
        mb.PretendModel(),
        ours,
        num_blocks=num_blocks,
        block_size=4,
        prefix_caching=options.get("prefix_caching", False),
        clock=mb.VirtualClock(step_time=1),
    )
    right = [
        mb.Request([0] * prompt, max_tokens=answer, request_id=name, arrival_time=arrival)
        for name, prompt, answer, arrival in asked
    ]
    expected = noted_passes(engine, right, options.get("fails", []))
    for number, (due, rows) in enumerate(zip(expected, got, strict=False), 1):
        if {row[0] for row in due} != {row[0] for row in rows}:
            raise Wrong(
                f"In pass {number}, the plan had rows of "
                f"{', '.join(sorted(row[0] for row in rows))}. {others}",
                expected=", ".join(sorted(row[0] for row in due)),
                got=", ".join(sorted(row[0] for row in rows)),
            )
        longest = max(row[3] for row in rows) or 1
        for name, num_tokens, padding, left in rows:
            if num_tokens != left:
                raise Wrong(
                    f"In pass {number}, {name}'s row computes {num_tokens} tokens, but {left} are "
                    f"left to compute. {said}",
                    expected=f"{name}: {left}",
                    got=f"{name}: {num_tokens}",
                )
            if is_padded and num_tokens + padding != longest:
                raise Wrong(
                    f"In pass {number}, {name}'s row has {num_tokens} tokens and {padding} of "
                    f"padding, but the longest row computes {longest} tokens. {said}",
                    expected=f"{name}: {num_tokens} + {longest - num_tokens} padding",
                    got=f"{name}: {num_tokens} + {padding} padding",
                )


CACHED = (
    "With prefix caching (lesson 07) B and C find the beginning of their prompts in the cache "
    "when self.admit admits them. A row computes only the rest, num_uncomputed_tokens."
)
FAILED = (
    "Pass 4 failed: the engine put all running sequences back into the queue. They lost their "
    "blocks and kept their tokens, so both the prompt and the answer so far must be computed: "
    "num_uncomputed_tokens."
)
TWO_ALIKE = asks(("A", 20, 2), ("B", 20, 3, 5.0), ("C", 7, 3, 5.0))


def _names(sequences) -> str:
    return ", ".join(s.request_id for s in sequences) or "nobody"


def why_refused(scheduler: mb.Scheduler, error: Exception, now: float) -> str:
    """What the engine refuses, as the first row, or the lack of any, that is the reason for it."""
    plan = getattr(scheduler, "planned", mb.StepPlan())
    if "gave no rows" in str(error):
        return _no_rows(scheduler, plan, now)
    seen: set[str] = set()
    for row in plan.rows:
        sequence, name, n = row.sequence, row.sequence.request_id, row.num_tokens
        left, has = sequence.num_uncomputed_tokens, len(sequence.block_table)
        if name in seen and not n:
            return (
                f"[second_row_is_padding] {name} has two rows in one plan, one of them only "
                "padding. Each sequence in self.running has one row; an empty slot needs no row."
            )
        if name in seen and sequence.first_scheduled_time != now:
            return (
                f"[rows_of_an_earlier_plan] {name} has two rows in one plan: the list still has "
                "the rows of an earlier plan. Make a new list in each call of plan(), rows = []."
            )
        if name in seen:
            return (
                f"[two_rows_in_one_plan] {name} has two rows in one plan. A sequence that has "
                "just been admitted is already in self.running. Also make a new list of rows in "
                "each call; do not keep one in the class."
            )
        seen.add(name)
        if sequence.is_finished and n:
            return (
                f"[finished_row_computes] {name} has finished, and its row computes {n} more "
                "tokens, though nothing is left to compute. Check sequence.is_finished: it is "
                "True after an end token or max_tokens tokens."
            )
        if sequence.is_finished and not has:
            return (
                f"[finished_blocks_are_gone] {name} has finished, and its blocks are already "
                "free, though its padding row still reads them. In a static batch it keeps its "
                "blocks and its slot until the batch ends; then `retire` frees them."
            )
        if sequence.is_finished and not row.num_padding_tokens:
            return (
                f"[finished_row_is_empty] {name} has finished, and its row is empty, without "
                "padding. In a static batch, give it a row of padding as long as the other rows; "
                "in other policies, a finished sequence has no row."
            )
        if row.num_padding_tokens < 0:
            return (
                f"[negative_padding] {name}'s row has {row.num_padding_tokens} tokens of padding: "
                "rows are padded to the longest row, so padding is never below 0."
            )
        if n == 0 and not row.start:
            return (
                f"[prompt_row_is_padding_only] {name} has computed nothing yet, and its row is "
                "only padding. Use mb.Row(s, n, padding): n is the number of tokens to compute, "
                f"here {left}."
            )
        if n == 0 and not row.num_padding_tokens:
            return (
                f"[row_of_no_tokens] {name} has a row of 0 tokens; it has num_uncomputed_tokens = "
                f"{left} to compute."
            )
        if n > left:
            what = {
                sequence.num_prompt_tokens: "its whole prompt, ",
                sequence.num_tokens: "all its tokens, ",
                sequence.max_num_tokens: "including its longest answer, ",
            }.get(n, "")
            return (
                f"[computes_more_than_is_left] {name}'s row computes {n} tokens, {what}but "
                f"num_uncomputed_tokens is {left}. (More tokens in a row can only be padding.)"
            )
        size = scheduler.pool.block_size
        if sequence.num_new_blocks(n, size):
            most = sequence.max_num_tokens
            return (
                f"[too_few_blocks] {name} computes up to its token {row.seq_len}, and holds only "
                f"{_blocks(has)} of {size}. A sequence that joins gets blocks for its prompt and "
                f"its longest possible answer, here {most} tokens, {_blocks(-(-most // size))}: "
                "self.admit(now, sequence.max_num_tokens)."
            )
    if len(plan.rows) > scheduler.max_batch_size:
        return _too_many(plan.rows, scheduler.max_batch_size)
    return str(error).replace("RemoteScheduler.plan", "your plan") + "."


def _too_many(rows: list[mb.Row], size: int) -> str:
    """What to say of more rows than there are slots."""
    joined = sum(row.start == 0 for row in rows)
    said = f"{len(rows)} sequences run, and max_batch_size is {size}: "
    if any(row.sequence.is_finished for row in rows):
        return (
            f"[finished_slot_given_away] {said}a finished sequence also holds its slot until its "
            "batch ends. No sequence joins before that."
        )
    if joined < len(rows) and joined <= size:
        return (
            f"[running_slots_not_counted] {said}{joined} joined, and the {len(rows) - joined} "
            "that already ran take slots, too. len(self.running) counts both."
        )
    if len(rows) == size + 1:
        return (
            f"[one_too_many_run] {said}one too many. Before each sequence joins, "
            "len(self.running) < self.max_batch_size must hold (<, not <=)."
        )
    return (
        f"[too_many_run] {said}check len(self.running) < self.max_batch_size before each "
        "sequence joins."
    )


def _blocks(n: int) -> str:
    return f"{n} block{'' if n == 1 else 's'}"


def _no_rows(scheduler: mb.Scheduler, plan: mb.StepPlan, now: float) -> str:
    """Why nothing happens any more, though somebody is there."""
    if scheduler.running:
        return (
            f"[running_have_no_rows] the plan has no rows, though {_names(scheduler.running)} "
            f"run{'s' * (len(scheduler.running) == 1)}: each sequence in self.running has a row "
            "in every step, also one that has just joined."
        )
    waiting = f"{_names(scheduler.waiting)} wait{'s' * (len(scheduler.waiting) == 1)}"
    window = getattr(scheduler, "options", {}).get("max_wait")
    if not scheduler.waiting:
        return (
            "[wakes_for_nobody] no sequence waits or runs, and your plan sets wake_at to "
            f"{plan.wake_at} s, which is not in the future. Return a plan without rows, "
            "mb.StepPlan(): the engine calls `plan` when a request arrives."
        )
    if window is None and len(scheduler.waiting) > scheduler.max_batch_size:
        return (
            f"[waiting_counted_as_slots] the plan has no rows, though {waiting} and no sequence "
            "runs. Only running sequences take slots: check len(self.running) < "
            "self.max_batch_size; the number that wait does not matter."
        )
    if window is None:
        return (
            f"[waits_for_a_full_batch] the plan has no rows, though {waiting} and no sequence "
            "runs. A sequence that fits joins even if some slots stay empty: perhaps no other "
            "request ever arrives."
        )
    oldest = scheduler.waiting[0]
    name, ends = oldest.request_id, oldest.arrival_time + window
    told = f"at {now:g} s {waiting}, no sequence runs, and the plan has no rows"
    came = f"{name} arrived at {oldest.arrival_time:g} s, and its window of {window:g} s ends at "
    is_full = len(scheduler.waiting) >= scheduler.max_batch_size
    if plan.wake_at is None and (is_full or now >= ends):
        what = "the batch is full" if is_full else "the window of the oldest request is over"
        if window == 0 and not is_full:
            what = (
                "its window of 0 s is over at once (`if max_wait` treats 0 as if there were no "
                "window)"
            )
        return (
            f"[start_has_no_rows] {told}, though {what}: the batch starts now. Return "
            "super().plan(now), which makes its rows."
        )
    if plan.wake_at is None:
        return (
            f"[no_time_to_wake] {told}, and no wake_at. Set wake_at: it tells the engine when to "
            f"call `plan` again. {came}{ends:g} s."
        )
    if now >= ends and abs(plan.wake_at - now - window) < 1e-6:
        return (
            f"[window_begins_anew] {told}, with wake_at={plan.wake_at:g}, a whole window from now, "
            f"so only a full batch can ever start. {came}{ends:g} s: the window begins at "
            "arrival_time, not at each call of `plan`."
        )
    if now >= ends and now - oldest.arrival_time < window:
        return (
            f"[window_by_a_difference] {told}, with wake_at={plan.wake_at:g}. {came}{ends:g} s, "
            "which is now. But now - arrival_time is below max_wait, because of a rounding error. "
            "Compare `now` with arrival_time + max_wait, the same number as wake_at."
        )
    if now >= ends:
        return (
            f"[window_ends_too_late] {told}, with wake_at={plan.wake_at:g}. {came}{ends:g} s, so "
            "the window is over, but the request still waits. The batch starts as soon as `now` "
            "reaches arrival_time + max_wait (wait while <, not <=)."
        )
    if plan.wake_at == window:
        return (
            "[wakes_at_the_windows_length] "
            f"{told}, with wake_at={plan.wake_at:g}, the length of the window. wake_at is a time on"
            f" the clock, as `now` is: {came}{ends:g} s."
        )
    if abs(plan.wake_at - (ends - now)) < 1e-6:
        return (
            f"[wakes_at_the_rest] {told}, with wake_at={plan.wake_at:g}, which is the time left "
            f"to wait. wake_at is a time on the clock, as `now` is: {came}{ends:g} s."
        )
    if plan.wake_at in (round(ends, digits) for digits in range(7)):
        return (
            f"{WAKE_AT_IS_ROUNDED} {told}, with wake_at={plan.wake_at:g}. {came}{ends!r} s: "
            "wake_at must be exactly this number."
        )
    if plan.wake_at > now:
        return (
            f"[wakes_again_and_again] {told}, {scheduler.num_empty:,} times one after another, "
            f"each time with a wake_at only {plan.wake_at - now:g} s later. {came}{ends:g} s: set "
            "wake_at to this time in the first plan."
        )
    return (
        f"[wakes_in_the_past] {told}, with wake_at={plan.wake_at:g}, which is in the past. "
        f"{came}{ends:g} s."
    )


def _fits_exactly(scheduler: mb.Scheduler) -> Callable[[object], None]:
    """Wrong, after a step, if a table has more blocks than its sequence can ever need."""
    size, before = scheduler.pool.block_size, {}

    def blocks(num_tokens: int) -> int:
        return -(-num_tokens // size)

    def look(record: object) -> None:
        for sequence in scheduler.running:
            name, has = sequence.request_id, len(sequence.block_table)
            most = blocks(sequence.max_num_tokens)
            if has > most and before.get(name, has) < has:
                raise Wrong(
                    f"[grows_beyond_its_need] {name} joined with {before[name]} blocks, now has "
                    f"{has}, and needs at most {most}. self.grow(s, n) adds blocks for n tokens "
                    "after the computed ones. A sequence that has all its blocks from the start "
                    "need not grow."
                )
            if has > most:
                others = {blocks(one.max_num_tokens) for one in scheduler.sequences.values()}
                if has == blocks(sequence.max_num_tokens + 1):
                    said = (
                        "[last_token_has_no_place] max_num_tokens does not count the answer's last "
                        "token: no token is computed after it, so its K and V are not stored."
                    )
                elif has == blocks(sequence.max_num_tokens + sequence.num_prompt_tokens):
                    said = "[prompt_counted_twice] max_num_tokens already includes the prompt."
                elif has in others:
                    said = (
                        "[blocks_of_somebody_longer] You take as many blocks as a longer "
                        "sequence needs. Each sequence takes blocks for its own answer, and "
                        "padding is not stored."
                    )
                else:
                    said = (
                        "[blocks_beyond_the_longest_answer] Take blocks for these tokens, "
                        "and no more."
                    )
                raise Wrong(
                    f"{name} holds {has} blocks of {size}; max_num_tokens, its prompt and its "
                    f"longest answer, is {sequence.max_num_tokens} tokens, {most} blocks. {said}",
                    expected=f"{most} blocks",
                    got=f"{has} blocks",
                )
            before[name] = has

    return look


def asks_the_pool(student_policy, num_slots: int) -> None:
    """A and B take 6 blocks of 4, and C would take 6; from 0 to 5 are left: C has to wait.

    student_policy: makes a new one. In which of these pools it runs dry says what was asked.
    """
    requests, dry = asks(("A", 8, 14), ("B", 8, 14), ("C", 8, 14)), []
    for left in range(6):
        try:
            serve(student_policy(num_slots), requests, num_blocks=12 + left, max_tokens=14, steps=1)
        except Raised as error:
            if not error.sentence.startswith("MemoryError"):
                raise
            dry.append(left)
    if not dry:
        return
    are_left = "1 was" if dry[0] == 1 else f"{dry[0]} were"
    seen = (
        "The pool ran out of blocks (MemoryError). A and B hold 6 blocks of 4 each. C's prompt of "
        f"8 tokens and its longest answer are 21 tokens, 6 blocks, and {are_left} left. "
    )
    if dry[0] == 0:
        raise Wrong(
            f"[pool_never_asked] {seen}Ask self.can_grow(self.waiting[0], n) before each "
            "self.admit(now, n), both with n = max_num_tokens, and let the sequence wait if the "
            "answer is no."
        )
    asked = {
        2: "[asks_for_the_prompt] that is room for its prompt alone",
        3: "[asks_for_a_little_more] that is room for its prompt and a little more",
        4: (
            "[asks_for_the_answer] that is room for its answer alone, max_tokens, without the "
            "prompt"
        ),
        5: "[asks_rounded_down] "
        "you rounded down, but self.can_grow(sequence, num_tokens) rounds up",
    }.get(dry[0], "[asks_for_too_few] that is too few")
    raise Wrong(
        f"{seen}With {dry[0] - 1} left, C had to wait, so you asked for {dry[0]} blocks: {asked}. "
        "Ask self.can_grow and self.admit for the same number, max_num_tokens, and let the "
        "sequence wait if can_grow says no."
    )


def same_plan(expected: mb.Engine, got: mb.Engine, sentence: str) -> None:
    """Wrong, with both drawn, at the first step whose rows differ."""
    drawing = drawn(expected, got)
    if drawing is not None:
        raise Wrong(
            f"[step_differs] Step {drawing.differs} differs. {sentence}",
            expected=rows_of(expected, drawing.differs),
            got=rows_of(got, drawing.differs),
            drawing=drawing,
        )


def some_requests(rng, n: int = 9) -> list[Ask]:
    """Random ones, of very different lengths, some of them late."""
    arrival, found = 0.0, []
    for i in range(n):
        arrival += rng.choice([0, 0, 0, 1, 2, 7])
        found.append(Ask("ABCDEFGHIJKLMNOP"[i], rng.randint(1, 9), rng.randint(1, 15), arrival))
    return found


def rows_of(engine: mb.Engine, number: int) -> str:
    if number > len(engine.trace.steps):
        return "no such step"
    rows = engine.trace.steps[number - 1].rows
    return ", ".join(
        f"{row.request_id}: {row.num_tokens}"
        + (f" + {row.num_padding_tokens} padding" if row.num_padding_tokens else "")
        for row in sorted(rows, key=lambda row: row.request_id)
    )


def drawn(expected: mb.Engine, got: mb.Engine) -> Drawing | None:
    """The drawing of the first difference, if there is one, for a sentence of one's own."""
    return difference(expected.trace.steps, got.trace.steps)


def plans_alike_twice(scheduler: mb.Scheduler, requests: list[Ask], said: str = "") -> None:
    """The engine may ask again without an update: nothing may be admitted twice or lost.

    said: what to say if the same requests have rows, of other lengths.
    """
    scheduler.bind(MirrorPool(64, 4), mb.VirtualClock(1.0))
    for ask in requests:
        ids = [WORDS[0]] * ask.prompt
        request = mb.Request(ids, max_tokens=MAX_TOKENS)
        scheduler.add(mb.Sequence(request, ask.name, list(ids), len(ids)))
    first, second = (
        sorted((row.sequence.request_id, row.num_tokens) for row in scheduler.plan(0.0).rows)
        for _ in range(2)
    )
    if second and not first:
        raise Wrong(
            "[joiners_have_no_row] Sequences join, but this plan has no rows for them; only the "
            "next plan has. A sequence that joins gets a row in the same plan.",
            expected=second,
            got=first,
        )
    if said and first != second and [name for name, _ in first] == [name for name, _ in second]:
        raise Wrong(said, expected=first, got=second)
    if first != second:
        raise Wrong(
            "[plans_differ_when_asked_twice] We called `plan` twice at the same time, without an "
            "update in between, and the second plan has other rows. Read what each sequence still "
            "needs, and keep nothing between calls.",
            expected=first,
            got=second,
        )

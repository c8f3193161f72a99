"""Judges exercises 4.1 to 4.3 by what the learner's policy and probe do, step by step."""

import pytest
from serving import (
    asks,
    drawn,
    plans_alike_twice,
    same_plan,
    serve,
    some_requests,
)

import minibatch as mb
from minibatch.course.judging.desk_errors import NotAttempted, Raised
from minibatch.course.judging.remote import LedScheduler, RemoteScheduler
from minibatch.course.judging.verdict import Wrong

_CONTINUOUS = {"minibatch.schedulers.continuous": "Continuous"}
_UPDATE = ["Scheduler.update", "Scheduler.retire", "Scheduler.release"]
WITHHELD = {
    "4.1": _CONTINUOUS,
    "4.2": {**_CONTINUOUS, "minibatch.schedulers.base": _UPDATE},
}

FIVE = asks(("A", 4, 6), ("B", 7, 2), ("C", 5, 4), ("D", 3, 3), ("E", 6, 5))
THREE = FIVE[:3]


class Reserving(mb.Continuous):
    """What 4.1 asks for, made from minibatch's own: blocks for the longest answer at once."""

    def can_admit(self):
        return (
            len(self.waiting) > 0
            and len(self.running) < self.max_batch_size
            and self.can_grow(self.waiting[0], self.waiting[0].max_num_tokens)
        )

    def admit(self, now, num_tokens):
        return super().admit(now, self.waiting[0].max_num_tokens)


def planning(student, max_batch_size=3):
    """The learner's plan; update is minibatch's own, so that 4.2 need not be written."""
    return RemoteScheduler(student, "MyContinuous", max_batch_size, {"update": "Scheduler"})


def updating(student, max_batch_size=3, **options):
    """The learner's update; who runs is decided here, so that 4.1 need not be written.

    Rows come in another order than the sequences run.
    """
    return LedScheduler(student, "MyContinuous", max_batch_size, **options)


# 4.1 ---------------------------------------------------------------------------------------------


@pytest.mark.task("4.1", points=0.5)
def test_a_prompt_is_computed_whole_in_one_row(student):
    (step,) = serve(planning(student), FIVE[:1], steps=1).trace.steps
    (row,) = step.rows
    if row.num_tokens != 4:
        raise Wrong(
            f"A's prompt has 4 tokens, and its row computes {row.num_tokens}: whoever joins has "
            "its whole prompt before it, num_uncomputed_tokens.",
            expected="A: 4",
            got=f"A: {row.num_tokens}",
        )


@pytest.mark.task("4.1", points=0.5)
def test_no_more_run_than_there_are_slots(student):
    engine = serve(planning(student), FIVE, steps=1)
    if len(engine.scheduler.running) > 3:  # as the engine itself says of too many rows
        raise Wrong(
            f"{len(engine.scheduler.running)} sequences run in 3 slots: ask "
            "len(self.running) < self.max_batch_size before each one joins."
        )


@pytest.mark.task("4.1", points=0.5)
def test_several_may_join_in_the_same_step(student):
    engine = serve(planning(student), FIVE, steps=1)
    joined = len(engine.trace.steps[0].rows)
    if joined != 3:
        raise Wrong(
            f"Only {joined} joined in step 1, though 3 slots were free and 5 requests waited: go "
            "on admitting as long as there is room, in a loop.",
            expected=3,
            got=joined,
            drawing=drawn(serve(Reserving(3), FIVE, steps=6), engine),
        )


@pytest.mark.task("4.1", points=1)
def test_whoever_runs_gets_a_row_in_every_step(student):
    engine = serve(planning(student), FIVE)
    running: set[str] = set()
    for number, step in enumerate(engine.trace.steps, 1):
        running |= set(step.admitted)
        planned = {row.request_id for row in step.rows}
        if running - planned:
            still = ", ".join(sorted(running - planned))
            raise Wrong(
                f"In step {number} {still} stood still. Everyone who runs takes part in every "
                "step, also in one that computes somebody else's prompt.",
                expected=sorted(running),
                got=sorted(planned),
                drawing=drawn(serve(Reserving(3), FIVE), engine),
            )
        running -= set(step.finished)


@pytest.mark.task("4.1", points=1)
def test_a_free_slot_never_waits_for_the_others(student):
    engine = serve(planning(student), FIVE)
    steps = engine.trace.steps
    for number, (before, step) in enumerate(zip(steps, steps[1:], strict=False), 2):
        if before.waiting and len(step.rows) < 3:
            raise Wrong(
                f"In step {number} {3 - len(step.rows)} of 3 slots stood empty while "
                f"{', '.join(before.waiting)} waited: your plan waits for the whole batch to end. "
                "A slot that falls free is taken in the very next step.",
                expected="3 rows",
                got=f"{len(step.rows)} rows",
                drawing=drawn(serve(Reserving(3), FIVE), engine),
            )


@pytest.mark.task("4.1", points=0.5)
def test_first_come_is_first_served(student):
    engine = serve(planning(student), FIVE)
    if joined(engine) != "A, B, C, D, E":
        raise Wrong(
            "They came in the order A, B, C, D, E and joined in another: then somebody can be "
            "overtaken for ever. The head of the queue joins first.",
            expected="A, B, C, D, E",
            got=joined(engine),
        )


def joined(engine):
    """Who joined, in order; those of one step by name. Somebody preempted may come twice."""
    names = [name for step in engine.trace.steps for name in sorted(step.admitted)]
    return ", ".join(dict.fromkeys(names))


@pytest.mark.task("4.1", points=0.5)
def test_who_does_not_fit_into_the_pool_waits_and_is_not_overtaken(student):
    """Blocks of 4, answers of up to 12: A and B may need 4 each, C 7, for its prompt 4, D 4."""
    requests = asks(("A", 4, 12), ("B", 4, 12), ("C", 16, 12), ("D", 1, 2))
    try:
        engine = serve(planning(student, 4), requests, num_blocks=12, max_tokens=12)
    except Raised as error:
        if not error.sentence.startswith("MemoryError"):
            raise
        raise Wrong(
            "The pool ran dry. When a sequence joins, take blocks for all it may ever need "
            "(max_num_tokens), and let it wait if self.can_grow says that there are too few for "
            "just as many."
        ) from None
    if joined(engine) != "A, B, C, D":
        raise Wrong(
            "C did not fit into the pool, and D, who came later, overtook it. Let those behind "
            "wait too, or one who needs much waits for ever.",
            expected="A, B, C, D",
            got=joined(engine),
        )
    engine = serve(planning(student, 4), requests[:2], num_blocks=8, max_tokens=12, steps=1)
    if len(engine.trace.steps[0].rows) < 2:
        raise Wrong(
            "A and B may need 4 blocks each, 8 are free, and only A joined: take blocks for "
            "max_num_tokens, prompt and longest answer, and for no more."
        )


@pytest.mark.task("4.1", points=0.5)
def test_after_a_failed_forward_pass_the_plan_is_the_same(student):
    """The engine may ask again without an update: nothing may be admitted twice or lost."""
    plans_alike_twice(planning(student), FIVE)


@pytest.mark.task("4.1", points=0.5)
def test_the_tokens_are_those_of_each_request_alone(student):
    from tiny_model import alone, tiny_model  # here, since importing torch takes seconds

    model, requests = (
        tiny_model(),
        asks(
            ("A", [3, 9, 27], 6),
            ("B", [40], 3),
            ("C", [7] * 11, 4),
            ("D", [9, 9], 5),
            ("E", [60] * 5, 7),
        ),
    )
    engine = serve(planning(student), requests, model=model, block_size=2)
    for completion in engine.trace.completions:
        expected = alone(model, completion.prompt_token_ids, len(completion.token_ids))
        if completion.token_ids != expected:
            raise Wrong(
                f"{completion.request_id}'s answer is another one than when it is served alone: "
                "some of its tokens were computed without, or with somebody else's, keys and "
                "values.",
                expected=expected,
                got=completion.token_ids,
            )


@pytest.mark.task("4.1", points=0.5)
def test_any_requests_take_exactly_the_steps_they_need(student, rng):
    cases = [FIVE, *(some_requests(rng) for _ in range(3))]
    for requests in cases:
        expected = serve(Reserving(3), requests)
        got = serve(planning(student), requests)
        same_plan(expected, got, "Compare it with the rule: everyone who runs, then the queue.")


# 4.2 ---------------------------------------------------------------------------------------------


@pytest.mark.task("4.2", points=0.5)
def test_a_prompt_counts_with_all_its_tokens(student):
    serve(updating(student), FIVE[:1], steps=3)


@pytest.mark.task("4.2", points=0.5)
def test_a_row_without_a_token_still_counts(student):
    """Prompts cut in pieces of three: a piece that is not the last brings None."""
    serve(updating(student, most_tokens=3), asks(("A", 8, 9), ("B", 2, 9)), steps=3)


@pytest.mark.task("4.2", points=0.5)
def test_each_token_goes_to_the_sequence_of_its_row(student):
    serve(updating(student), asks(("A", 4, 9), ("B", 7, 9), ("C", 5, 9)), steps=4)


@pytest.mark.task("4.2", points=1.5)
def test_whoever_has_finished_leaves_at_once_and_leaves_its_blocks(student):
    """A and B finish in the same step, C later; then D takes a slot and some of their blocks."""
    requests = asks(("A", 4, 3), ("B", 7, 3), ("C", 5, 6), ("D", 9, 4))
    engine = serve(updating(student), requests, num_blocks=24)
    if engine.pool.num_free != 24:
        raise Wrong("At the end some blocks are not free.", expected=24, got=engine.pool.num_free)


@pytest.mark.task("4.2", points=0.5)
def test_those_who_finished_are_returned_and_only_they(student):
    """C's prompt alone is longer than the longest answer allowed; D ends at max_tokens."""
    serve(updating(student), asks(("A", 4, 6), ("B", 7, 2), ("C", 25, 4), ("D", 3, 99)))


@pytest.mark.task("4.2", points=0.5)
def test_any_requests_end_as_they_should(student, rng):
    for requests in (some_requests(rng) for _ in range(3)):
        engine = serve(updating(student, most_tokens=rng.choice([2, 5, 100])), requests)
        lengths = {c.request_id: len(c.token_ids) for c in engine.trace.completions}
        expected = {ask.name: ask.answer for ask in requests}
        if lengths != expected:
            raise Wrong("The answers have other lengths.", expected=expected, got=lengths)


# 4.3 ---------------------------------------------------------------------------------------------


class Seen(mb.PretendModel):
    """A pretend model that notes how many tokens of context each step's rows have."""

    def __init__(self):
        self.seq_lens = []

    def runner(self, pool, attention):
        runner, seq_lens = super().runner(pool, attention), self.seq_lens

        class Noting:
            def run(self, plan):
                seq_lens.append(sum(row.seq_len for row in plan.rows))
                return runner.run(plan)

        return Noting()


def probe(student, requests, policy="Continuous", kv_shapes=((1, 1),), dtype="float32", **more):
    """What the learner's records say of each step, and what they should."""
    arguments = {"max_batch_size": 3, **more}
    size = {"float32": 4, "float16": 2}[dtype]
    options = {
        "policy": policy,
        "arguments": arguments,
        "num_blocks": 64,
        "block_size": 4,
        "kv_shapes": kv_shapes,
        "dtype": dtype,
    }
    try:
        got = student.unpacked(
            student.ask("records", attribute="kv_bytes_read", requests=requests, options=options)
        )
    except Raised as error:
        if "has no attribute 'kv_bytes_read'" in error.sentence:
            raise NotAttempted("StepRecord has no kv_bytes_read yet") from None
        raise
    model = Seen()
    engine = mb.Engine(
        model,
        getattr(mb, policy)(**arguments),
        num_blocks=64,
        block_size=4,
        clock=mb.VirtualClock(1.0),
    )
    engine.run(mb.Request([0] * p, max_tokens=n, request_id=name) for name, p, n in requests)
    per_token = 2 * size * sum(heads * dim for heads, dim in kv_shapes)
    return [per_token * n for n in model.seq_lens], got


def compare(expected, got, sentence, skip=0):
    """skip: steps at the beginning that are another test's."""
    if (
        not isinstance(got, list)
        or len(got) != len(expected)
        or any(type(value) is not int for value in got)
    ):
        raise Wrong("kv_bytes_read has to be an int.", expected=expected[:6], got=got)
    steps = enumerate(zip(expected, got, strict=True))
    different = [number for number, (a, b) in steps if a != b and number >= skip]
    if different:
        number = different[0]
        raise Wrong(
            f"Step {number + 1}: {sentence}",
            expected=f"{expected[number]} bytes",
            got=f"{got[number]} bytes",
        )


@pytest.mark.task("4.3", points=1)
def test_a_decode_step_reads_the_whole_context(student):
    """After the prompt of 6, from the second step on; 8 bytes a token."""
    expected, got = probe(student, [["A", 6, 5]])
    compare(
        expected,
        got,
        "its one new token attends to everything before it, and so reads the K and the V of all "
        "row.seq_len tokens: not of the new one alone, and not of the token that the step has "
        "only just sampled.",
        skip=1,
    )


@pytest.mark.task("4.3", points=1)
def test_a_prompt_is_read_once_by_its_row(student):
    expected, got = probe(student, [["A", 6, 2], ["B", 3, 2]])
    compare(
        expected,
        got,
        "a row that computes a whole prompt reads row.seq_len tokens once, like any other.",
    )


@pytest.mark.task("4.3", points=1)
def test_every_layer_and_the_kind_of_number_count(student):
    expected, got = probe(
        student, [["A", 6, 3]], kv_shapes=((2, 16), (2, 16), (1, 8)), dtype="float16"
    )
    compare(
        expected,
        got,
        "layers may differ, and a float16 has 2 bytes: bytes_per_token(self.model.kv_shapes, "
        "self.model.dtype) knows both.",
    )


@pytest.mark.task("4.3", points=1)
def test_rows_of_padding_read_too(student):
    expected, got = probe(student, [["A", 6, 2], ["B", 3, 6]], policy="Static")
    compare(
        expected,
        got,
        "each row reads its row.seq_len tokens: no more for the padding of a short prompt, and no "
        "less once its sequence has ended.",
    )


@pytest.mark.task("4.3", points=1)
def test_it_holds_for_any_requests(student, rng):
    requests = [[ask.name, ask.prompt, ask.answer] for ask in some_requests(rng)]
    expected, got = probe(student, requests, max_batch_tokens=rng.choice([3, 5, 50]))
    compare(expected, got, "count row.seq_len of each row of the plan, once.")

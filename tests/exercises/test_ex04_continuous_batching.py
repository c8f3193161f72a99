"""Judges exercises 4.1 to 4.3 by what the learner's policy and probe do, step by step."""

import now_yours
import pytest
from beliefs import rewritten, why
from hash_model import HashModel, alone
from serving import (
    CACHED,
    FAILED,
    TWO_ALIKE,
    asks,
    asks_the_pool,
    computes_what_is_left,
    drawn,
    go_on,
    plans_alike_twice,
    same_plan,
    serve,
    serves_in_an_engine,
    some_requests,
)

import minibatch as mb
from minibatch.course.judging.remote_scheduler import RemoteScheduler
from minibatch.course.judging.remote_update import RemoteUpdateScheduler
from minibatch.course.judging.verdict import Wrong
from minibatch.course.judging.worker_errors import NotAttempted, Raised

_CONTINUOUS = {
    "minibatch.schedulers.continuous": "Continuous",
    "minibatch.schedulers.prefill_first": "PrefillFirst",
    "minibatch.schedulers.budget": "Budget",
}
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


BORROWED = {"update": "Scheduler"}  # minibatch's own, so that 4.2 need not be written


def planning(student, max_batch_size=3):
    """The learner's plan."""
    return RemoteScheduler(student, "MyContinuous", max_batch_size, BORROWED)


def updating(student, max_batch_size=3, **options):
    """The learner's update; who runs is decided here, so that 4.1 need not be written.

    Rows come in another order than the sequences run. options: of RemoteUpdateScheduler.
    """
    return RemoteUpdateScheduler(student, "MyContinuous", max_batch_size, **options)


# 4.1 ---------------------------------------------------------------------------------------------


@pytest.mark.task("4.1", points=0.25)
def test_a_prompt_is_computed_whole_in_one_row(student):
    (step,) = serve(planning(student), FIVE[:1], steps=1).trace.steps
    (row,) = step.rows
    (both,) = serve(planning(student), FIVE[:2], steps=1).trace.steps
    if row.num_tokens != 4:
        raise Wrong(
            "[joiners_prompt_in_pieces] "
            f"A's prompt has 4 tokens, and its row computes {row.num_tokens}: whoever joins has "
            "its whole prompt before it, num_uncomputed_tokens.",
            expected="A: 4",
            got=f"A: {row.num_tokens}",
        )
    no_padding(both)
    computed = {row.request_id: row.num_tokens for row in both.rows}
    if computed.get("B") not in (7, None):
        raise Wrong(
            "[other_prompt_in_pieces] "
            f"B's prompt has 7 tokens, and its row computes {computed['B']}: a prompt is computed "
            "whole, in one step.",
            expected="B: 7",
            got=f"B: {computed['B']}",
        )
    long = serve(planning(student), asks(("A", 5000, 6)), num_blocks=4000, steps=1)
    (row,) = long.trace.steps[0].rows
    if row.num_tokens != 5000:
        raise Wrong(
            "[long_prompt_in_pieces] "
            f"A's prompt has 5,000 tokens, and its row computes {row.num_tokens:,}: whoever joins "
            "has its whole prompt before it, however long it is.",
            expected="A: 5000",
            got=f"A: {row.num_tokens}",
        )


def no_padding(step):
    for row in step.rows:
        if row.num_padding_tokens:
            raise Wrong(
                "[rows_are_padded] "
                f"{row.request_id}'s row has {row.num_padding_tokens} tokens of padding: rows need "
                "not be equally long here, and what is computed for nothing is lost."
            )


@pytest.mark.task("4.1", points=0.25)
def test_no_more_run_than_there_are_slots(student):
    engine = serve(planning(student), FIVE, steps=1)
    if len(engine.scheduler.running) > 3:  # as the engine itself says of too many rows
        raise Wrong(
            "[more_run_than_slots] "
            f"{len(engine.scheduler.running)} sequences run in 3 slots: ask "
            "len(self.running) < self.max_batch_size before each one joins."
        )


@pytest.mark.task("4.1", points=0.25)
def test_several_may_join_in_the_same_step(student):
    """At the start, and in step 3, when two have left and the third goes on."""
    requests = asks(("A", 4, 2), ("B", 4, 2), ("C", 4, 6), ("D", 4, 3), ("E", 4, 5))
    engine, left_out = served(student, requests)
    expected = serve(Reserving(3), requests)
    running, waiting, seen = 0, 5, set()
    for number, step in enumerate(engine.trace.steps, 1):
        room, joined = min(3 - running, waiting), len(step.admitted)
        seen |= set(step.admitted)
        without = left_out[number - 1] - seen
        if without:
            have = f"only {joined}" if joined else "none"
            raise Wrong(
                "[admitted_without_a_row] "
                f"{joined + len(without)} were admitted in step {number}, and {have} of them "
                f"{'have' if joined > 1 else 'has'} a row: each who joins gets a row in that very "
                "step, inside the loop that admits.",
                expected=", ".join(sorted({*step.admitted} | without)),
                got=", ".join(sorted(step.admitted)),
                drawing=drawn(expected, engine),
            )
        if joined < room:
            free = f"{3 - running} slots were free" if running < 2 else "a slot was free"
            raise Wrong(
                "[nobody_joins] "
                f"In step {number} nobody joined, though {free} and others waited. {idle(engine)}"
                if joined == 0
                else f"Only {joined} joined in step {number}, though {free} and {waiting} waited: "
                + (
                    "[slot_stays_empty] "
                    "a slot stays empty, for len(self.running) < self.max_batch_size is all that "
                    "has to hold before the next one joins."
                    if joined == 2 and max(len(each.rows) for each in engine.trace.steps) == 2
                    else "[too_few_join_a_step] as many join in a step as there is room for."
                    if joined > 1
                    else "[one_joins_a_step] go on admitting as long as there is room, in a loop."
                ),
                expected=room,
                got=joined,
                drawing=drawn(expected, engine),
            )
        running, waiting = running + joined - len(step.finished), waiting - joined
    long = asks(("A", 400, 2), ("B", 400, 2), ("C", 400, 2))
    (step,) = serve(planning(student), long, num_blocks=4000, steps=1).trace.steps
    if len(step.rows) < 3:
        raise Wrong(
            "[budget_of_tokens] "
            f"Three slots and the whole pool are free, A, B and C wait with 400 tokens each, and "
            f"{len(step.rows)} joined. Slots and blocks decide, and there is no budget of tokens "
            "here: who fits joins now, however long the prompt is.",
            expected=3,
            got=len(step.rows),
        )


def served(student, requests):
    """Served to the end; and of each step, who ran on without a row in it."""
    engine, left_out = serve(planning(student), requests, steps=0), []

    @engine.on_step
    def note(step):
        running = {sequence.request_id for sequence in engine.scheduler.running}
        left_out.append(running - {row.request_id for row in step.rows})

    go_on(engine)
    return engine, left_out


def idle(engine):
    """What to say of slots that stay empty: whether people join only where nobody runs any more."""
    running = set()
    for step in engine.trace.steps:
        if step.admitted and running:
            return "[free_slot_is_not_taken] A slot that falls free is taken in the very next step."
        running = (running | set(step.admitted)) - set(step.finished)
    return (
        "[waits_for_the_whole_batch] "
        "Your plan waits for the whole batch to end before anybody joins, which is static "
        "batching: a slot that falls free is taken in the very next step, whoever else runs."
    )


@pytest.mark.task("4.1", points=0.25)
def test_whoever_runs_gets_a_row_in_every_step(student):
    engine, left_out = served(student, FIVE)
    for number, step in enumerate(engine.trace.steps, 1):
        no_padding(step)
        if left_out[number - 1]:
            planned = {row.request_id for row in step.rows}
            still = ", ".join(sorted(left_out[number - 1]))
            raise Wrong(
                "[runner_stands_still] "
                f"In step {number} {still} stood still. Everyone who runs takes part in every "
                "step, also in one that computes somebody else's prompt.",
                expected=sorted(left_out[number - 1] | planned),
                got=sorted(planned),
                drawing=drawn(serve(Reserving(3), FIVE), engine),
            )


@pytest.mark.task("4.1", points=1.25)
def test_a_free_slot_never_waits_for_the_others(student):
    """B leaves after step 2, which the next step shows; or after step 1; or one of eight."""
    ten = asks(*((name, 4, 2 if name == "B" else 6) for name in "ABCDEFGHIJ"))
    other = [FIVE[0], *asks(("B", 7, 1), ("C", 5, 5)), *FIVE[3:]]
    for requests, slots in ((FIVE, 3), (other, 3), (ten, 8)):
        engine = serve(planning(student, slots), requests)
        steps = engine.trace.steps
        for number, step in enumerate(steps[1:], 2):
            if step.waiting and len(step.rows) < slots:
                empty = slots - len(step.rows)
                raise Wrong(
                    "[slots_stand_empty] "
                    f"In step {number}, {empty} of {slots} slots stood empty while "
                    f"{', '.join(step.waiting)} waited. {idle(engine)}",
                    expected=f"{slots} rows",
                    got=f"{len(step.rows)} rows",
                    drawing=drawn(serve(Reserving(slots), requests), engine),
                )


@pytest.mark.task("4.1", points=0.25)
def test_first_come_is_first_served(student):
    engine = serve(planning(student), FIVE)
    if joined(engine) != "A, B, C, D, E":
        raise Wrong(
            "[joins_in_another_order] "
            "They came in the order A, B, C, D, E and joined in another: then somebody can be "
            "overtaken for ever. The head of the queue joins first.",
            expected="A, B, C, D, E",
            got=joined(engine),
        )


def joined(engine):
    """Who joined, in order; those of one step by name. Somebody preempted may come twice."""
    names = [name for step in engine.trace.steps for name in sorted(step.admitted)]
    return ", ".join(dict.fromkeys(names))


def in_a_small_pool(student, slots, requests, num_blocks, **options):
    """Served to the end; the pool must not run dry."""
    try:
        return serve(
            planning(student, slots), requests, num_blocks=num_blocks, exactly=True, **options
        )
    except Raised as error:
        if not error.sentence.startswith("MemoryError"):
            raise
        raise Wrong(
            "[pool_runs_dry] "
            f"The pool of {num_blocks} blocks ran dry ({error.sentence}). When a sequence joins, "
            "take blocks for its longest possible answer (max_num_tokens), and let it wait if "
            "self.can_grow says that there are too few for just as many."
        ) from None


@pytest.mark.task("4.1", points=1.25)
def test_who_does_not_fit_into_the_pool_waits_and_is_not_overtaken(student):
    """Blocks of 4, answers of up to 12: A and B may need 4 each, C 7, for its prompt 4, D 4."""
    asks_the_pool(lambda slots: planning(student, slots), 4)
    requests = asks(("A", 4, 12), ("B", 4, 12), ("C", 16, 12), ("D", 1, 2))
    engine = in_a_small_pool(student, 4, requests, 12, max_tokens=12)
    first = engine.trace.steps[0].admitted
    if "B" not in first and {"C", "D"} & {*first}:
        raise Wrong(
            "[runner_sent_back] "
            "A and B fit, and C does not; and yet B did not run, but "
            f"{' and '.join(sorted({*first} - {'A'}))} did. Was B sent back to make room for C? "
            "Who runs goes on, and who does not fit waits.",
            expected="A, B",
            got=", ".join(sorted(first)),
        )
    if joined(engine) != "A, B, C, D":
        raise Wrong(
            "[later_one_overtakes] "
            "C did not fit into the pool, and D, who came later, overtook it. Let those behind "
            "wait too, or one who needs much waits for ever.",
            expected="A, B, C, D",
            got=joined(engine),
        )
    two = asks(("A", 5, 12), ("B", 5, 12))  # 16 tokens are exactly 4 blocks
    engine = in_a_small_pool(student, 4, two, 8, max_tokens=12, steps=1)
    if len(engine.trace.steps[0].rows) < 2:
        raise Wrong(
            "[exact_fit_waits] "
            "A and B may need 4 blocks each, for their max_num_tokens, 16; 8 are free, and only A "
            "joined: ask for max_num_tokens, prompt and longest answer, and for no more."
        )
    requests = asks(("A", 4, 2), ("B", 4, 12), ("C", 4, 3))
    engine = in_a_small_pool(student, 4, requests, 8, max_tokens=12)
    if "C" not in {row.request_id for row in engine.trace.steps[2].rows}:
        raise Wrong(
            "[free_blocks_are_not_taken] "
            "A left after step 2, and its 4 blocks are what C needs; in step 3 C still waited, "
            f"while B went on. {idle(engine)}"
        )


@pytest.mark.task("4.1", points=0.25)
def test_asked_twice_it_plans_the_same_rows(student):
    """The engine may ask again without an update: nothing may be admitted twice or lost."""
    plans_alike_twice(planning(student), FIVE)


@pytest.mark.task("4.1", points=0.5)
def test_the_tokens_are_those_of_each_request_alone(student):
    """In a pool of 12 blocks of 2, of which they need 4, 2, 7, 3 and 6."""
    requests = asks(
        ("A", [3, 9, 27], 6),
        ("B", [40], 3),
        ("C", [7] * 11, 4),
        ("D", [9, 9], 5),
        ("E", [60] * 5, 7),
    )
    engine = in_a_small_pool(student, 3, requests, 12, model=HashModel(), block_size=2)
    for completion in engine.trace.completions:
        expected = alone(completion.prompt_token_ids, len(completion.token_ids))
        if completion.token_ids != expected:
            raise Wrong(
                "[other_answer_than_alone] "
                f"{completion.request_id}'s answer is another one than when it is served alone: "
                "some of its tokens were computed without, or with somebody else's, keys and "
                "values.",
                expected=expected,
                got=completion.token_ids,
            )


@pytest.mark.task("4.1", points=0.25)
def test_who_is_given_up_leaves_its_blocks(student):
    """A and B fill both slots and the pool of 8 blocks; A is given up after step 2."""
    requests = asks(("A", 4, 12), ("B", 4, 12), ("C", 4, 5))
    expected, got = (
        serve(policy, requests, num_blocks=8, max_tokens=12, steps=2)
        for policy in (Reserving(2), planning(student, 2))
    )
    for engine in (expected, got):
        engine.abort("A")
        go_on(engine)
    same_plan(
        expected,
        got,
        "[blocks_of_one_given_up] A was given up after step 2, and its 4 blocks are what C needs: "
        "the pool has them again at once. Ask the pool, self.can_grow, and keep no count of your "
        "own.",
    )


@pytest.mark.task("4.1", points=1)
def test_any_requests_take_exactly_the_steps_they_need(student, rng):
    said = "[other_plan] Compare it with the rule: everyone who runs, then the queue."
    same_plan(serve(Reserving(3), FIVE), serve(planning(student), FIVE), said)
    serves_in_an_engine(planning(student), Reserving(3), FIVE)
    in_a_small_pool(student, 3, FIVE, 13)
    for requests in (some_requests(rng) for _ in range(3)):
        same_plan(serve(Reserving(3), requests), serve(planning(student), requests), said)
    in_a_small_pool(student, 3, some_requests(rng), 10)


@pytest.mark.task("4.1", points=0.25)
def test_who_joins_computes_what_is_not_computed_yet(student):
    """With prefixes in the cache, and after a forward pass that failed; then A and B need 4 blocks
    of 4 each, as before it."""
    computes_what_is_left(
        planning(student),
        Reserving(3),
        TWO_ALIKE,
        f"[computes_what_is_cached] {CACHED}",
        others="[others_run_with_a_cached_prefix] The cache changes what a row computes, and not "
        "who runs.",
        prefix_caching=True,
    )
    computes_what_is_left(
        planning(student),
        Reserving(3),
        asks(("A", 4, 12), ("B", 4, 12)),
        f"[other_need_after_a_failed_pass] {FAILED}",
        others="[reserves_the_answer_again] Pass 4 failed, and A and B are in the queue again, with"
        " 3 tokens of their answers. They need 4 blocks of 4 each as before, for max_num_tokens, "
        "and 8 are free: what is uncomputed has those tokens of the answer in it already.",
        num_blocks=8,
        fails=[4],
    )


# 4.2 ---------------------------------------------------------------------------------------------


@pytest.mark.task("4.2", points=0.5)
def test_a_prompt_counts_with_all_its_tokens(student):
    serve(updating(student), FIVE[:1], steps=3)


@pytest.mark.task("4.2", points=0.5)
def test_a_row_without_a_token_still_counts(student):
    """Prompts cut in pieces of three: a piece that is not the last brings no token. Nor does
    padding, whatever a row has of it."""
    for padding in (0, 4):
        policy = updating(student, most_tokens=3, padding=padding)
        serve(policy, asks(("A", 8, 9), ("B", 2, 9)), steps=3)


@pytest.mark.task("4.2", points=0.5)
def test_each_token_goes_to_the_sequence_of_its_row(student):
    """Each brings tokens of its own, and 0 once."""
    serve(updating(student), asks(("A", 4, 9), ("B", 7, 9), ("C", 5, 9)), steps=4)


STILL_RUNNING = (
    "[only_one_of_several_finished]",
    "[end_token_does_not_end]",
    "[only_one_leaves]",
    "[finished_does_not_leave]",
)


@pytest.mark.task("4.2", points=1.25)
def test_whoever_has_finished_leaves_at_once_and_leaves_its_blocks(student):
    """A and B finish in the same step, C later; then D takes a slot and some of their blocks."""
    requests = asks(("A", 4, 3), ("B", 7, 3), ("C", 5, 6), ("D", 9, 4))
    try:
        engine = serve(updating(student), requests, num_blocks=24)
    except Wrong as error:
        stays = any(code in error.sentence for code in STILL_RUNNING)
        if stays and leaves_only_with_the_others(student):
            raise Wrong(
                "[leaves_with_the_others] "
                "In step 3 A and B finished, and stay, since C goes on: alone, each would have "
                "left. Leaving together is static batching; here whoever has finished leaves at "
                "once, whoever else runs."
            ) from None
        raise
    if engine.pool.num_free != 24:
        raise Wrong(
            "[blocks_are_not_free] At the end some blocks are not free.",
            expected=24,
            got=engine.pool.num_free,
        )


def leaves_only_with_the_others(student):
    """Whether A leaves when it is alone, and not while somebody else goes on."""
    together = asks(("A", 4, 3), ("C", 5, 6))
    return _serves(student, together[:1]) and not _serves(student, together)


def _serves(student, requests):
    try:
        serve(updating(student), requests)
    except (Wrong, Raised):
        return False
    return True


@pytest.mark.task("4.2", points=0.5)
def test_those_who_finished_are_returned_and_only_they(student):
    """C's prompt alone is longer than the longest answer allowed; D ends at max_tokens, and E, who
    comes later, with the token that its prompt brings."""
    late = ("E", 6, 1, 2.5)
    serve(updating(student), asks(("A", 4, 6), ("B", 7, 2), ("C", 25, 4), ("D", 3, 99), late))


@pytest.mark.task("4.2", points=0.25)
def test_a_row_may_bring_several_tokens(student):
    """As where guesses were verified: three at a time, the last ones past the answer's end."""
    serve(updating(student), asks(("A", 4, 8), ("B", 7, 9), ("C", 5, 12)), at_once=3)


@pytest.mark.task("4.2", points=0.25)
def test_the_engine_keeps_its_lists(student):
    """Lists that refuse to be changed."""
    serve(updating(student, lends=True), FIVE)


@pytest.mark.task("4.2", points=0.25)
def test_any_requests_end_as_they_should(student, rng):
    for requests in (some_requests(rng) for _ in range(3)):
        engine = serve(updating(student, most_tokens=rng.choice([2, 5, 100])), requests)
        lengths = {c.request_id: len(c.token_ids) for c in engine.trace.completions}
        expected = {ask.name: ask.answer for ask in requests}
        if lengths != expected:
            raise Wrong(
                "[answers_have_other_lengths] The answers have other lengths.",
                expected=expected,
                got=lengths,
            )


# 4.3 ---------------------------------------------------------------------------------------------

ONE_LAYER, THREE_LAYERS = ((1, 1),), ((2, 16), (3, 16), (1, 8))
SIZES = {"float32": 4, "float16": 2}


class Seen(mb.PretendModel):
    """A pretend model that notes of each row, of each step, what a learner could count."""

    def __init__(self):
        self.steps = []

    def runner(self, pool, attention):
        runner, steps = super().runner(pool, attention), self.steps

        class Noting:
            def run(self, plan):
                tokens = runner.run(plan)
                pairs = zip(plan.rows, tokens, strict=True)
                steps.append([SeenRow(row, len(new)) for row, new in pairs])
                return tokens

        return Noting()


class SeenRow:
    def __init__(self, row, num_new):
        sequence = row.sequence
        self.start, self.seq_len, self.kind = row.start, row.seq_len, row.kind
        self.num_tokens, self.padding = row.num_tokens, row.num_padding_tokens
        self.prompt, self.has = sequence.num_prompt_tokens, sequence.num_tokens
        self.has_then, self.brings = self.has + num_new, num_new > 0
        self.most = sequence.max_num_tokens
        self.has_ended = self.has_then - self.prompt >= sequence.request.max_tokens
        self.in_blocks, self.sequence = 4 * len(sequence.block_table), sequence
        self.stays = False  # known once the step is over


ROWS = {  # what one row reads, in tokens
    "": lambda row: row.seq_len,
    "[reads_the_new_tokens_alone] "
    "a row's new tokens attend to everything before them as well: it reads the K and the V of all "
    "row.seq_len tokens, not of the new one alone (num_tokens).": lambda row: row.num_tokens,
    "[reads_the_old_tokens_alone] "
    "what a row reads is row.seq_len tokens, the new ones too; you have counted those that were in "
    "the cache before (row.start).": lambda row: row.start,
    "[reads_the_sampled_token] "
    "the step reads row.seq_len tokens of each row, not the token that it has only just sampled: "
    "sequence.num_tokens has moved on when update is done.": lambda row: row.has_then,
    "[reads_all_tokens_of_the_sequence] "
    "a row reads row.seq_len tokens; sequence.num_tokens are all there are, computed or not.": (
        lambda row: row.has
    ),
    "[reads_for_each_computed_token] "
    "a row reads row.seq_len tokens once, also when it computes many: you have counted them for "
    "each of its tokens.": lambda row: row.num_tokens * row.seq_len,
    "[reads_what_comes_before_each] "
    "a row reads row.seq_len tokens once; you have counted for each of its tokens what comes before"
    " it.": lambda row: sum(range(row.start + 1, row.seq_len + 1)),
    "[reads_for_padding] "
    "a row reads row.seq_len tokens, no more for the padding of a short prompt, which repeats its "
    "last one.": lambda row: row.seq_len + row.padding,
    "[reads_padding_as_computed] "
    "a row reads row.seq_len tokens, all that its sequence has in the cache; you have counted what "
    "it computes, padding included.": lambda row: row.num_tokens + row.padding,
    "[reads_padding_again] "
    "a row reads row.seq_len tokens, once each; for padding nothing is read again.": (
        lambda row: row.seq_len * (1 + row.padding)
    ),
    "[reads_one_new_token] "
    "a row reads row.seq_len tokens, and a prompt's row brings many of them; you have counted one "
    "new one (row.start + 1).": lambda row: row.start + 1,
    "[reads_one_token_more] "
    "a row reads row.seq_len tokens; you have counted one more.": lambda row: row.seq_len + 1,
    "[reads_one_token_less] "
    "a row reads row.seq_len tokens, its newest included; you have left that one out.": (
        lambda row: row.seq_len - 1
    ),
    "[reads_the_prompt_alone] "
    "the answer's tokens are read, too, not the prompt alone: row.seq_len.": (
        lambda row: row.prompt,
        lambda row: min(row.seq_len, row.prompt),
    ),
    "[reads_the_longest_answer] "
    "a row reads the row.seq_len tokens that are there; you have counted its longest possible "
    "answer.": (lambda row: row.most, lambda row: row.most + 1),
    "[reads_the_answer_alone] "
    "the prompt's tokens are read, too, not the answer's alone: row.seq_len.": (
        lambda row: row.has - row.prompt
    ),
    "[reads_the_answer_before_the_newest] "
    "the prompt's tokens are read, too, not the answer's alone, and not yet the newest token: "
    "row.seq_len.": lambda row: row.has_then - row.prompt,
    "[reads_twice_what_it_computes] "
    "a row reads row.seq_len tokens; what it computes counts twice in yours. (Writing is no "
    "reading; and num_computed_tokens has moved on once update is done, row.start has not.)": (
        lambda row: row.seq_len + row.num_tokens
    ),
    "[reads_whole_blocks] whole blocks are not read, only the row.seq_len tokens in them.": (
        lambda row: row.in_blocks,
        lambda row: -(-row.seq_len // 4) * 4,
    ),
    "[reads_whole_blocks_of_who_has_not_left] "
    "whole blocks are not read, only the row.seq_len tokens in them; and who has left has none any "
    "more.": lambda row: row.in_blocks * row.stays,
    "[counts_rows] each row reads row.seq_len tokens; you have counted rows.": lambda row: 1,
}
WHICH = {  # how the rows of a step come together
    "": lambda rows, count: sum(map(count, rows)),
    "[padding_rows_left_out] "
    "rows that are only padding read, too: no less once a sequence has ended.": (
        lambda rows, count: sum(count(row) for row in rows if row.num_tokens)
    ),
    "[prompt_rows_left_out] "
    "rows that compute a prompt read as well, not those that decode alone.": (
        lambda rows, count: sum(count(row) for row in rows if row.kind == "decode")
    ),
    "[decode_rows_left_out] "
    "rows that decode read as well, not those that compute a prompt alone.": (
        lambda rows, count: sum(count(row) for row in rows if row.kind == "prefill")
    ),
    "[finishing_rows_left_out] who finishes in this step has read, too; you have left it out.": (
        lambda rows, count: sum(count(row) for row in rows if not row.has_ended),
        lambda rows, count: sum(
            count(row) for row in rows if not (row.has_ended and row.num_tokens)
        ),
    ),
    "[rows_without_a_token_left_out] "
    "rows that bring no token read, too: a piece of a prompt, or padding.": (
        lambda rows, count: sum(count(row) for row in rows if row.brings)
    ),
    "[equal_rows_count_once] "
    "every row reads for itself, also one that reads as much as another; in yours they count once, "
    "as in a set.": lambda rows, count: sum({count(row) for row in rows}),
    "[sums_over_who_still_runs] "
    "who leaves in this step has read, too: sum over plan.rows, not over who runs afterwards.": (
        lambda rows, count: sum(count(row) for row in rows if row.stays)
    ),
    "[first_row_alone] every row reads for itself; you have counted the first one.": (
        lambda rows, count: count(rows[0])
    ),
    "[last_row_alone] every row reads for itself; you have counted the last one.": (
        lambda rows, count: count(rows[-1])
    ),
    "[longest_row_alone] every row reads for itself; you have counted the longest one.": (
        lambda rows, count: max(map(count, rows))
    ),
    "[longest_row_for_all] "
    "every row reads as many tokens as it has; you have counted the longest one's for all.": (
        lambda rows, count: len(rows) * max(map(count, rows))
    ),
    "[mean_of_the_rows] all rows of a step are added up; you have taken their mean.": (
        lambda rows, count: sum(map(count, rows)) / len(rows)
    ),
}
TOKEN = {  # bytes of one token, of the layers' shapes and the bytes of a number
    "": lambda shapes, size: 2 * size * _numbers(shapes),
    "[half_of_the_bytes] "
    "all of a row's tokens are read, the K and the V of each, as in bytes_per_token; you took "
    "half.": lambda shapes, size: size * _numbers(shapes),
    "[bytes_taken_twice] "
    "bytes_per_token has the K and the V in it already; you have taken it twice.": (
        lambda shapes, size: 4 * size * _numbers(shapes)
    ),
    "[first_layer_alone] "
    "layers may differ, and all are read: you have counted the first one. "
    "bytes_per_token(self.model.kv_shapes, self.model.dtype) counts all.": (
        lambda shapes, size: 2 * size * _numbers(shapes[:1])
    ),
    "[first_layer_for_all] "
    "layers may differ: you have counted the first one as often as there are layers. "
    "bytes_per_token(self.model.kv_shapes, self.model.dtype) counts each.": (
        lambda shapes, size: 2 * size * _numbers(shapes[:1]) * len(shapes)
    ),
    "[last_layer_for_all] "
    "layers may differ: you have counted the last one as often as there are layers. "
    "bytes_per_token(self.model.kv_shapes, self.model.dtype) counts each.": (
        lambda shapes, size: 2 * size * _numbers(shapes[-1:]) * len(shapes)
    ),
    "[multiplied_by_layers] "
    "bytes_per_token counts all layers already; you have multiplied by their number once more.": (
        lambda shapes, size: 2 * size * _numbers(shapes) * len(shapes)
    ),
    "[divided_by_layers] "
    "bytes_per_token counts all layers, and all are read; you have divided by their number.": (
        lambda shapes, size: 2 * size * _numbers(shapes) / len(shapes),
        lambda shapes, size: 2 * size * _numbers(shapes) // len(shapes),
    ),
    "[always_four_bytes] "
    "not every number has 4 bytes, a float16 has 2: bytes_per_token knows self.model.dtype.": (
        lambda shapes, size: 8 * _numbers(shapes)
    ),
    "[always_two_bytes] "
    "not every number has 2 bytes, a float32 has 4: bytes_per_token knows self.model.dtype.": (
        lambda shapes, size: 4 * _numbers(shapes)
    ),
    "[first_layer_with_four_bytes] "
    "layers may differ, and a float16 has 2 bytes; you have counted the first layer, with 4 bytes "
    "a number. bytes_per_token(self.model.kv_shapes, self.model.dtype) knows both.": (
        lambda shapes, size: 8 * _numbers(shapes[:1])
    ),
    "[first_layer_for_all_with_four_bytes] "
    "layers may differ, and a float16 has 2 bytes; you have counted the first layer, with 4 bytes "
    "a number, as often as there are layers. bytes_per_token(self.model.kv_shapes, "
    "self.model.dtype) knows both.": lambda shapes, size: 8 * _numbers(shapes[:1]) * len(shapes),
    "[numbers_not_bytes] bytes are asked for, and yours counts numbers.": lambda shapes, size: (
        2 * _numbers(shapes)
    ),
    "[tokens_not_bytes] "
    "bytes are asked for, and yours counts tokens: each has bytes_per_token bytes.": (
        lambda shapes, size: 1
    ),
    "[bytes_of_the_example] "
    "8 bytes a token is what the example has; ask "
    "bytes_per_token(self.model.kv_shapes, self.model.dtype).": lambda shapes, size: 8,
}
STEPS = {  # how the steps' numbers become the records'
    "": list,
    "[sum_of_all_steps] each record has its own step's bytes; yours adds up all steps so far.": (
        lambda steps: [sum(steps[: n + 1]) for n in range(len(steps))]
    ),
    "[most_of_all_steps] "
    "each record has its own step's bytes; yours has the most of all steps so far.": (
        lambda steps: [max(steps[: n + 1]) for n in range(len(steps))]
    ),
    "[bytes_of_the_step_before] "
    "each record has its own step's bytes; yours has those of the step before.": (
        lambda steps: [0, *steps[:-1]]
    ),
    "[always_zero] "
    "the field is there, and 0 in every record: hand the number on, from Engine.step through "
    "Trace.record to StepRecord.": lambda steps: [0] * len(steps),
}


def _numbers(shapes):
    return sum(heads * dim for heads, dim in shapes)


def given(forms):
    """A part for `why` whose forms are the same, whatever the run."""
    return rewritten(forms, lambda form: lambda *run: form)


def together(parts):
    steps, count, which, per_token, over = parts
    return over([per_token * which(rows, count) for rows in steps])


def bytes_of(forms):
    """A part for `why` whose forms look at the model alone."""
    return rewritten(forms, lambda form: lambda steps, shapes, size: form(shapes, size))


PARTS = (
    {"": lambda steps, shapes, size: steps},
    given(ROWS),
    given(WHICH),
    bytes_of(TOKEN),
    given(STEPS),
)


def probe(student, requests, policy="Continuous", kv_shapes=ONE_LAYER, dtype="float32", **more):
    """What the run was, for `PARTS`, and what the learner's records say of each step."""
    arguments = {"max_batch_size": 3, **more}
    options = {
        "policy": policy,
        "arguments": arguments,
        "num_blocks": 64,
        "block_size": 4,
        "kv_shapes": kv_shapes,
        "dtype": dtype,
    }
    asked = [[*request, 0.0] for request in requests]
    try:
        got = student.unpacked(
            student.ask("records", attribute="kv_bytes_read", requests=asked, options=options)
        )
    except Raised as error:
        if "has no attribute 'kv_bytes_read'" in error.sentence:
            raise NotAttempted(
                "[record_has_no_field] StepRecord has no kv_bytes_read yet"
            ) from None
        if "'NoneType' object has no attribute" in error.sentence:
            error.sentence += (
                ". [asks_for_a_transformers_model] "
                "Not every model of minibatch has a transformers model, .hf, behind it; all have "
                "self.model.kv_shapes and self.model.dtype."
            )
        raise
    model = Seen()
    engine = mb.Engine(
        model,
        getattr(mb, policy)(**arguments),
        num_blocks=64,
        block_size=4,
        clock=mb.VirtualClock(1.0),
    )

    @engine.on_step
    def who_stays(record):
        for row in model.steps[-1]:
            row.stays = row.sequence in engine.scheduler.running

    engine.run(mb.Request([0] * p, max_tokens=n, request_id=name) for name, p, n in requests)
    return (model.steps, kv_shapes, SIZES[dtype]), got


def compare(student, run, got, otherwise, skip=0):
    """skip: steps at the beginning that are another test's."""
    expected = together([part[""](*run) for part in PARTS])
    if not isinstance(got, list) or len(got) != len(expected):
        raise Wrong(
            "[step_without_a_record] Not every step has a record.", expected=expected[:6], got=got
        )
    for value in got:
        if type(value) is not int:
            kind = "None" if value is None else f"a {type(value).__name__}"
            raise Wrong(
                f"[bytes_are_no_int] kv_bytes_read has to be an int, and yours is {kind}.",
                expected=expected[:6],
                got=got[:6],
            )
    steps = enumerate(zip(expected, got, strict=True))
    different = [number for number, (a, b) in steps if a != b and number >= skip]
    if different:
        number = different[0]
        rows = run[0][number]
        lengths = ", ".join(str(row.seq_len) for row in rows)
        seen = f"seq_len of its rows: {lengths}; a token has {PARTS[3][''](*run)} bytes"
        raise Wrong(
            f"Step {number + 1} ({seen}): {explained(student, run, got) or otherwise}",
            expected=f"{expected[number]} bytes",
            got=f"{got[number]} bytes",
        )


def explained(student, run, got):
    """The beliefs behind numbers that are wrong: those that fit two more runs as well."""
    more = [
        probe(student, [["A", 6, 2], ["B", 3, 6], ["C", 9, 4]], "Static", THREE_LAYERS, "float16"),
        probe(student, [["A", 7, 3], ["B", 4, 5], ["C", 2, 2]], max_batch_tokens=3),
    ]
    return why([(run, got), *more], together, *PARTS)


@pytest.mark.task("4.3", points=1)
def test_a_decode_step_reads_the_whole_context(student):
    """After the prompt of 6, from the second step on; 8 bytes a token."""
    run, got = probe(student, [["A", 6, 5]])
    compare(
        student,
        run,
        got,
        "[other_bytes_of_one_token] "
        "its one new token attends to all of its row.seq_len tokens, and so reads the K and the V "
        "of each once.",
        skip=1,
    )


@pytest.mark.task("4.3", points=1)
def test_a_prompt_is_read_once_by_its_row(student):
    run, got = probe(student, [["A", 6, 2], ["B", 3, 2]])
    said = (
        "[other_bytes_of_a_prompt] "
        "a row that computes a whole prompt reads row.seq_len tokens once, like any other."
    )
    compare(student, run, got, said)


@pytest.mark.task("4.3", points=1)
def test_every_layer_and_the_kind_of_number_count(student):
    run, got = probe(student, [["A", 6, 3]], kv_shapes=THREE_LAYERS, dtype="float16")
    said = (
        "[other_bytes_of_other_layers] "
        "the model has 3 layers of other shapes, in float16; bytes_per_token(self.model.kv_shapes, "
        "self.model.dtype) knows both."
    )
    compare(student, run, got, said)


@pytest.mark.task("4.3", points=1)
def test_rows_of_padding_read_too(student):
    run, got = probe(student, [["A", 6, 2], ["B", 3, 6]], policy="Static")
    said = (
        "[other_bytes_with_padding] "
        "each row reads its row.seq_len tokens: no more for the padding of a short prompt, and no "
        "less once its sequence has ended."
    )
    compare(student, run, got, said)


@pytest.mark.task("4.3", points=1)
def test_it_holds_for_any_requests(student, rng):
    run, got = probe(student, [["A", 7, 3], ["B", 4, 5], ["C", 2, 2]], max_batch_tokens=3)
    compare(
        student,
        run,
        got,
        "[other_bytes_of_a_policy] count row.seq_len of each row of the plan, once.",
    )
    requests = [[ask.name, ask.prompt, ask.answer] for ask in some_requests(rng)]
    run, got = probe(student, requests, max_batch_tokens=rng.choice([3, 5, 50]))
    compare(
        student,
        run,
        got,
        "[other_bytes_of_another_policy] count row.seq_len of each row of the plan, once.",
    )


NOW_YOURS = {
    "4.1": now_yours.continuous,
    "4.2": lambda student: now_yours.updating(updating(student)),
    "4.3": now_yours.probe,
}

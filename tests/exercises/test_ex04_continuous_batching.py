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
            f"A's prompt has 4 tokens, and its row computes {row.num_tokens}: a sequence that "
            "joins computes its whole prompt, num_uncomputed_tokens.",
            expected="A: 4",
            got=f"A: {row.num_tokens}",
        )
    no_padding(both)
    computed = {row.request_id: row.num_tokens for row in both.rows}
    if computed.get("B") not in (7, None):
        raise Wrong(
            "[other_prompt_in_pieces] "
            f"B's prompt has 7 tokens, and its row computes {computed['B']}: compute a prompt "
            "whole, in one step.",
            expected="B: 7",
            got=f"B: {computed['B']}",
        )
    long = serve(planning(student), asks(("A", 5000, 6)), num_blocks=4000, steps=1)
    (row,) = long.trace.steps[0].rows
    if row.num_tokens != 5000:
        raise Wrong(
            "[long_prompt_in_pieces] "
            f"A's prompt has 5,000 tokens, and its row computes {row.num_tokens:,}: a sequence "
            "that joins computes its whole prompt, however long it is.",
            expected="A: 5000",
            got=f"A: {row.num_tokens}",
        )


def no_padding(step):
    for row in step.rows:
        if row.num_padding_tokens:
            raise Wrong(
                "[rows_are_padded] "
                f"{row.request_id}'s row has {row.num_padding_tokens} tokens of padding: rows "
                "need not be equally long here, so padding only wastes time."
            )


@pytest.mark.task("4.1", points=0.25)
def test_at_most_as_many_run_as_there_are_slots(student):
    engine = serve(planning(student), FIVE, steps=1)
    if len(engine.scheduler.running) > 3:  # as the engine itself says of too many rows
        raise Wrong(
            "[more_run_than_slots] "
            f"{len(engine.scheduler.running)} sequences run in 3 slots: check len(self.running) < "
            "self.max_batch_size before each sequence joins."
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
                f"[admitted_without_a_row] You admit {joined + len(without)} in step {number}, and "
                f"{have} of them {'have' if joined > 1 else 'has'} a row: each sequence that joins "
                "gets a row in the same step, inside the loop that admits.",
                expected=", ".join(sorted({*step.admitted} | without)),
                got=", ".join(sorted(step.admitted)),
                drawing=drawn(expected, engine),
            )
        if joined < room:
            free = f"{3 - running} slots were free" if running < 2 else "a slot was free"
            raise Wrong(
                f"[nobody_joins] In step {number} no sequence joined, though {free} and requests "
                f"waited. {idle(engine)}"
                if joined == 0
                else f"Only {joined} joined in step {number}, though {free} and {waiting} requests "
                "waited: "
                + (
                    "[slot_stays_empty] a slot stays empty. While len(self.running) < "
                    "self.max_batch_size, the next request joins."
                    if joined == 2 and max(len(each.rows) for each in engine.trace.steps) == 2
                    else "[too_few_join_a_step] in each step, admit as many requests as there is "
                    "room for."
                    if joined > 1
                    else "[one_joins_a_step] admit requests in a loop, while there is room."
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
            "Three slots and the whole pool are free, A, B and C wait with 400 tokens each, and "
            f"only {len(step.rows)} joined. Here only slots and blocks limit admission, not a "
            "token budget: a sequence that fits joins now, however long its prompt is.",
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
            return (
                "[free_slot_is_not_taken] You leave a slot free: a free slot must be filled in "
                "the next step."
            )
        running = (running | set(step.admitted)) - set(step.finished)
    return (
        "[waits_for_the_whole_batch] "
        "Your plan waits until the whole batch has ended before a sequence joins, which is static "
        "batching. Fill a free slot in the next step, even while others run."
    )


@pytest.mark.task("4.1", points=0.25)
def test_each_running_sequence_gets_a_row_in_every_step(student):
    engine, left_out = served(student, FIVE)
    for number, step in enumerate(engine.trace.steps, 1):
        no_padding(step)
        if left_out[number - 1]:
            planned = {row.request_id for row in step.rows}
            still = ", ".join(sorted(left_out[number - 1]))
            raise Wrong(
                "[runner_stands_still] "
                f"In step {number}, {still} had no row. Each running sequence has a row in every "
                "step, also while another sequence's prompt is computed.",
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
                    f"In step {number}, {empty} of {slots} slots were empty while "
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
            "The requests arrived in the order A, B, C, D, E and joined in another order. Then a "
            "request can be overtaken forever. The head of the queue joins first.",
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
            f"The pool of {num_blocks} blocks ran out ({error.sentence}). When a sequence joins, "
            "take blocks for max_num_tokens: its prompt and its longest possible answer. Ask "
            "self.can_grow for the same number first, and let the sequence wait if the answer is "
            "no."
        ) from None


@pytest.mark.task("4.1", points=1.25)
def test_a_request_that_does_not_fit_into_the_pool_waits_and_is_not_overtaken(student):
    """Blocks of 4, answers of up to 12: A and B may need 4 each, C 7, for its prompt 4, D 4."""
    asks_the_pool(lambda slots: planning(student, slots), 4)
    requests = asks(("A", 4, 12), ("B", 4, 12), ("C", 16, 12), ("D", 1, 2))
    engine = in_a_small_pool(student, 4, requests, 12, max_tokens=12)
    first = engine.trace.steps[0].admitted
    if "B" not in first and {"C", "D"} & {*first}:
        raise Wrong(
            "[runner_sent_back] "
            "A and B fit, and C does not. But B did not run, and "
            f"{' and '.join(sorted({*first} - {'A'}))} did. Was B preempted to make room for C? A "
            "running sequence continues, and one that does not fit waits.",
            expected="A, B",
            got=", ".join(sorted(first)),
        )
    if joined(engine) != "A, B, C, D":
        raise Wrong(
            "[later_one_overtakes] "
            "C did not fit into the pool, and D, which arrived later, overtook it. Let the "
            "requests behind C wait, too; otherwise a large request may wait forever.",
            expected="A, B, C, D",
            got=joined(engine),
        )
    two = asks(("A", 5, 12), ("B", 5, 12))  # 16 tokens are exactly 4 blocks
    engine = in_a_small_pool(student, 4, two, 8, max_tokens=12, steps=1)
    if len(engine.trace.steps[0].rows) < 2:
        raise Wrong(
            "[exact_fit_waits] A and B may need 4 blocks each, for their max_num_tokens, 16; 8 "
            "blocks are free, and only A joined. Ask for max_num_tokens (prompt and longest "
            "answer), and no more."
        )
    requests = asks(("A", 4, 2), ("B", 4, 12), ("C", 4, 3))
    engine = in_a_small_pool(student, 4, requests, 8, max_tokens=12)
    if "C" not in {row.request_id for row in engine.trace.steps[2].rows}:
        raise Wrong(
            "[free_blocks_are_not_taken] You leave 4 blocks unused. A left after step 2, and C "
            "needs exactly these 4 blocks. In step 3 C still waited, while B continued. "
            f"{idle(engine)}"
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
                f"[other_answer_than_alone] {completion.request_id}'s answer is not the answer "
                f"that {completion.request_id} gets alone: some tokens were computed without keys "
                "and values, or with those of another sequence.",
                expected=expected,
                got=completion.token_ids,
            )


@pytest.mark.task("4.1", points=0.25)
def test_an_aborted_request_leaves_its_blocks(student):
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
        "[blocks_of_one_given_up] You leave the blocks of an aborted request unused: A was aborted "
        "after step 2, and C needs exactly A's 4 blocks, which are free at once. Ask "
        "self.can_grow, and keep no count of your own.",
    )


@pytest.mark.task("4.1", points=1)
def test_any_requests_take_exactly_the_steps_they_need(student, rng):
    said = (
        "[other_plan] Compare your plan with the rule: first all running sequences, then the queue."
    )
    same_plan(serve(Reserving(3), FIVE), serve(planning(student), FIVE), said)
    serves_in_an_engine(planning(student), Reserving(3), FIVE)
    in_a_small_pool(student, 3, FIVE, 13)
    for requests in (some_requests(rng) for _ in range(3)):
        same_plan(serve(Reserving(3), requests), serve(planning(student), requests), said)
    in_a_small_pool(student, 3, some_requests(rng), 10)


@pytest.mark.task("4.1", points=0.25)
def test_a_sequence_that_joins_computes_what_is_not_computed_yet(student):
    """With prefixes in the cache, and after a forward pass that failed; then A and B need 4 blocks
    of 4 each, as before it."""
    computes_what_is_left(
        planning(student),
        Reserving(3),
        TWO_ALIKE,
        f"[computes_what_is_cached] {CACHED}",
        others=(
            "[others_run_with_a_cached_prefix] Your policy runs other sequences when a cache is "
            "on. The cache changes how much a row computes, not which sequences run."
        ),
        prefix_caching=True,
    )
    computes_what_is_left(
        planning(student),
        Reserving(3),
        asks(("A", 4, 12), ("B", 4, 12)),
        f"[other_need_after_a_failed_pass] {FAILED}",
        others=(
            "[reserves_the_answer_again] You reserve the tokens of the answer twice. Pass 4 "
            "failed, and A and B are in the queue again, with 3 tokens of their answers. They "
            "need 4 blocks of 4 each as before, for max_num_tokens, and 8 are free. "
            "num_uncomputed_tokens already includes those tokens of the answer."
        ),
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
def test_a_finished_sequence_leaves_at_once_and_frees_its_blocks(student):
    """A and B finish in the same step, C later; then D takes a slot and some of their blocks."""
    requests = asks(("A", 4, 3), ("B", 7, 3), ("C", 5, 6), ("D", 9, 4))
    try:
        engine = serve(updating(student), requests, num_blocks=24)
    except Wrong as error:
        stays = any(code in error.sentence for code in STILL_RUNNING)
        if stays and leaves_only_with_the_others(student):
            raise Wrong(
                "[leaves_with_the_others] In step 3 A and B finished, and your `update` keeps them "
                "while C continues, although it lets a lone sequence leave. Leaving together is "
                "static batching; here a finished sequence leaves at once, even while others run."
            ) from None
        raise
    if engine.pool.num_free != 24:
        raise Wrong(
            "[blocks_are_not_free] Some blocks are not free when all requests have finished: a "
            "finished sequence gives back all its blocks.",
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
def test_the_finished_sequences_are_returned_and_no_others(student):
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
def test_any_requests_end_in_the_right_step(student, rng):
    for requests in (some_requests(rng) for _ in range(3)):
        engine = serve(updating(student, most_tokens=rng.choice([2, 5, 100])), requests)
        lengths = {c.request_id: len(c.token_ids) for c in engine.trace.completions}
        expected = {ask.name: ask.answer for ask in requests}
        if lengths != expected:
            raise Wrong(
                "[answers_have_other_lengths] With your `update`, answers are too short or too "
                "long.",
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
    "a row's new tokens also attend to everything before them: the row reads K and V of all "
    "row.seq_len tokens, not only of the new ones (num_tokens).": lambda row: row.num_tokens,
    "[reads_the_old_tokens_alone] a row reads row.seq_len tokens, including the new ones; you have "
    "counted only the tokens that were in the cache before (row.start).": lambda row: row.start,
    "[reads_the_sampled_token] you count the token that was just sampled; the step reads "
    "row.seq_len tokens of each "
    "row. After `update`, sequence.num_tokens is already one higher.": lambda row: row.has_then,
    "[reads_all_tokens_of_the_sequence] you count sequence.num_tokens, all tokens of the "
    "sequence, computed or not; a row reads row.seq_len tokens.": (lambda row: row.has),
    "[reads_for_each_computed_token] a row reads row.seq_len tokens once, even if it computes "
    "many; you "
    "have counted all of them again for each new token.": lambda row: row.num_tokens * row.seq_len,
    "[reads_what_comes_before_each] a row reads row.seq_len tokens once; you have counted all "
    "earlier "
    "tokens again for each new token.": lambda row: sum(range(row.start + 1, row.seq_len + 1)),
    "[reads_for_padding] you count padding tokens; a row reads row.seq_len tokens, and the "
    "padding of a short prompt adds none.": lambda row: row.seq_len + row.padding,
    "[reads_padding_as_computed] "
    "a row reads row.seq_len tokens, all that its sequence has in the cache; you have counted the "
    "tokens that it computes, including padding.": lambda row: row.num_tokens + row.padding,
    "[reads_padding_again] you count reads for padding; a row reads row.seq_len tokens, each once, "
    "and padding adds no reads.": (lambda row: row.seq_len * (1 + row.padding)),
    "[reads_one_new_token] a row reads row.seq_len tokens, and a prompt's row has many new tokens; "
    "you have counted only one new token (row.start + 1).": lambda row: row.start + 1,
    "[reads_one_token_more] "
    "a row reads row.seq_len tokens; you have counted one more.": lambda row: row.seq_len + 1,
    "[reads_one_token_less] a row reads row.seq_len tokens, including the newest; you have left "
    "the newest token out.": (lambda row: row.seq_len - 1),
    "[reads_the_prompt_alone] you count only the prompt; the answer's tokens are read, too: "
    "row.seq_len.": (
        lambda row: row.prompt,
        lambda row: min(row.seq_len, row.prompt),
    ),
    "[reads_the_longest_answer] you have counted the longest possible answer; a row reads only "
    "row.seq_len tokens.": (lambda row: row.most, lambda row: row.most + 1),
    "[reads_the_answer_alone] you count only the answer; the prompt's tokens are read, too: "
    "row.seq_len.": (lambda row: row.has - row.prompt),
    "[reads_the_answer_before_the_newest] you count only the answer up to the newest token; the "
    "prompt's tokens "
    "and the newest token are read, too: row.seq_len.": lambda row: row.has_then - row.prompt,
    "[reads_twice_what_it_computes] you count the computed tokens twice; a row reads row.seq_len "
    "tokens. (Do not count writes. After `update`, num_computed_tokens has changed, but row.start "
    "has not.)": (lambda row: row.seq_len + row.num_tokens),
    "[reads_whole_blocks] you count whole blocks; only the row.seq_len tokens in the blocks are "
    "read.": (
        lambda row: row.in_blocks,
        lambda row: -(-row.seq_len // 4) * 4,
    ),
    "[reads_whole_blocks_of_who_has_not_left] you count whole blocks of the sequences that have "
    "not left; only the row.seq_len tokens in the blocks are read, and a sequence that has left "
    "has no blocks any more.": lambda row: row.in_blocks * row.stays,
    "[counts_rows] each row reads row.seq_len tokens; you have counted rows.": lambda row: 1,
}
WHICH = {  # how the rows of a step come together
    "": lambda rows, count: sum(map(count, rows)),
    "[padding_rows_left_out] you leave out padding rows; a finished sequence's row reads as much "
    "as before.": (lambda rows, count: sum(count(row) for row in rows if row.num_tokens)),
    "[prompt_rows_left_out] you count only decode rows; rows that compute a prompt read, too.": (
        lambda rows, count: sum(count(row) for row in rows if row.kind == "decode")
    ),
    "[decode_rows_left_out] you count only rows that compute a prompt; decode rows read, too.": (
        lambda rows, count: sum(count(row) for row in rows if row.kind == "prefill")
    ),
    "[finishing_rows_left_out] you leave out a sequence that finishes in this step; its row has "
    "read K and V, too.": (
        lambda rows, count: sum(count(row) for row in rows if not row.has_ended),
        lambda rows, count: sum(
            count(row) for row in rows if not (row.has_ended and row.num_tokens)
        ),
    ),
    "[rows_without_a_token_left_out] you leave out rows that generate no token: a piece of a "
    "prompt, or padding. These rows read, too.": (
        lambda rows, count: sum(count(row) for row in rows if row.brings)
    ),
    "[equal_rows_count_once] you count equal rows once, as in a set; each row reads separately, "
    "even if two rows read equally much.": lambda rows, count: sum({count(row) for row in rows}),
    "[sums_over_who_still_runs] you sum over the sequences that still run after the step; a "
    "sequence that leaves in this step has also read its K and V: sum over plan.rows.": (
        lambda rows, count: sum(count(row) for row in rows if row.stays)
    ),
    "[first_row_alone] add up all rows; you have counted only the first.": (
        lambda rows, count: count(rows[0])
    ),
    "[last_row_alone] add up all rows; you have counted only the last.": (
        lambda rows, count: count(rows[-1])
    ),
    "[longest_row_alone] add up all rows; you have counted only the longest.": (
        lambda rows, count: max(map(count, rows))
    ),
    "[longest_row_for_all] each row reads its own row.seq_len tokens; you have used the longest "
    "row's number for all rows.": (lambda rows, count: len(rows) * max(map(count, rows))),
    "[mean_of_the_rows] add up all rows of a step; you have taken their mean.": (
        lambda rows, count: sum(map(count, rows)) / len(rows)
    ),
}
TOKEN = {  # bytes of one token, of the layers' shapes and the bytes of a number
    "": lambda shapes, size: 2 * size * _numbers(shapes),
    "[half_of_the_bytes] you have counted half of the bytes; a row reads both K and V of each "
    "token, as bytes_per_token counts them.": lambda shapes, size: size * _numbers(shapes),
    "[bytes_taken_twice] bytes_per_token already includes K and V; you have multiplied it by 2.": (
        lambda shapes, size: 4 * size * _numbers(shapes)
    ),
    "[first_layer_alone] you have counted only the first layer; layers may differ, and all are "
    "read. bytes_per_token(self.model.kv_shapes, self.model.dtype) counts all layers.": (
        lambda shapes, size: 2 * size * _numbers(shapes[:1])
    ),
    "[first_layer_for_all] you have multiplied the first layer by the number of layers; layers may "
    "differ. bytes_per_token(self.model.kv_shapes, self.model.dtype) counts each layer.": (
        lambda shapes, size: 2 * size * _numbers(shapes[:1]) * len(shapes)
    ),
    "[last_layer_for_all] you have multiplied the last layer by the number of layers; layers may "
    "differ. bytes_per_token(self.model.kv_shapes, self.model.dtype) counts each layer.": (
        lambda shapes, size: 2 * size * _numbers(shapes[-1:]) * len(shapes)
    ),
    "[multiplied_by_layers] bytes_per_token already counts all layers; you have multiplied by the "
    "number of layers again.": (lambda shapes, size: 2 * size * _numbers(shapes) * len(shapes)),
    "[divided_by_layers] you have divided by the number of layers; bytes_per_token counts all "
    "layers, and all are read.": (
        lambda shapes, size: 2 * size * _numbers(shapes) / len(shapes),
        lambda shapes, size: 2 * size * _numbers(shapes) // len(shapes),
    ),
    "[always_four_bytes] you count 4 bytes for each number, but a float16 has 2: give "
    "self.model.dtype to bytes_per_token.": (lambda shapes, size: 8 * _numbers(shapes)),
    "[always_two_bytes] you count 2 bytes for each number, but a float32 has 4: give "
    "self.model.dtype to bytes_per_token.": (lambda shapes, size: 4 * _numbers(shapes)),
    "[first_layer_with_four_bytes] you have counted only the first layer, with 4 bytes for each "
    "number; layers may differ, and a float16 has 2 bytes. bytes_per_token(self.model.kv_shapes, "
    "self.model.dtype) counts both.": (lambda shapes, size: 8 * _numbers(shapes[:1])),
    "[first_layer_for_all_with_four_bytes] you have multiplied the first layer, with 4 bytes for "
    "each number, by the number of layers; layers may differ, and a float16 has 2 bytes. "
    "bytes_per_token(self.model.kv_shapes, "
    "self.model.dtype) counts both.": lambda shapes, size: 8 * _numbers(shapes[:1]) * len(shapes),
    "[numbers_not_bytes] "
    "the answer must be in bytes, and you count numbers.": lambda shapes, size: (
        2 * _numbers(shapes)
    ),
    "[tokens_not_bytes] you count tokens; the answer must be in bytes: each token has "
    "bytes_per_token bytes.": (lambda shapes, size: 1),
    "[bytes_of_the_example] you use 8 bytes for each token, which is right only in the example; "
    "use bytes_per_token(self.model.kv_shapes, self.model.dtype).": lambda shapes, size: 8,
}
STEPS = {  # how the steps' numbers become the records'
    "": list,
    "[sum_of_all_steps] you add up all steps so far; each record has the bytes of only one step.": (
        lambda steps: [sum(steps[: n + 1]) for n in range(len(steps))]
    ),
    "[most_of_all_steps] you record the largest number of all steps so far; each record has the "
    "bytes of only one step.": (lambda steps: [max(steps[: n + 1]) for n in range(len(steps))]),
    "[bytes_of_the_step_before] you record the bytes of the step before; each record has the bytes "
    "of its own step.": (lambda steps: [0, *steps[:-1]]),
    "[always_zero] kv_bytes_read is 0 in every one of your records: pass the number from "
    "Engine.step through Trace.record to StepRecord.": lambda steps: [0] * len(steps),
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
                ". [asks_for_a_transformers_model] Not every model of minibatch has a "
                "transformers model (.hf); all have self.model.kv_shapes and self.model.dtype."
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
                "[bytes_are_no_int] kv_bytes_read must be an int, and your kv_bytes_read is "
                f"{kind}.",
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
        "[other_bytes_of_one_token] your number is wrong: the one new token attends to all "
        "row.seq_len tokens, and so reads K and V of each of these tokens once.",
        skip=1,
    )


@pytest.mark.task("4.3", points=1)
def test_a_prompt_is_read_once_by_its_row(student):
    run, got = probe(student, [["A", 6, 2], ["B", 3, 2]])
    said = (
        "[other_bytes_of_a_prompt] your number is wrong: a row that computes a whole prompt "
        "reads row.seq_len tokens once, like any other row."
    )
    compare(student, run, got, said)


@pytest.mark.task("4.3", points=1)
def test_every_layer_and_the_kind_of_number_count(student):
    run, got = probe(student, [["A", 6, 3]], kv_shapes=THREE_LAYERS, dtype="float16")
    said = (
        "[other_bytes_of_other_layers] your number is wrong: the model has 3 layers of different "
        "shapes, in float16; bytes_per_token(self.model.kv_shapes, self.model.dtype) counts both."
    )
    compare(student, run, got, said)


@pytest.mark.task("4.3", points=1)
def test_rows_of_padding_read_too(student):
    run, got = probe(student, [["A", 6, 2], ["B", 3, 6]], policy="Static")
    said = (
        "[other_bytes_with_padding] your number is wrong: each row reads its row.seq_len tokens. "
        "The padding of a short prompt adds none, and a finished sequence's row reads as much as "
        "before."
    )
    compare(student, run, got, said)


@pytest.mark.task("4.3", points=1)
def test_it_holds_for_any_requests(student, rng):
    run, got = probe(student, [["A", 7, 3], ["B", 4, 5], ["C", 2, 2]], max_batch_tokens=3)
    compare(
        student,
        run,
        got,
        "[other_bytes_of_a_policy] your number is wrong: count row.seq_len of each row of the "
        "plan once.",
    )
    requests = [[ask.name, ask.prompt, ask.answer] for ask in some_requests(rng)]
    run, got = probe(student, requests, max_batch_tokens=rng.choice([3, 5, 50]))
    compare(
        student,
        run,
        got,
        "[other_bytes_of_another_policy] your number is wrong: count row.seq_len of each row of "
        "the plan once.",
    )


NOW_YOURS = {
    "4.1": now_yours.continuous,
    "4.2": lambda student: now_yours.updating(updating(student)),
    "4.3": now_yours.probe,
}

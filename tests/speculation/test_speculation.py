"""Guesses change when a token comes, never which one; and what they take, they give back."""

import contextlib
import math
import random
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracle import assert_same_sample, assert_same_tokens
from tiny import make_tiny_model

import minibatch as mb
from minibatch.core.plan import Row
from minibatch.speculation.drafting import Drafting

chance = random.Random(10)
PROMPTS = [chance.choices(range(2, 128), k=n) for n in (1, 2, 5, 9, 17, 33)] + [[7, 8] * 9]
WAYS = [{}, {}, {"temperature": 2.0, "top_k": 4, "seed": 1}, {"temperature": 3.0, "seed": 3}]


@pytest.fixture(scope="module")
def other_model():
    return make_tiny_model(seed=1)


def requests(**more):
    return [mb.Request(prompt, max_tokens=12, ignore_eos=True, **more) for prompt in PROMPTS]


def served(model, requests, speculation=None, scheduler=None, **more):
    engine = mb.Engine(model, scheduler or mb.Continuous(4), speculation=speculation, **more)
    completions = engine.run(requests)
    engine.check_invariants()
    assert engine.pool.num_free == engine.pool.num_blocks
    return engine, [completion.token_ids for completion in completions]


def knowing(answers, wrong_at=()):
    """A guesser that knows every answer, but says 2 for every token at these places."""

    def guess(token_ids, most):
        for prompt, answer in answers:
            whole = prompt + answer
            if token_ids == whole[: len(token_ids)]:
                at = range(len(token_ids) - len(prompt), len(answer))
                return [2 if i in wrong_at else answer[i] for i in at][:most]
        return []

    return guess


# Acceptance.


def drafted(draft):
    sequence = mb.Sequence(mb.Request([5]), "A", [5, 6], 1, num_computed_tokens=1)
    return Row(sequence, 1, draft=draft)


@pytest.mark.parametrize(
    ("draft", "own", "new"),
    [
        ((), [4], [4]),
        ([4, 9, 3], [4, 9, 3, 8], [4, 9, 3, 8]),  # all right, and one more
        ([4, 9, 3], [4, 7, 3, 8], [4, 7]),  # the 3 follows a wrong guess: nobody asked for it
        ([4, 9, 3], [1, 9, 3, 8], [1]),
    ],
)
def test_guesses_are_kept_up_to_the_first_wrong_one_and_one_token_comes_anyway(draft, own, new):
    assert drafted(draft).verified(own) == new


def test_every_guess_of_the_model_itself_is_right(tiny_model):
    _, plain = served(tiny_model, requests())
    engine, tokens = served(tiny_model, requests(), mb.DraftModel(tiny_model, num_guesses=3))
    assert tokens == plain
    summary = engine.trace.summary()
    assert summary["acceptance_rate"] == 1
    first_and_11_more_by_fours = 1 + math.ceil(11 / 4)
    assert all(
        sum(r.request_id == c.request_id for s in engine.trace.steps for r in s.rows)
        == first_and_11_more_by_fours
        for c in engine.trace.completions
    )


@pytest.mark.parametrize("attention", ["reference", "gather", "cpu"])
@pytest.mark.parametrize("num_guesses", [1, 4, 9])
def test_tokens_do_not_depend_on_attention_and_number(tiny_model, attention, num_guesses):
    _, plain = served(tiny_model, requests())
    answers = list(zip(PROMPTS, plain, strict=True))
    lookup = knowing(answers, wrong_at=(3, 7))
    proposer = mb.speculation.Function(lookup, num_guesses)
    engine, tokens = served(tiny_model, requests(), proposer, attention=attention)
    assert tokens == plain
    assert 0 < engine.trace.summary()["acceptance_rate"] < 1


def test_a_draw_is_the_same_whether_guessed_or_not(tiny_model, other_model):
    sampled = requests(temperature=2.0, seed=5)
    _, plain = served(tiny_model, sampled)
    assert served(tiny_model, sampled, mb.DraftModel(other_model))[1] == plain
    engine, tokens = served(tiny_model, sampled, mb.DraftModel(tiny_model))
    assert tokens == plain
    assert engine.trace.summary()["acceptance_rate"] == 1  # it draws with the same numbers


def test_a_draft_model_forgets_what_its_wrong_guesses_wrote(tiny_model, other_model):
    draft, asked = mb.DraftModel(other_model, num_guesses=3), []
    guess_all = draft.guess_all

    def noted(sequences, most):
        guesses = guess_all(sequences, most)
        asked.extend((list(s.token_ids), g) for s, g in zip(sequences, guesses, strict=True))
        return guesses

    draft.guess_all = noted
    engine, _ = served(tiny_model, requests()[2:5], draft)
    assert engine.trace.summary()["num_accepted"] < engine.trace.summary()["num_drafted"]
    for token_ids, guesses in asked:
        if guesses:
            afresh = [mb.Request(token_ids, max_tokens=len(guesses), ignore_eos=True)]
            assert guesses == served(other_model, afresh)[1][0]


# Ends, inside a draft.


def test_an_answer_ends_at_a_stop_token_in_the_midst_of_right_guesses(tiny_model):
    _, plain = served(tiny_model, requests())
    stop = plain[3][5]
    stopping = [mb.Request(PROMPTS[3], max_tokens=12, ignore_eos=True, stop_token_ids=[stop])]
    guesser = knowing([(PROMPTS[3], plain[3])])
    engine, [tokens] = served(tiny_model, stopping, guesser)
    assert tokens == plain[3][: plain[3].index(stop) + 1]
    assert engine.trace.completions[0].finish_reason == "stop"


def test_no_guess_is_made_past_the_last_token(tiny_model):
    _, plain = served(tiny_model, requests())
    guesser = knowing(list(zip(PROMPTS, plain, strict=True)))
    engine, tokens = served(tiny_model, requests(), guesser)
    assert tokens == plain
    for step in engine.trace.steps:
        for row in step.rows:
            assert len(row.token_ids) == row.num_accepted + 1  # so none was for nothing


# Records.


def test_the_record_tells_what_was_guessed_kept_and_refused(tiny_model):
    _, plain = served(tiny_model, requests()[3:4])
    engine, _ = served(tiny_model, requests()[3:4], knowing([(PROMPTS[3], plain[0])], wrong_at=[3]))
    first, second, third = (step.rows[0] for step in engine.trace.steps[:3])
    assert (first.kind, first.draft) == ("prefill", ())
    a, b, c, d = plain[0][1:5]
    assert (second.draft, second.token_ids) == ((a, b, 2, d), (a, b, c))
    assert (second.num_accepted, second.num_rejected) == (2, 1)
    assert third.num_rejected == 0
    summary = engine.trace.summary()
    assert summary["num_drafted"] == sum(len(s.rows[0].draft) for s in engine.trace.steps)
    assert summary["tokens_per_draft"] == 11 / (len(engine.trace.steps) - 1)


def test_who_comes_in_a_stream_gets_all_tokens_of_a_step(tiny_model):
    _, plain = served(tiny_model, requests())
    engine = mb.Engine(tiny_model, mb.Continuous(2), speculation=mb.DraftModel(tiny_model))
    events = [e for e in engine.stream(requests()[:2]) if e.token_id is not None]
    names = list(dict.fromkeys(event.request_id for event in events))
    assert [[e.token_id for e in events if e.request_id == name] for name in names] == plain[:2]


# Room.


def test_a_block_that_only_a_refused_guess_needed_goes_back(tiny_model):
    guesser = knowing([])  # knows nothing
    wrong = mb.speculation.Function(lambda ids, most: [3] * most, 6)
    for proposer in (guesser, wrong):
        engine = mb.Engine(tiny_model, mb.Continuous(1), block_size=2, speculation=proposer)
        engine.add(mb.Request(PROMPTS[3], max_tokens=12, ignore_eos=True))
        while engine.has_work:
            engine.step()
            for sequence in engine.scheduler.running:
                assert len(sequence.block_table) <= math.ceil(sequence.num_tokens / 2)


def test_nobody_is_preempted_for_a_guess(tiny_model):
    two = [mb.Request(PROMPTS[3], max_tokens=8, ignore_eos=True) for _ in range(2)]
    engine, tokens = served(
        tiny_model, two, mb.DraftModel(tiny_model), block_size=4, num_blocks=2 * 4
    )
    assert engine.trace.summary()["num_preemptions"] == 0
    assert tokens == served(tiny_model, two)[1]


def test_guesses_keep_within_the_policy_s_budget(tiny_model):
    engine, _ = served(
        tiny_model, requests(), mb.DraftModel(tiny_model), mb.Continuous(3, max_batch_tokens=7)
    )
    for step in engine.trace.steps:
        assert sum(row.num_tokens + len(row.draft) for row in step.rows) <= 7
    assert engine.trace.summary()["num_accepted"] > 0


def test_a_draft_model_without_room_leaves_some_without_guesses(tiny_model):
    _, plain = served(tiny_model, requests())
    draft = mb.DraftModel(tiny_model, num_blocks=3, block_size=4)
    engine, tokens = served(tiny_model, requests(), draft)
    assert tokens == plain
    assert engine.trace.summary()["num_drafted"] > 0
    assert draft.pool.num_free == 3


# What is refused.


def test_what_cannot_guess_is_refused(tiny_model):
    def engine(speculation):
        return mb.Engine(tiny_model, mb.Continuous(2), speculation=speculation)

    with pytest.raises(TypeError, match="give mb.DraftModel"):
        engine(tiny_model)
    with pytest.raises(TypeError, match="is a class"):
        engine(mb.PromptLookup)
    with pytest.raises(TypeError, match="speculation is a int"):
        engine(4)
    with pytest.raises(ValueError, match="share a tokenizer"):
        engine(mb.DraftModel(mb.PretendModel()))
    draft = mb.DraftModel(tiny_model)
    engine(draft)
    with pytest.raises(RuntimeError, match="make a new one"):
        engine(draft)


@pytest.mark.parametrize(
    ("answer", "error"),
    [(None, "give a list"), ([128], "outside the vocabulary, 0 to 127"), (["a"], "integer")],
)
def test_a_guess_that_is_no_token_is_told_and_the_engine_goes_on(tiny_model, answer, error):
    answers = iter([answer])
    engine = mb.Engine(
        tiny_model, mb.Continuous(2), speculation=lambda ids, most: next(answers, [])
    )
    engine.add(requests()[3])
    engine.step()
    with pytest.raises((TypeError, ValueError), match=error):
        engine.step()
    engine.check_invariants()
    while engine.has_work:
        engine.step()
    assert engine.trace.completions[0].token_ids == served(tiny_model, requests()[3:4])[1][0]


def test_without_a_proposer_nothing_is_done():
    Drafting(None, mb.Continuous(2), 128, 256).add_to(None)  # looks at nothing


# Prompt lookup.


@pytest.mark.parametrize(
    ("token_ids", "guesses"),
    [
        ([1, 2, 3], []),
        ([1, 2, 3, 1], [2, 3, 1]),
        ([1, 2, 5, 6, 9, 2, 7, 7, 1, 2], [5, 6, 9, 2]),  # two equal tokens beat one, though older
        ([4, 8, 4, 9, 4], [9, 4]),  # the latest of equals
        ([6, 6, 6], [6]),
    ],
)
def test_prompt_lookup_guesses_what_followed_the_longest_match(token_ids, guesses):
    assert mb.PromptLookup().guess(token_ids, 4) == guesses


def test_prompt_lookup_may_want_a_longer_match():
    assert mb.PromptLookup(shortest=2).guess([1, 2, 3, 1], 4) == []


# Whatever happens.


@dataclass
class Workload:
    requests: list[mb.Request]
    scheduler: mb.Scheduler
    block_size: int
    spare_blocks: int
    prefix_caching: bool
    proposer: str
    num_guesses: int
    draft_blocks: int | None
    aborts: dict[int, int] = field(default_factory=dict)  # step: whom
    forks: dict[int, int] = field(default_factory=dict)
    faults: set[int] = field(default_factory=set)  # calls of the guesser that raise

    @property
    def num_blocks(self):
        longest = max(len(r.prompt) + r.max_tokens for r in self.requests)
        return -(-longest // self.block_size) + self.spare_blocks


@st.composite
def asked(draw):
    return mb.Request(
        draw(st.sampled_from(PROMPTS)),
        max_tokens=draw(st.integers(1, 14)),
        stop_token_ids=draw(st.lists(st.integers(2, 127), max_size=9)),
        **draw(st.sampled_from(WAYS)),
    )


sizes = st.integers(1, 5)
some = st.dictionaries(st.integers(0, 12), st.integers(0, 6), max_size=3)
workloads = st.builds(
    Workload,
    requests=st.lists(asked(), min_size=1, max_size=7),
    scheduler=st.one_of(
        st.builds(mb.Static, sizes),
        st.builds(mb.Continuous, sizes),
        st.builds(
            lambda size, more: mb.Continuous(size, max_batch_tokens=size + more),
            sizes,
            st.integers(0, 9),
        ),
    ),
    block_size=st.sampled_from([1, 2, 3, 7, 16]),
    spare_blocks=st.integers(0, 9),
    prefix_caching=st.booleans(),
    proposer=st.sampled_from(["same", "other", "lookup", "liar"]),
    num_guesses=st.integers(1, 7),
    draft_blocks=st.sampled_from([None, 1, 12]),
    aborts=some,
    forks=some,
    faults=st.sets(st.integers(1, 15), max_size=2),
)


class Fault(Exception):
    pass


def proposer_of(workload, model, other):
    if workload.proposer == "lookup":
        proposer = mb.PromptLookup(workload.num_guesses)
    elif workload.proposer == "liar":
        proposer = mb.speculation.Function(lambda ids, most: [5] * most, workload.num_guesses)
    else:
        proposer = mb.DraftModel(
            model if workload.proposer == "same" else other,
            workload.num_guesses,
            num_blocks=workload.draft_blocks,
            block_size=4,
        )
    calls, guess_all = iter(range(1, 10**9)), proposer.guess_all

    def failing(*arguments):
        guesses = guess_all(*arguments)
        if next(calls) in workload.faults:
            raise Fault
        return guesses

    proposer.guess_all = failing
    return proposer


@given(workload=workloads)
def test_whatever_happens_the_tokens_are_the_same_and_nothing_leaks(
    tiny_model, other_model, workload
):
    proposer = proposer_of(workload, tiny_model, other_model)
    engine = mb.Engine(
        tiny_model,
        workload.scheduler,
        num_blocks=workload.num_blocks,
        block_size=workload.block_size,
        prefix_caching=workload.prefix_caching,
        speculation=proposer,
        attention="gather",
        clock=mb.VirtualClock(0.01),
    )
    asked = {engine.add(request): request for request in workload.requests}
    num_steps = 0
    while engine.has_work:
        known = (*engine.scheduler.running, *engine.scheduler.waiting)
        names = sorted(s.request_id for s in known if not s.is_finished)
        if num_steps in workload.forks and names:
            parent = names[workload.forks[num_steps] % len(names)]
            for name in engine.fork(parent, 1):
                asked[name] = engine._live[name].request
        if num_steps in workload.aborts and names:
            engine.abort(names[workload.aborts[num_steps] % len(names)])
        if engine.has_work:
            with contextlib.suppress(Fault):
                engine.step()
        engine.check_invariants()
        num_steps += 1
        assert num_steps < 500, "does not come to an end"
    assert engine.pool.num_free == engine.pool.num_blocks
    if isinstance(proposer, mb.DraftModel):
        assert proposer.pool.num_free == proposer.pool.num_blocks

    plain = mb.Engine(tiny_model, mb.Sequential(), attention="gather")
    for completion in engine.trace.completions:
        request = asked[completion.request_id]
        [alone] = plain.run([request])
        expected = alone.token_ids
        if completion.finish_reason == "abort":
            expected = expected[: len(completion.token_ids)]
        check = assert_same_sample if request.temperature else assert_same_tokens
        check(tiny_model, request, completion.token_ids, expected)

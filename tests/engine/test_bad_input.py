"""Bad input: an error that names the numbers, nothing changed, and the engine goes on serving.

Each case happens in the middle of other work, which must not notice.
"""

import math
import re

import pytest
from oracle import assert_same_tokens

import minibatch as mb
from minibatch.attention import reference_attention

NUM_BLOCKS, BLOCK_SIZE = 10, 4


@pytest.fixture
def engine(tiny_model):
    """An engine with one request running and one waiting."""
    engine = mb.Engine(
        tiny_model,
        mb.Continuous(max_batch_size=1),
        num_blocks=NUM_BLOCKS,
        block_size=BLOCK_SIZE,
        attention="gather",
        clock=mb.VirtualClock(),
    )
    engine.add(mb.Request([5, 6, 7], max_tokens=6, request_id="running"))
    engine.step()
    engine.add(mb.Request([8, 9], max_tokens=3, request_id="waiting"))
    return engine


def snapshot(engine):
    """Everything a mistake could have moved."""
    sequences = [*engine.scheduler.running, *engine.scheduler.waiting]
    return (
        [
            (s.request_id, list(s.token_ids), s.num_computed_tokens, list(s.block_table))
            for s in sequences
        ],
        [s.request_id for s in engine.scheduler.running],
        engine.pool.num_free,
        engine.clock.now(),
        len(engine.trace.steps),
        len(engine.trace.completions),
    )


class Unharmed:
    """Around a mistake: nothing has changed, and what was under way ends with the right tokens."""

    def __init__(self, engine):
        self.engine = engine

    def __enter__(self):
        self.before = snapshot(self.engine)

    def __exit__(self, kind, error, traceback):
        if kind is not None:
            return
        engine = self.engine
        assert snapshot(engine) == self.before
        engine.check_invariants()
        [after] = engine.run([mb.Request([10, 11], max_tokens=4, request_id="after")])
        while engine.has_work:
            engine.step()
        engine.check_invariants()
        assert engine.pool.num_free == engine.pool.num_blocks
        answers = {c.request_id: c.token_ids for c in engine.trace.completions}
        assert list(answers) == ["running", "waiting", "after"]
        for name, prompt, n in (("running", [5, 6, 7], 6), ("waiting", [8, 9], 3)):
            assert_same_tokens(engine.model, mb.Request(prompt, max_tokens=n), answers[name])
        assert_same_tokens(engine.model, mb.Request([10, 11], max_tokens=4), after.token_ids)


@pytest.mark.parametrize(
    ("arguments", "error", "says"),
    [
        ({"prompt": []}, ValueError, "prompt is empty; give at least one token"),
        ({"prompt": ""}, ValueError, "prompt is empty; give at least one token"),
        ({"prompt": [1, 2.0]}, TypeError, "prompt[1] is 2.0; it must be an integer"),
        ({"prompt": [1, 128]}, ValueError, "token id 128 is outside the vocabulary, 0 to 127"),
        ({"prompt": [1, -1]}, ValueError, "prompt[1] is -1; it must be 0 or more"),
        ({"prompt": "text"}, ValueError, "this model has no tokenizer"),
        (
            {"prompt": [1] * 200, "max_tokens": 57, "request_id": "H"},
            ValueError,
            "request 'H' needs 200 + 57 tokens = 257; this model's context holds 256. Shorten the "
            "prompt or lower max_tokens.",
        ),
        (
            {"prompt": [1] * 1300, "max_tokens": 200, "request_id": "H"},
            ValueError,
            "request 'H' needs 1,300 + 200 tokens = 1,500; this model's context holds 256.",
        ),
        (
            {"prompt": [1] * 30, "max_tokens": 12, "request_id": "H"},
            ValueError,
            "request 'H' needs 30 + 12 tokens = 11 blocks of 4; this engine has 10. Raise "
            "num_blocks or lower max_tokens.",
        ),
        ({"max_tokens": 0}, ValueError, "max_tokens is 0; it must be 1 or more"),
        ({"max_tokens": -1}, ValueError, "max_tokens is -1; it must be 1 or more"),
        ({"temperature": math.nan}, ValueError, "temperature is nan"),
        ({"temperature": -1.0}, ValueError, "temperature is -1.0"),
        ({"top_p": 0.0}, ValueError, "top_p is 0.0; it must lie in (0, 1]"),
        ({"top_p": 1.1}, ValueError, "top_p is 1.1; it must lie in (0, 1]"),
        ({"top_k": -2}, ValueError, "top_k is -2; it must be -1 or more"),
        ({"arrival_time": math.nan}, ValueError, "arrival_time is nan"),
        ({"arrival_time": -0.5}, ValueError, "arrival_time is -0.5"),
        ({"request_id": "running"}, ValueError, "request 'running' is already live"),
        ({"request_id": "waiting"}, ValueError, "request 'waiting' is already live"),
    ],
)
@pytest.mark.parametrize("way", ["add", "run", "stream"])
def test_a_request_that_cannot_be_served_is_refused(engine, arguments, error, says, way):
    with Unharmed(engine), pytest.raises(error, match=re.escape(says)):
        give(engine, way, {"prompt": [1, 2], "max_tokens": 2} | arguments)


def give(engine, way, arguments):
    request = mb.Request(**arguments)
    if way == "add":
        engine.add(request)
    elif way == "run":
        engine.run([request])
    else:
        next(engine.stream([request]))


@pytest.mark.parametrize("way", ["run", "stream"])
def test_if_one_of_several_is_refused_none_is_taken_in(engine, way):
    requests = [
        mb.Request([1, 2], max_tokens=2, request_id="good"),
        mb.Request([1, 2], max_tokens=2, arrival_time=3.0, request_id="good too"),
        mb.Request([1] * 30, max_tokens=12, request_id="too long"),
    ]
    with Unharmed(engine), pytest.raises(ValueError, match="'too long' needs 30 \\+ 12"):
        list(getattr(engine, way)(requests))


def test_one_id_twice_in_one_call_is_refused(engine):
    twins = [mb.Request([1], max_tokens=1, request_id="twin") for _ in range(2)]
    with (
        Unharmed(engine),
        pytest.raises(ValueError, match="two of these requests have the id 'twin'"),
    ):
        engine.run(twins)


def test_a_request_that_just_fits_the_pool_is_served(engine):
    request = mb.Request([1] * 30, max_tokens=11, request_id="just fits")
    [completion] = engine.run([request])
    assert_same_tokens(engine.model, request, completion.token_ids)


def test_a_request_that_just_fits_the_context_is_served(tiny_model):
    engine = mb.Engine(tiny_model, mb.Continuous(1), attention="gather")
    request = mb.Request([5] * 250, max_tokens=6)
    [completion] = engine.run([request])
    assert_same_tokens(tiny_model, request, completion.token_ids)


def test_aborting_an_unknown_request_is_refused_and_names_those_that_live(engine):
    says = re.escape("no live request 'nobody'; live: 'running', 'waiting'")
    with Unharmed(engine), pytest.raises(ValueError, match=says):
        engine.abort("nobody")


def test_aborting_a_finished_request_is_refused(engine):
    while engine.has_work:
        engine.step()
    with pytest.raises(ValueError, match="no live request 'running'; live: none"):
        engine.abort("running")


def test_a_step_on_an_idle_engine_is_refused(engine):
    while engine.has_work:
        engine.step()
    steps = len(engine.trace.steps)
    with pytest.raises(RuntimeError, match="nothing to do: no request waits or runs"):
        engine.step()
    assert len(engine.trace.steps) == steps
    [completion] = engine.run([mb.Request([5], max_tokens=2)])
    assert len(completion.token_ids) == 2


def test_a_step_on_a_new_engine_is_refused(tiny_model):
    with pytest.raises(RuntimeError, match="call engine.add first"):
        mb.Engine(tiny_model, mb.Static(2)).step()


def test_running_nothing_gives_nothing(engine):
    with Unharmed(engine):
        assert engine.run([]) == []
        assert list(engine.stream([])) == []


def test_a_scheduler_of_another_engine_is_refused_and_goes_on_serving_there(engine, tiny_model):
    with (
        Unharmed(engine),
        pytest.raises(RuntimeError, match="this Continuous scheduler already serves an engine"),
    ):
        mb.Engine(tiny_model, engine.scheduler)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"num_blocks": 0}, "num_blocks is 0; it must be 1 or more"),
        ({"num_blocks": -4}, "num_blocks is -4"),
        ({"block_size": 0}, "block_size is 0; it must be 1 or more"),
        ({"block_size": -1}, "block_size is -1"),
        ({"num_blocks": "64"}, "num_blocks is '64'; it must be an integer"),
        ({"block_size": 2.5}, r"block_size is 2\.5; it must be an integer"),
        ({"attention": "fast"}, "attention is 'fast' on cpu"),
    ],
)
def test_an_engine_that_cannot_be_is_refused_and_leaves_its_scheduler_free(
    tiny_model, arguments, says
):
    scheduler = mb.Continuous(2)
    with pytest.raises((TypeError, ValueError), match=says):
        mb.Engine(tiny_model, scheduler, **arguments)
    [completion] = mb.Engine(tiny_model, scheduler).run([mb.Request([5], max_tokens=2)])
    assert len(completion.token_ids) == 2


def test_an_engine_whose_memory_cannot_be_had_leaves_its_scheduler_free(tiny_model):
    scheduler = mb.Continuous(2)
    said = r"10,000,000 KV blocks of 10,000,000 tokens take [\d,.]+ GB, and only [\d.]+ GB are free"
    with pytest.raises(MemoryError, match=said):
        mb.Engine(tiny_model, scheduler, num_blocks=10**7, block_size=10**7)
    mb.Engine(tiny_model, scheduler, num_blocks=4)


def test_a_seed_that_cannot_be_drawn_from_is_refused(tiny_model):
    engine = mb.Engine(tiny_model, mb.Continuous(2), num_blocks=4)
    with pytest.raises(ValueError, match="seed"):
        engine.add(mb.Request([5], max_tokens=2, temperature=1.0, seed=2**128))
    assert not engine.has_work


@pytest.mark.parametrize("way", ["add", "run", "stream"])
def test_a_text_that_becomes_no_tokens_is_refused(engine, monkeypatch, way):
    monkeypatch.setattr(engine.model, "encode", lambda text: [])  # a tokenizer that strips blanks
    with Unharmed(engine), pytest.raises(ValueError, match="its prompt has no tokens"):
        give(engine, way, {"prompt": " ", "max_tokens": 2})


MODEL, POLICY = mb.PretendModel(), mb.Continuous(2)


class Underived:
    def plan(self, now):
        return mb.StepPlan()


class Unprepared(mb.Continuous):
    def __init__(self):
        self.share = 0.5


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ((MODEL, mb.Continuous), r"Continuous is a class; make a policy of it: Continuous\(\)"),
        (
            (mb.PretendModel, POLICY),
            r"PretendModel is a class; make a model of it: PretendModel\(\)",
        ),
        ((MODEL, "continuous"), r"'continuous' is not a policy; give one: mb\.Continuous\(\)"),
        ((MODEL, "round robin"), r"'round robin' is not a policy; give one: mb\.Continuous\("),
        ((MODEL, None), r"None is not a policy; give one: mb\.Continuous\("),
        (
            (MODEL, Underived()),
            r"Underived is not a subclass of Scheduler; .* class Underived\(mb\.Scheduler\)",
        ),
        ((MODEL, Unprepared()), r"Unprepared has no max_batch_size; call super\(\)\.__init__"),
        ((POLICY, MODEL), r"model and policy are swapped; give Engine\(model, policy\)"),
        (("wayfarer", POLICY), r"'wayfarer' is not a model; give mb\.load_model\('wayfarer'\)"),
        ((None, POLICY), r"None is not a model; give one: mb\.load_model\(\)"),
    ],
)
def test_an_engine_of_wrong_parts_says_what_it_is_made_of(arguments, says):
    with pytest.raises(TypeError, match=says):
        mb.Engine(*arguments)
    assert POLICY.pool is None


def test_a_transformers_model_is_told_how_it_becomes_one_of_ours(tiny_model):
    with pytest.raises(
        TypeError, match=r"a LlamaForCausalLM is not a model; .* mb\.load_model\(it\)"
    ):
        mb.Engine(tiny_model.hf, mb.Continuous(2))


@pytest.mark.parametrize(
    ("way", "given", "says"),
    [
        ("run", "hello", r"'hello' is not a list of requests; make one: \[Request\('hello'\)\]"),
        ("stream", "hello", r"'hello' is not a list of requests; make one: \[Request\('hello'\)\]"),
        ("run", ["hello"], r"'hello' is not a request; make one: Request\('hello'\)"),
        ("add", "hello", r"'hello' is not a request; make one: Request\('hello'\)"),
        ("run", [1, 2], r"1 is not a request; make one: Request\(prompt\)"),
        ("run", None, r"None is not a list of requests; make one: \[Request\(prompt\)\]"),
        (
            "run",
            {"prompt": "hello"},
            r"a dict is not a list of requests; make one: \[Req",
        ),
        ("add", [5, 6], r"\[5, 6\] is not a request; make one: Request\(\[5, 6\]\)"),
        (
            "add",
            [mb.Request([5])],
            "a list is not a request; give `add` one request at a time, or give `run`",
        ),
        ("add", mb.Request, r"Request is a class; make a request of it: Request\(prompt\)"),
    ],
)
def test_what_is_no_request_is_refused_with_what_to_give(way, given, says):
    engine = mb.Engine(MODEL, mb.Continuous(2))
    with pytest.raises(TypeError, match=says):
        list(getattr(engine, way)(given))
    assert not engine.has_work


def test_one_request_need_not_stand_in_a_list(tiny_model):
    request = mb.Request([5], max_tokens=2)
    [completion] = mb.Engine(tiny_model, mb.Continuous(2)).run(request)
    assert_same_tokens(tiny_model, request, completion.token_ids)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda query: None, r"returned None; .* tensor of the query's shape, \[3, 4, 8\]"),
        (lambda query: query[:1], r"returned a tensor of shape \[1, 4, 8\]; .* \[3, 4, 8\]"),
        (lambda query: query.tolist(), r"returned a list; .* \[3, 4, 8\]"),
    ],
)
def test_attention_of_another_shape_is_refused_by_the_function_s_name(tiny_model, make, says):
    def my_attention(query, key_cache, value_cache, metadata, scale):
        return make(query)

    engine = mb.Engine(tiny_model, mb.Continuous(2), attention=my_attention)
    request = mb.Request([5, 6, 7], max_tokens=2)
    with pytest.raises(TypeError, match=f"^my_attention {says}"):
        engine.run([request])
    engine.runner.attention = reference_attention
    while engine.has_work:
        engine.step()
    assert_same_tokens(tiny_model, request, engine.trace.completions[0].token_ids)


def test_what_is_never_stored_needs_no_room():
    """Nothing comes after the last token, so K and V of 4 + 1 tokens fit into one block of 4."""
    for policy in (mb.Sequential(), mb.Static(2), mb.Continuous(2)):
        engine = mb.Engine(mb.PretendModel(), policy, num_blocks=1, block_size=4)
        [completion] = engine.run([mb.Request([0] * 4, max_tokens=1)])
        assert completion.finish_reason == "length"
    with pytest.raises(ValueError, match=r"4 \+ 2 tokens = 2 blocks of 4; this engine has 1"):
        engine.add(mb.Request([0] * 4, max_tokens=2))


def test_a_request_that_was_taken_in_cannot_grow(engine):
    request = mb.Request([1] * 30, max_tokens=11, request_id="just fits")
    engine.add(request)
    with pytest.raises(AttributeError):
        request.max_tokens = 10_000

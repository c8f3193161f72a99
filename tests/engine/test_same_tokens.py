"""Same tokens: whatever the policy, the blocks, the chunks and the neighbours, `generate`'s answer.

The bank of requests is answered once by transformers; every test serves some of it another way.
"""

import random

import policies
import pytest
from oracle import assert_same_sample, assert_same_tokens, generate, sample

import minibatch as mb

MAX_LEN = 256  # the tiny model's context
SIZES = [(1, 9), (17, 12), (5, 1), (33, 7), (2, 20), (16, 16), (8, 5), (24, 3), (3, 14), (48, 10)]

every_policy = policies.every_policy(max_batch_size=4, max_batch_tokens=5)
every_attention = pytest.mark.parametrize("attention", ["reference", "gather", "cpu"])


@pytest.fixture(scope="module")
def bank(tiny_model):
    """Requests and the answers of `generate` to them."""
    chance = random.Random(1)
    requests = [
        mb.Request(chance.choices(range(2, 128), k=prompt), max_tokens=answer, request_id=f"r{i}")
        for i, (prompt, answer) in enumerate(SIZES)
    ]
    return [(request, generate(tiny_model, request)) for request in requests]


def serve_and_compare(model, bank, scheduler, **kwargs):
    engine = mb.Engine(
        model, scheduler, **{"attention": "gather", "clock": mb.VirtualClock()} | kwargs
    )
    completions = engine.run([request for request, _ in bank])
    for (request, expected), completion in zip(bank, completions, strict=True):
        assert_same_tokens(model, request, completion.token_ids, expected)
    engine.check_invariants()
    assert engine.pool.num_free == engine.pool.num_blocks
    return engine


@every_policy
@pytest.mark.parametrize("block_size", [1, 2, 7, 16, MAX_LEN])
def test_tokens_do_not_depend_on_policy_or_block_size(tiny_model, bank, make, block_size):
    serve_and_compare(tiny_model, bank, make(), block_size=block_size)


@every_policy
@every_attention
def test_tokens_do_not_depend_on_the_attention_backend(tiny_model, bank, make, attention):
    serve_and_compare(tiny_model, bank[:6], make(), block_size=7, attention=attention)


@pytest.mark.parametrize("max_batch_size", [1, 2, 3, 10])
@pytest.mark.parametrize("make", [mb.Static, mb.Dynamic, mb.Continuous])
def test_tokens_do_not_depend_on_the_batch_size(tiny_model, bank, make, max_batch_size):
    serve_and_compare(tiny_model, bank, make(max_batch_size=max_batch_size))


@pytest.mark.parametrize("block_size", [1, 2, 7, 16, MAX_LEN])
@pytest.mark.parametrize("max_batch_tokens", [3, 4, 8, 31])
def test_tokens_do_not_depend_on_chunking(tiny_model, bank, max_batch_tokens, block_size):
    scheduler = mb.Continuous(max_batch_size=3, max_batch_tokens=max_batch_tokens)
    serve_and_compare(tiny_model, bank, scheduler, block_size=block_size)


@pytest.mark.parametrize("block_size", [1, 2, 7, 16])
@pytest.mark.parametrize("max_batch_tokens", [None, 6])
def test_tokens_survive_preemption(tiny_model, bank, block_size, max_batch_tokens):
    tight = max(-(-(prompt + answer) // block_size) for prompt, answer in SIZES) + 1
    scheduler = mb.Continuous(max_batch_size=5, max_batch_tokens=max_batch_tokens)
    engine = serve_and_compare(tiny_model, bank, scheduler, block_size=block_size, num_blocks=tight)
    assert engine.trace.summary()["num_preemptions"] > 0


@every_policy
def test_the_tightest_pool_that_is_accepted_serves_everyone(tiny_model, bank, make):
    tight = max(-(-(prompt + answer) // 4) for prompt, answer in SIZES)
    serve_and_compare(tiny_model, bank, make(), block_size=4, num_blocks=tight)


@every_policy
@pytest.mark.parametrize("order", [0, 1, 2])
def test_tokens_do_not_depend_on_the_order_of_arrival(tiny_model, bank, make, order):
    shuffled = random.Random(order).sample(bank, len(bank))
    serve_and_compare(tiny_model, shuffled, make(), block_size=7)


@every_policy
def test_tokens_do_not_depend_on_the_times_of_arrival(tiny_model, bank, make):
    later = [
        (
            mb.Request(
                request.prompt,
                max_tokens=request.max_tokens,
                arrival_time=(i * 7 % 10) * 0.04,
                request_id=request.request_id,
            ),
            expected,
        )
        for i, (request, expected) in enumerate(bank)
    ]
    serve_and_compare(tiny_model, later, make(), block_size=7)


@every_policy
def test_blocks_used_before_leave_nothing_behind(tiny_model, bank, make):
    engine = mb.Engine(tiny_model, make(), block_size=4, num_blocks=20, attention="gather")
    for _ in range(3):
        for completion, (request, expected) in zip(
            engine.run([request for request, _ in bank[:6]]), bank[:6], strict=True
        ):
            assert_same_tokens(tiny_model, request, completion.token_ids, expected)


@every_policy
def test_a_stop_token_ends_the_answer_where_generate_ends_it(tiny_model, bank, make):
    requests = []
    for request, answer in bank:
        stops = [answer[len(answer) // 2]]
        requests.append(mb.Request(request.prompt, max_tokens=20, stop_token_ids=stops))
    engine = mb.Engine(tiny_model, make(), block_size=7, attention="gather")
    for request, completion in zip(requests, engine.run(requests), strict=True):
        assert_same_tokens(tiny_model, request, completion.token_ids)
        assert completion.finish_reason == "stop"
        assert completion.token_ids[-1] in request.stop_token_ids


@pytest.fixture
def model_that_ends(tiny_model, bank, monkeypatch):
    """The tiny model, with a token it often says as its end token."""
    _, answer = bank[4]
    monkeypatch.setattr(tiny_model, "eos_token_ids", frozenset({answer[6]}))
    return tiny_model


def test_the_models_end_token_ends_an_answer(model_that_ends, bank):
    request, answer = bank[4]
    [completion] = mb.Engine(model_that_ends, mb.Continuous(2)).run([request])
    assert completion.token_ids == answer[: answer.index(answer[6]) + 1]
    assert completion.token_ids == generate(model_that_ends, request)
    assert completion.finish_reason == "stop"


def test_ignore_eos_goes_on_past_the_models_end_token(model_that_ends, bank):
    request, answer = bank[4]
    on = mb.Request(request.prompt, max_tokens=request.max_tokens, ignore_eos=True)
    [completion] = mb.Engine(model_that_ends, mb.Continuous(2)).run([on])
    assert_same_tokens(model_that_ends, on, completion.token_ids, answer)
    assert completion.finish_reason == "length"


@every_policy
def test_an_answer_may_fill_the_context_to_its_last_token(tiny_model, bank, make):
    request = mb.Request([3, 4, 5, 6], max_tokens=MAX_LEN - 4, ignore_eos=True)
    serve_and_compare(
        tiny_model,
        [(request, generate(tiny_model, request)), *bank[:3]],
        make(),
        block_size=MAX_LEN,
    )


@every_policy
def test_a_stream_has_the_tokens_of_a_run(tiny_model, bank, make):
    engine = mb.Engine(tiny_model, make(), block_size=7, attention="gather")
    got = {request.request_id: [] for request, _ in bank}
    for event in engine.stream([request for request, _ in bank]):
        got[event.request_id].append(event.token_id)
    for request, expected in bank:
        assert_same_tokens(tiny_model, request, got[request.request_id], expected)


@every_policy
def test_model_hf_still_generates_as_before_while_an_engine_serves(tiny_model, bank, make):
    engine = mb.Engine(tiny_model, make(), block_size=7)
    for request, _ in bank[:4]:
        engine.add(request)
    engine.step()
    engine.step()
    request, expected = bank[5]
    assert generate(tiny_model, request) == expected
    while engine.has_work:
        engine.step()
    answers = {c.request_id: c.token_ids for c in engine.trace.completions}
    for request, expected in bank[:4]:
        assert_same_tokens(tiny_model, request, answers[request.request_id], expected)


# Sampling -------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def sampled_bank(tiny_model):
    """Requests that sample, and their answers decoded alone in plain Python."""
    ways = [
        {"temperature": 0.7},
        {"temperature": 3.0, "top_k": 5},
        {"temperature": 2.0, "top_p": 0.8},
        {"temperature": 4.0, "top_k": 20, "top_p": 0.9},
        {},
        {"temperature": 5.0},
    ]
    chance = random.Random(2)
    requests = [
        mb.Request(
            chance.choices(range(2, 128), k=prompt),
            max_tokens=answer,
            seed=100 + i,
            request_id=f"s{i}",
            **ways[i % len(ways)],
        )
        for i, (prompt, answer) in enumerate(SIZES)
    ]
    return [
        (request, sample(tiny_model, request) if request.temperature else None)
        for request in requests
    ]


@every_policy
@pytest.mark.parametrize("tight", [False, True], ids=["roomy", "tight"])
def test_sampled_tokens_do_not_depend_on_anything_but_the_seed(
    tiny_model, sampled_bank, make, tight
):
    num_blocks = max(-(-(prompt + answer) // 4) for prompt, answer in SIZES) + 1 if tight else None
    engine = mb.Engine(tiny_model, make(), block_size=4, num_blocks=num_blocks, attention="gather")
    completions = engine.run([request for request, _ in sampled_bank])
    for (request, expected), completion in zip(sampled_bank, completions, strict=True):
        if request.temperature:
            assert_same_sample(tiny_model, request, completion.token_ids, expected)
        else:
            assert_same_tokens(tiny_model, request, completion.token_ids)


def test_two_seeds_give_two_answers(tiny_model):
    requests = [mb.Request([5, 6, 7], max_tokens=20, temperature=5.0, seed=seed) for seed in (1, 2)]
    first, second = mb.Engine(tiny_model, mb.Continuous(2)).run(requests)
    assert first.token_ids != second.token_ids


def test_without_a_seed_every_run_draws_anew(tiny_model):
    engine = mb.Engine(tiny_model, mb.Continuous(1))
    request = mb.Request([5, 6, 7], max_tokens=20, temperature=5.0)
    first, second = engine.run([request]) + engine.run([request])
    assert first.token_ids != second.token_ids

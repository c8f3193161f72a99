"""From logits to a token: greedy, or a draw that depends on nothing but (seed, output position)."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import minibatch as mb
from minibatch.core.request import Request, Sequence
from minibatch.model import sampling as model_sampling
from minibatch.model.sampling import pick, sample, uniform

LARGEST_DRAW = 1 - 2**-53


def logits_of(*probabilities: float) -> torch.Tensor:
    return torch.tensor(probabilities).log()


HALVES = logits_of(0.5, 0.3, 0.2)


# pick --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("draw", "token"),
    [(0.0, 0), (0.49, 0), (0.51, 1), (0.79, 1), (0.81, 2), (0.99, 2), (LARGEST_DRAW, 2)],
)
def test_a_draw_falls_on_the_token_whose_share_it_lies_in(draw, token):
    """0 ......... 0.5 ...... 0.8 .... 1: tokens 0, 1 and 2, end to end."""
    assert pick(HALVES, draw, temperature=1.0) == token


@pytest.mark.parametrize(
    ("temperature", "draw", "token"),
    [
        # 0.5, 0.3, 0.2 to the power 1/T, made to sum to 1 again
        (0.5, 0.65, 0),  # 0.658, 0.237, 0.105
        (0.5, 0.66, 1),
        (0.5, 0.89, 1),
        (0.5, 0.90, 2),
        (2.0, 0.41, 0),  # 0.415, 0.322, 0.263
        (2.0, 0.42, 1),
        (2.0, 0.73, 1),
        (2.0, 0.74, 2),
    ],
)
def test_temperature_sharpens_or_flattens_the_shares(temperature, draw, token):
    assert pick(HALVES, draw, temperature) == token


@pytest.mark.parametrize(
    ("top_k", "draw", "token"),
    [
        (1, LARGEST_DRAW, 0),
        (2, 0.62, 0),  # 0.5 and 0.3 stretched to 0.625 and 0.375
        (2, 0.63, 1),
        (2, LARGEST_DRAW, 1),
        (3, 0.81, 2),
        (1000, 0.81, 2),  # more than there are
        (0, 0.81, 2),  # off
    ],
)
def test_top_k_keeps_the_k_likeliest_and_stretches_them(top_k, draw, token):
    assert pick(HALVES, draw, 1.0, top_k=top_k) == token


@pytest.mark.parametrize(
    ("top_p", "draw", "token"),
    [
        (1e-9, LARGEST_DRAW, 0),  # the likeliest always stays
        (0.49, LARGEST_DRAW, 0),
        (0.51, 0.62, 0),  # two are needed to reach it: 0.625 and 0.375
        (0.51, 0.63, 1),
        (0.79, LARGEST_DRAW, 1),
        (0.81, LARGEST_DRAW, 2),
        (1.0, LARGEST_DRAW, 2),
    ],
)
def test_top_p_keeps_the_fewest_that_reach_it(top_p, draw, token):
    assert pick(HALVES, draw, 1.0, top_p=top_p) == token


@pytest.mark.parametrize(("top_p", "last"), [(0.6, 0), (0.64, 1)])
def test_top_p_counts_among_what_top_k_left(top_p, last):
    """Two are left, 0.625 and 0.375; the first alone is 0.625 of them, though 0.5 of all."""
    assert pick(HALVES, LARGEST_DRAW, 1.0, top_k=2, top_p=top_p) == last


def test_top_p_of_one_keeps_a_token_too_unlikely_to_move_the_sum():
    logits = torch.tensor([0.0, -40.0, -41.0])  # 1, 4e-18 and 2e-18: cumulative sums are 1.0
    assert pick(logits, 0.5, 1.0, top_p=1.0) == 0
    assert pick(logits, LARGEST_DRAW, 1.0, top_p=1.0) in (0, 1, 2)


@pytest.mark.parametrize("temperature", [1e-3, 1e-6, 1e-30, 1e-300, 5e-324])
@pytest.mark.parametrize("draw", [0.0, 0.5, LARGEST_DRAW])
def test_a_tiny_temperature_is_greedy_and_does_not_overflow(temperature, draw):
    logits = torch.tensor([-3e4, 1.0, 3e4, 2.9e4, 0.0])
    assert pick(logits, draw, temperature) == 2


def test_a_huge_temperature_makes_all_tokens_alike():
    logits = torch.tensor([3.0, -5.0, 0.0, 7.0])
    drawn = Counter(pick(logits, (i + 0.5) / 400, 1e12) for i in range(400))
    assert drawn == dict.fromkeys(range(4), 100)


@pytest.mark.parametrize("draw", [0.0, 0.3, 0.999999, LARGEST_DRAW])
@pytest.mark.parametrize("top_p", [0.9, 1.0])
def test_an_impossible_token_is_never_picked(draw, top_p):
    logits = torch.tensor([-math.inf, 1.0, -math.inf, 0.5, -math.inf])
    assert pick(logits, draw, 1.0, top_p=top_p) in (1, 3)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_logits_of_any_precision_are_picked_from(dtype):
    assert pick(torch.tensor([0.0, 9.0, 3.0], dtype=dtype), 0.5, 1.0) == 1


@given(
    logits=st.lists(st.floats(-4, 4), min_size=1, max_size=12),
    temperature=st.sampled_from([0.3, 1.0, 2.5]),
    top_k=st.integers(0, 13),
    top_p=st.sampled_from([0.2, 0.7, 0.95, 1.0]),
)
def test_tokens_are_drawn_in_proportion_to_their_probabilities(logits, temperature, top_k, top_p):
    """A grid of draws instead of random ones: counts are exact but for one at each border."""
    logits = torch.tensor(logits, dtype=torch.float64)
    shares = (logits / temperature).softmax(dim=0)
    order = sorted(range(len(shares)), key=lambda token: (-shares[token].item(), token))
    kept = order[:top_k] if top_k else order
    total, kept_sum, nucleus = sum(shares[token].item() for token in kept), 0.0, []
    for token in kept:
        nucleus.append(token)
        kept_sum += shares[token].item()
        if top_p < 1 and kept_sum >= top_p * total:
            break
    draws = 200
    counts = Counter(
        pick(logits, (i + 0.5) / draws, temperature, top_k, top_p) for i in range(draws)
    )
    if top_p < 1 and abs(kept_sum - top_p * total) < 1e-9:
        return  # rounding decides whether one more is kept
    assert set(counts) <= set(nucleus)
    for token in nucleus:
        assert abs(counts[token] - draws * shares[token].item() / kept_sum) <= 1 + 1e-6


def test_a_rounding_error_between_likely_tokens_does_not_change_the_token():
    """Two tokens that nearly tie: which is a hair ahead depends on neighbours in the batch.

    A draw of 0.25 lies far from the border between them, so it must not matter.
    """
    ahead, behind = torch.tensor([1e-6, 0.0, -9.0]), torch.tensor([0.0, 1e-6, -9.0])
    assert pick(ahead, 0.25, 1.0) == pick(behind, 0.25, 1.0)
    assert pick(ahead, 0.75, 1.0) == pick(behind, 0.75, 1.0)


# uniform -----------------------------------------------------------------------------------------


@given(seed=st.integers(0, 2**64), position=st.integers(0, 10**6))
@settings(deadline=None)
def test_a_draw_is_a_pure_function_of_seed_and_position(seed, position):
    draw = uniform(seed, position)
    uniform(seed + 1, position)
    assert draw == uniform(seed, position)
    assert 0 <= draw < 1


def test_draws_of_one_seed_differ_and_fill_the_interval_evenly():
    draws = [uniform(7, position) for position in range(1000)]
    assert len(set(draws)) == 1000
    tenths = Counter(int(10 * draw) for draw in draws)
    assert all(60 < tenths[tenth] < 140 for tenth in range(10))


def test_draws_of_neighbouring_seeds_are_unrelated():
    draws = [uniform(seed, position) for seed in range(30) for position in range(30)]
    assert len(set(draws)) == 900


@pytest.mark.parametrize("seed", [2**128, 2**200])
def test_a_seed_too_large_to_draw_with_is_refused_when_it_is_asked(seed):
    """Not in the middle of a forward pass, where it would stop everyone else."""
    with pytest.raises(ValueError, match="seed"):
        mb.Request([1, 2, 3], temperature=1.0, seed=seed)


# sample ------------------------------------------------------------------------------------------


def asked(seed: int = 0, num_output_tokens: int = 0, **options) -> Sequence:
    return Sequence(
        request=Request([1, 2], **options),
        request_id="asked",
        token_ids=[1, 2] + [3] * num_output_tokens,
        num_prompt_tokens=2,
        stop_token_ids=frozenset(),
        seed=seed,
        arrival_time=0.0,
    )


def test_temperature_zero_takes_the_best_logit():
    logits = torch.randn(5, 40, generator=torch.Generator().manual_seed(1))
    tokens = sample(logits, [asked() for _ in range(5)])
    assert tokens == [max(range(40), key=row.__getitem__) for row in logits.tolist()]
    assert all(type(token) is int for token in tokens)


def test_greedy_and_sampled_rows_live_in_one_batch():
    logits = torch.randn(1, 40, generator=torch.Generator().manual_seed(2)).repeat(3, 1)
    sequences = [asked(), asked(seed=5, temperature=2.0, num_output_tokens=3), asked(top_k=1)]
    tokens = sample(logits, sequences)
    assert tokens[0] == tokens[2] == int(logits[0].argmax())
    assert tokens[1] == pick(logits[1], uniform(5, 3), 2.0)


def test_top_k_of_one_is_greedy_at_any_temperature():
    logits = torch.randn(4, 40, generator=torch.Generator().manual_seed(3))
    sequences = [asked(seed=i, temperature=5.0, top_k=1) for i in range(4)]
    assert sample(logits, sequences) == logits.argmax(dim=-1).tolist()


# The same seed, whoever is beside ----------------------------------------------------------------

PROMPTS = [[3 + i, 7, (11 * i) % 100, 40 + i][: 2 + i % 3] * (1 + i % 4) for i in range(8)]
BOUNDARY = 1e-4  # a draw nearer to a border than this may fall on either side of it


def sampled_requests(**options) -> list[mb.Request]:
    return [
        mb.Request(prompt, max_tokens=12, seed=100 + i, ignore_eos=True, **options)
        for i, prompt in enumerate(PROMPTS)
    ]


def answers(model: mb.Model, scheduler: mb.Scheduler, requests, **options) -> list[list[int]]:
    engine = mb.Engine(model, scheduler, clock=mb.VirtualClock(), **options)
    return [completion.token_ids for completion in engine.run(requests)]


@torch.inference_mode()
def assert_same_draws(model: mb.Model, request: mb.Request, got, expected) -> None:
    """Equal, or, where they part, the draw lies within 1e-4 of a border between tokens."""
    assert len(got) == len(expected)
    if got == expected:
        return
    same = next(i for i, (a, b) in enumerate(zip(got, expected, strict=True)) if a != b)
    ids = torch.tensor([request.prompt + expected[:same]], device=model.device)
    logits = model.hf(ids, use_cache=False).logits[0, -1]
    draw = uniform(request.seed, same)
    below, above = max(draw - BOUNDARY, 0.0), min(draw + BOUNDARY, LARGEST_DRAW)
    options = (request.temperature, request.top_k, request.top_p)
    assert pick(logits, below, *options) != pick(logits, above, *options), (
        f"output token {same} is {got[same]}, alone it was {expected[same]}, and the draw {draw} "
        "lies near no border"
    )


SETTINGS = {
    "temperature": {"temperature": 0.9},
    "top-k": {"temperature": 1.3, "top_k": 5},
    "top-p": {"temperature": 1.0, "top_p": 0.8},
}


@pytest.fixture(scope="module")
def alone(tiny_model) -> dict[str, list[list[int]]]:
    return {
        name: answers(tiny_model, mb.Sequential(), sampled_requests(**options))
        for name, options in SETTINGS.items()
    }


COMPANY = {
    "a static batch of 8": (lambda: mb.Static(8), {}),
    "a continuous batch of 8": (lambda: mb.Continuous(8), {}),
    "chunks": (lambda: mb.Continuous(3, max_batch_tokens=4), {}),
    "preemption": (lambda: mb.Continuous(8), {"num_blocks": 7, "block_size": 4}),
}


@pytest.mark.parametrize("company", COMPANY, ids=lambda name: name.replace(" ", "-"))
@pytest.mark.parametrize("options", SETTINGS)
def test_a_seed_gives_the_same_tokens_in_any_company(tiny_model, alone, options, company):
    scheduler, engine_options = COMPANY[company]
    requests = sampled_requests(**SETTINGS[options])
    engine = mb.Engine(tiny_model, scheduler(), clock=mb.VirtualClock(), **engine_options)
    completions = engine.run(requests)
    for request, completion, expected in zip(requests, completions, alone[options], strict=True):
        assert_same_draws(tiny_model, request, completion.token_ids, expected)
    assert (engine.trace.summary()["num_preemptions"] > 0) is (company == "preemption")


def test_the_order_of_arrival_does_not_shift_a_draw(tiny_model, alone):
    requests = sampled_requests(**SETTINGS["temperature"])
    got = answers(tiny_model, mb.Continuous(4), requests[::-1])[::-1]
    for request, tokens, expected in zip(requests, got, alone["temperature"], strict=True):
        assert_same_draws(tiny_model, request, tokens, expected)


def test_another_seed_gives_another_answer(tiny_model, alone):
    requests = sampled_requests(**SETTINGS["temperature"])
    requests = [replace(request, seed=request.seed + 1000) for request in requests]
    got = answers(tiny_model, mb.Sequential(), requests)
    assert sum(a != b for a, b in zip(got, alone["temperature"], strict=True)) >= 6


def test_without_a_seed_each_request_draws_its_own(tiny_model):
    requests = [mb.Request([5, 6, 7], max_tokens=20, temperature=1.5) for _ in range(2)]
    first, second = answers(tiny_model, mb.Continuous(2), requests)
    assert first != second


def test_a_sampled_answer_is_not_the_greedy_one(tiny_model, alone):
    """Guards the tests above: the temperature really draws."""
    greedy = answers(tiny_model, mb.Sequential(), sampled_requests())
    assert sum(a != b for a, b in zip(greedy, alone["temperature"], strict=True)) >= 4


# What is no number -------------------------------------------------------------------------------


def waiting_for_a_token(name):
    request = mb.Request([5, 6, 7], request_id=name)
    return mb.Sequence(request=request, request_id=name, token_ids=[5, 6, 7], num_prompt_tokens=3)


@pytest.mark.parametrize("wrong", [float("nan"), float("inf")])
def test_a_logit_that_is_no_number_is_an_error_that_names_the_request(wrong):
    logits = torch.zeros(2, 8)
    logits[1, 3] = wrong
    said = rf"request 'B': after its 3 tokens the model's highest logit is {wrong}"
    with pytest.raises(FloatingPointError, match=said):
        model_sampling.sample(logits, [waiting_for_a_token("A"), waiting_for_a_token("B")])


def test_a_row_whose_every_token_is_ruled_out_is_an_error():
    with pytest.raises(FloatingPointError, match="highest logit is -inf"):
        model_sampling.sample(torch.full((1, 8), -torch.inf), [waiting_for_a_token("A")])


def test_a_token_that_the_model_rules_out_is_no_error():
    logits = torch.full((1, 8), -torch.inf)
    logits[0, 5] = 0.0
    assert model_sampling.sample(logits, [waiting_for_a_token("A")]) == [5]


def test_after_logits_that_are_no_numbers_the_request_can_be_given_up(tiny_model):
    engine = mb.Engine(tiny_model, mb.Continuous(2), clock=mb.VirtualClock())
    engine.add(mb.Request([5], request_id="A", max_tokens=3))
    spoil = tiny_model.hf.lm_head.register_forward_hook(lambda *call: call[2] * torch.nan)
    with pytest.raises(FloatingPointError, match="request 'A'"):
        engine.step()
    spoil.remove()
    engine.abort("A")
    assert (engine.has_work, engine.pool.num_free) == (False, engine.pool.num_blocks)

"""Every architecture served says what transformers' own `generate` says, token for token.

The oracle is a second copy of each random model, with transformers' eager attention, that the
engine never touches.
"""

from __future__ import annotations

import copy
import functools
from dataclasses import dataclass

import pytest
import torch
from architectures import CONTEXT, SERVED, VOCAB_SIZE, served
from many_policies import BLOCK_SIZES, LONGEST, MAX_TOKENS, POLICIES, PROMPTS, requests
from oracle import TIE, assert_same_tokens
from transformers import PreTrainedModel

import minibatch as mb


@torch.inference_mode()
def greedy(hf: PreTrainedModel, prompt: list[int], max_tokens: int) -> list[int]:
    ids = torch.tensor([prompt])
    output = hf.generate(
        ids,
        attention_mask=torch.ones_like(ids),
        do_sample=False,
        max_new_tokens=max_tokens,
        eos_token_id=[-1],  # no model says it
        pad_token_id=0,
    )
    return output[0, len(prompt) :].tolist()


@dataclass
class Case:
    model: mb.Model
    untouched: PreTrainedModel
    expected: list[list[int]]


@functools.cache
def case_of(name: str) -> Case:
    hf = served(name)
    untouched = copy.deepcopy(hf)
    untouched.set_attn_implementation("eager")
    expected = [greedy(untouched, *pair) for pair in zip(PROMPTS, MAX_TOKENS, strict=True)]
    return Case(mb.Model(hf), untouched, expected)


THREE = ("llama gqa tied", "qwen3 gqa wide heads", "gpt2 tied")  # in the short suite
SOME = [("static", 16), ("continuous in chunks", 2), ("continuous in a tight pool", 7)]
EVERY = [pytest.param(name, marks=() if name in THREE else pytest.mark.full) for name in SERVED]


@pytest.fixture(params=EVERY, ids=lambda name: name.replace(" ", "-"))
def case(request) -> Case:
    return case_of(request.param)


def ways() -> list:
    """Every policy with every block size on three architectures, some of them on the others."""
    grid = [(policy, size) for policy in POLICIES for size in BLOCK_SIZES]
    found = []
    for name in SERVED:
        for policy, size in grid if name in THREE else SOME:
            short = name in THREE and (policy, size) in SOME
            identity = f"{name}-{policy}-blocks-of-{size}".replace(" ", "-")
            marks = () if short else pytest.mark.full
            found.append(pytest.param(name, policy, size, id=identity, marks=marks))
    return found


# The same tokens ---------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "policy", "block_size"), ways())
def test_the_tokens_are_those_of_generate(name, policy, block_size):
    case = case_of(name)
    tight = policy == "continuous in a tight pool"
    engine = mb.Engine(
        case.model,
        POLICIES[policy](),
        num_blocks=-(-LONGEST // block_size) if tight else None,
        block_size=block_size,
        clock=mb.VirtualClock(),
    )
    asked = requests()
    completions = engine.run(asked)
    for request, completion, expected in zip(asked, completions, case.expected, strict=True):
        assert completion.finish_reason == "length"
        assert_same_tokens(case.model, request, completion.token_ids, expected)
    assert engine.pool.num_free == engine.pool.num_blocks
    # One block of a whole context is never taken back: the next request just waits for it.
    preempts = tight and block_size < CONTEXT
    assert (engine.trace.summary()["num_preemptions"] > 0) is preempts


@pytest.mark.parametrize("attention", ["reference", "gather"])
def test_the_tokens_are_those_of_generate_through_the_other_paths(case, attention):
    engine = mb.Engine(
        case.model,
        mb.Continuous(3, max_batch_tokens=7),
        block_size=7,
        attention=attention,
        clock=mb.VirtualClock(),
    )
    asked = requests()
    completions = engine.run(asked)
    for request, completion, expected in zip(asked, completions, case.expected, strict=True):
        assert_same_tokens(case.model, request, completion.token_ids, expected)


# ... and that this says something ----------------------------------------------------------------


@torch.inference_mode()
def test_the_order_of_the_context_changes_the_answer(case):
    """A model that ignored its context would pass everything above."""
    changed = 0
    for prompt in PROMPTS[:3]:
        turned = prompt[:-1][::-1] + prompt[-1:]
        logits, other = (
            case.untouched(torch.tensor([ids])).logits[0, -1] for ids in (prompt, turned)
        )
        assert (logits - other).abs().max() > 100 * TIE
        changed += int(logits.argmax() != other.argmax())
    assert changed > 0


@torch.inference_mode()
def test_the_best_logit_is_well_ahead_of_the_second(case):
    """Ties would excuse differences; there are next to none."""
    gaps = []
    for prompt, answer in zip(PROMPTS, case.expected, strict=True):
        logits = case.untouched(torch.tensor([prompt + answer])).logits[0, len(prompt) - 1 : -1]
        best, second = logits.topk(2).values.unbind(dim=-1)
        gaps += (best - second).tolist()
    assert sum(gap < 10 * TIE for gap in gaps) <= 1
    assert sorted(gaps)[len(gaps) // 2] > 1000 * TIE


def test_an_answer_ends_where_the_models_own_end_token_ends_it():
    """`generation_config.eos_token_id` may be one id or several; generate reads the same."""
    name = "llama mha untied 3 layers"
    case, hf = case_of(name), served(name)
    answer = case.expected[0]
    never_said = next(i for i in range(VOCAB_SIZE) if i not in answer)
    end = next(i for i in range(2, len(answer)) if answer[i] not in answer[:i])
    hf.generation_config.eos_token_id = [never_said, answer[end]]
    model = mb.Model(hf)
    assert model.eos_token_ids == {never_said, answer[end]}
    ids = torch.tensor([PROMPTS[0]])
    own = hf.generate(
        ids, attention_mask=torch.ones_like(ids), do_sample=False, max_new_tokens=8, pad_token_id=0
    )
    [completion] = mb.Engine(model, mb.Continuous(2)).run([mb.Request(PROMPTS[0], max_tokens=8)])
    assert completion.token_ids == own[0, len(PROMPTS[0]) :].tolist() == answer[: end + 1]
    assert completion.finish_reason == "stop"


# The transformers model stays an ordinary model --------------------------------------------------


@torch.inference_mode()
def left_padded(hf: PreTrainedModel) -> list[list[int]]:
    longest = max(map(len, PROMPTS))
    ids = torch.tensor([[0] * (longest - len(p)) + p for p in PROMPTS])
    mask = torch.tensor([[0] * (longest - len(p)) + [1] * len(p) for p in PROMPTS])
    output = hf.generate(
        ids,
        attention_mask=mask,
        do_sample=False,
        max_new_tokens=6,
        eos_token_id=[-1],
        pad_token_id=0,
    )
    return output[:, longest:].tolist()


def test_generate_works_untouched_on_a_wrapped_model(case):
    for prompt, n, expected in zip(PROMPTS, MAX_TOKENS, case.expected, strict=True):
        request = mb.Request(prompt, max_tokens=n, ignore_eos=True)
        assert_same_tokens(case.model, request, greedy(case.model.hf, prompt, n), expected)


def test_generate_works_left_padded_on_a_wrapped_model(case):
    assert left_padded(case.model.hf) == left_padded(case.untouched)


@torch.inference_mode()
def test_a_forward_without_our_keyword_is_causal(case):
    """A later token changes nothing before it, with no mask given at all."""
    ids = torch.tensor([PROMPTS[0]])
    other = ids.clone()
    other[0, -1] = 3
    logits, changed = (case.model.hf(i, use_cache=False).logits[0] for i in (ids, other))
    torch.testing.assert_close(logits[:-1], changed[:-1], rtol=1e-4, atol=1e-4)
    expected = case.untouched(ids).logits[0]
    torch.testing.assert_close(logits, expected, rtol=1e-3, atol=1e-3 * expected.abs().max())


def test_nothing_global_is_switched():
    """A model loaded beside ours, with sdpa, computes bit for bit what it did before."""
    other = served("qwen2 mha untied")
    other.set_attn_implementation("sdpa")
    ids = torch.tensor([PROMPTS[2]])
    with torch.no_grad():
        before = other(ids).logits
    state = (torch.is_grad_enabled(), torch.get_default_dtype(), torch.get_num_threads())

    model = mb.Model(served("qwen2 gqa tied"))
    engine = mb.Engine(model, mb.Continuous(2))
    engine.add(mb.Request(PROMPTS[0], max_tokens=4, ignore_eos=True))
    engine.step()  # in the middle of serving
    with torch.no_grad():
        assert torch.equal(other(ids).logits, before)
    assert other.config._attn_implementation == "sdpa"
    assert state == (torch.is_grad_enabled(), torch.get_default_dtype(), torch.get_num_threads())
    assert other(ids).logits.requires_grad  # no inference mode is left behind


def test_two_wrapped_models_do_not_disturb_each_other():
    """Each engine's cache reaches attention with its own forward call, not through a global."""
    names = ["llama gqa tied", "gpt-neox parallel"]
    engines = [mb.Engine(case_of(name).model, mb.Continuous(4)) for name in names]
    ids = [[engine.add(request) for request in requests()] for engine in engines]
    while any(engine.has_work for engine in engines):
        for engine in engines:
            if engine.has_work:
                engine.step()
    for name, engine, order in zip(names, engines, ids, strict=True):
        answers = {done.request_id: done.token_ids for done in engine.trace.completions}
        for request, request_id, expected in zip(
            requests(), order, case_of(name).expected, strict=True
        ):
            assert_same_tokens(case_of(name).model, request, answers[request_id], expected)

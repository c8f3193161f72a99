"""What the engine's answers are held to, one request at a time and without any of its code.

Greedy: transformers' own `generate`. Sampled: the same logits, and the draw that the design
promises for (seed, output position), picked in plain Python.
"""

import math
import warnings

import numpy as np
import torch

import minibatch as mb

TIE = 1e-4  # two logits nearer than this may swap places with the order of summation
NOTHING = [-1]  # an end token that no model ever says


def generate(model: mb.Model, request: mb.Request) -> list[int]:
    """The greedy answer of `model.hf.generate` to one request: output token ids."""
    prompt = torch.tensor([prompt_ids(model, request)], device=model.device)
    with torch.inference_mode():
        output = model.hf.generate(
            prompt,
            attention_mask=torch.ones_like(prompt),
            do_sample=False,
            num_beams=1,
            max_new_tokens=request.max_tokens,
            eos_token_id=sorted(stop_ids(model, request)) or NOTHING,
            pad_token_id=0,
        )
    return output[0, prompt.shape[1] :].tolist()


def assert_same_tokens(
    model: mb.Model, request: mb.Request, got: list[int], expected: list[int] | None = None
) -> None:
    """`got` is generate's answer; where they part, the two best logits tie within 1e-4.

    expected: the answer of `generate`, if it is known already.
    """
    expected = generate(model, request) if expected is None else expected
    same = _first_difference(request, got, expected)
    if same is None:
        return
    gap = top_two_gap(model, prompt_ids(model, request) + expected[:same])
    assert gap < TIE, (
        f"{request.request_id}: output token {same} is {got[same]}, generate gives "
        f"{expected[same]}, and the two best logits lie {gap:.2g} apart"
    )
    warnings.warn(f"{request.request_id}: a tie at output token {same}: {gap:.2g}", stacklevel=2)


def sample(model: mb.Model, request: mb.Request) -> list[int]:
    """The sampled answer to one request, decoded alone: output token ids."""
    token_ids, stops, output = prompt_ids(model, request), stop_ids(model, request), []
    while len(output) < request.max_tokens and not stops.intersection(output[-1:]):
        ids, cumulative, _ = _distribution(model, request, token_ids + output)
        draw = _draw(request, len(output))
        output.append(next((t for t, c in zip(ids, cumulative, strict=True) if draw < c), ids[-1]))
    return output


def assert_same_sample(
    model: mb.Model, request: mb.Request, got: list[int], expected: list[int] | None = None
) -> None:
    """`got` is `sample`'s answer, unless a boundary between tokens lies within 1e-4 of the draw."""
    expected = sample(model, request) if expected is None else expected
    same = _first_difference(request, got, expected)
    if same is None:
        return
    context = prompt_ids(model, request) + expected[:same]
    _, cumulative, nearest = _distribution(model, request, context)
    gap = min(nearest, np.abs(cumulative - _draw(request, same)).min())
    assert gap < TIE, (
        f"{request.request_id}: sampled token {same} is {got[same]}, alone it is {expected[same]}, "
        f"and the draw lies {gap:.2g} from any boundary between tokens"
    )
    warnings.warn(f"{request.request_id}: draw {same} on a boundary: {gap:.2g}", stacklevel=2)


def top_two_gap(model: mb.Model, token_ids: list[int]) -> float:
    """How far the best next token is ahead of the second best, in logits."""
    best, second = _logits(model, token_ids).topk(2).values.tolist()
    return best - second


def prompt_ids(model: mb.Model, request: mb.Request) -> list[int]:
    return model.encode(request.prompt) if isinstance(request.prompt, str) else request.prompt


def stop_ids(model: mb.Model, request: mb.Request) -> set[int]:
    return set(request.stop_token_ids) | (set() if request.ignore_eos else model.eos_token_ids)


def _first_difference(request: mb.Request, got: list[int], expected: list[int]) -> int | None:
    """Where two answers part; None if they are equal. One may not just end before the other."""
    if got == expected:
        return None
    pairs = enumerate(zip(got, expected, strict=False))
    same = next((i for i, (a, b) in pairs if a != b), None)
    assert same is not None, (
        f"{request.request_id}: {len(got)} tokens {got}, but {len(expected)} alone: {expected}"
    )
    return same


def _logits(model: mb.Model, token_ids: list[int]) -> torch.Tensor:
    with torch.inference_mode():
        ids = torch.tensor([token_ids], device=model.device)
        return model.hf(ids, use_cache=False).logits[0, -1].float()


def _distribution(model: mb.Model, request: mb.Request, token_ids: list[int]):
    """What may be drawn: tokens by id, their cumulative shares up to 1, and how near rounding is to
    keeping another set of tokens."""
    logits = _logits(model, token_ids).double().cpu().numpy()
    shares = np.exp((logits - logits.max()) / request.temperature)
    shares /= shares.sum()
    ids, nearest = np.argsort(-shares, kind="stable"), math.inf
    if 0 < request.top_k < len(ids):
        nearest = logits[ids[request.top_k - 1]] - logits[ids[request.top_k]]
        ids = ids[: request.top_k]
    if request.top_p < 1:
        reached = np.cumsum(shares[ids]) / shares[ids].sum()
        nearest = min(nearest, np.abs(reached - request.top_p).min())
        ids = ids[: int(np.searchsorted(reached, request.top_p)) + 1]
    ids = np.sort(ids)
    return ids.tolist(), np.cumsum(shares[ids]) / shares[ids].sum(), nearest


def _draw(request: mb.Request, position: int) -> float:
    return np.random.Generator(np.random.Philox(key=request.seed, counter=position)).random()

"""From logits to the next token: greedy, or a random draw that depends only on (seed, position).

The random number of an output position is a pure function of the request's seed and that position.
So other requests in the batch, preemption and retries cannot change it.
"""

from typing import NamedTuple

import numpy as np
import torch

from ..core.request import Request, Sequence


class Draw(NamedTuple):
    """A row that samples. row: its index in the logits. number: its random number, in [0, 1)."""

    row: int
    number: float
    request: Request


def sample(
    logits: torch.Tensor, sequences: list[Sequence], ahead: list[int] | None = None
) -> list[int]:
    """One token for each row. logits: [rows, vocabulary]; sequences: the sequence of each row;
    ahead: for each row, how many draft tokens lie between it and its sequence's end, by default 0.

    Raises FloatingPointError, naming the request, if the highest logit is not a finite number.
    (A single logit of minus infinity is allowed: the model rules out that token.)
    """
    places = [s.num_output_tokens + (ahead[i] if ahead else 0) for i, s in enumerate(sequences)]
    tokens, highest = choose(logits, draws(sequences, places))
    return checked(tokens.tolist(), highest, sequences)  # the one copy from a GPU


def draws(sequences: list[Sequence], places: list[int]) -> list[Draw]:
    """The rows that sample, each with its random number. places: for each row, how many output
    tokens come before the one that it yields."""
    return [
        Draw(i, uniform(sequence.seed, place), sequence.request)
        for i, (sequence, place) in enumerate(zip(sequences, places, strict=True))
        if sequence.request.temperature > 0
    ]


def choose(logits: torch.Tensor, draws: list[Draw]) -> tuple[torch.Tensor, torch.Tensor]:
    """One token for each row of logits [rows, vocabulary]: int64 [rows], -1 where the highest logit
    is not a finite number; and the highest logits, [rows]. It does not wait for the device."""
    highest, likeliest = logits.max(dim=-1)
    tokens = likeliest.clone() if draws else likeliest
    for row, number, request in draws:
        setting = request.temperature, request.top_k, request.top_p
        tokens[row] = _picked(logits[row], number, *setting)
    return torch.where(highest.isfinite(), tokens, -1), highest


def checked(tokens: list[int], highest: torch.Tensor, sequences: list[Sequence]) -> list[int]:
    """The tokens of `choose`. Raises FloatingPointError, naming the request, if one is -1."""
    for i, token in enumerate(tokens):
        if token < 0:
            name, n = sequences[i].request_id, sequences[i].num_tokens
            value = float(highest[i])
            raise FloatingPointError(
                f"request {name!r}: after its {n:,} tokens the model's highest logit is {value}; "
                "the cause is the model's weights, or an overflow in this dtype. Try float32, or "
                f"end the request with abort({name!r})."
            )
    return tokens


def uniform(seed: int, position: int) -> float:
    """A number in [0, 1) from a counter-based generator (Philox; Salmon et al., 2011)."""
    return np.random.Generator(np.random.Philox(key=seed, counter=position)).random()


def pick(
    logits: torch.Tensor, draw: float, temperature: float, top_k: int = 0, top_p: float = 1.0
) -> int:
    """The token at `draw` in [0, 1), when probabilities are laid end to end in the order of ids.

    logits: [vocabulary]. top_k keeps the k likeliest tokens (0: all). top_p keeps the fewest of
    those whose probabilities together reach p of their sum. The rest is scaled to 1 again. The
    order is by id, not by likelihood, so that rounding cannot swap two tokens that are about
    equally likely.
    """
    return int(_picked(logits, draw, temperature, top_k, top_p))


def _picked(
    logits: torch.Tensor, draw: float, temperature: float, top_k: int, top_p: float
) -> torch.Tensor:
    """What `pick` returns, on the device: no operation here waits for it."""
    highest = logits.max().double()  # subtracted first: a tiny temperature must not overflow
    probabilities = ((logits.double() - highest) / temperature).softmax(dim=-1)
    if top_k or top_p < 1:
        likeliest = probabilities.argsort(descending=True, stable=True)[: top_k or None]
        reached = probabilities[likeliest].cumsum(dim=-1)
        kept = torch.ones_like(likeliest, dtype=torch.bool)
        if top_p < 1:
            num_below = (reached < top_p * reached[-1]).sum()
            kept = torch.arange(len(likeliest), device=logits.device) <= num_below
        dropped = torch.ones_like(probabilities, dtype=torch.bool).scatter(0, likeliest, ~kept)
        probabilities = probabilities.masked_fill(dropped, 0.0)
    cumulative = probabilities.cumsum(dim=-1)
    ids = torch.arange(len(probabilities), device=logits.device)
    last = torch.where(probabilities != 0, ids, 0).max()
    return torch.minimum((cumulative <= draw * cumulative[-1]).sum(), last)

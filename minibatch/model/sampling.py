"""From logits to the next token: greedy, or a random draw that depends only on (seed, position).

The random number of an output position is a pure function of the request's seed and that position.
So other requests in the batch, preemption and retries cannot change it.
"""

import numpy as np
import torch

from ..core.request import Sequence


def sample(
    logits: torch.Tensor, sequences: list[Sequence], ahead: list[int] | None = None
) -> list[int]:
    """One token for each row. logits: [rows, vocabulary]; sequences: the sequence of each row;
    ahead: for each row, how many draft tokens lie between it and its sequence's end, by default 0.

    Raises FloatingPointError, naming the request, if the highest logit is not a finite number.
    (A single logit of minus infinity is allowed: the model rules out that token.)
    """
    highest, likeliest = logits.max(dim=-1)
    tokens = torch.where(highest.isfinite(), likeliest, -1).tolist()  # the one copy from a GPU
    for i, token in enumerate(tokens):
        if token < 0:
            name, n = sequences[i].request_id, sequences[i].num_tokens
            value = float(highest[i])
            raise FloatingPointError(
                f"request {name!r}: after its {n:,} tokens the model's highest logit is {value}; "
                "its weights, or a number that overflows in this dtype, are at fault. Try float32, "
                f"or give it up with abort({name!r})."
            )
    for i, sequence in enumerate(sequences):
        request = sequence.request
        if request.temperature > 0:
            draw = uniform(sequence.seed, sequence.num_output_tokens + (ahead[i] if ahead else 0))
            tokens[i] = pick(logits[i], draw, request.temperature, request.top_k, request.top_p)
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
    highest = logits.max().double()  # subtracted first: a tiny temperature must not overflow
    probabilities = ((logits.double() - highest) / temperature).softmax(dim=-1)
    if top_k or top_p < 1:
        likeliest = probabilities.argsort(descending=True, stable=True)[: top_k or None]
        reached = probabilities[likeliest].cumsum(dim=-1)
        num_kept = int((reached < top_p * reached[-1]).sum()) + 1 if top_p < 1 else len(likeliest)
        dropped = torch.ones_like(probabilities, dtype=torch.bool)
        dropped[likeliest[:num_kept]] = False
        probabilities = probabilities.masked_fill(dropped, 0.0)
    cumulative = probabilities.cumsum(dim=-1)
    last = int(probabilities.nonzero()[-1])
    return min(int((cumulative <= draw * cumulative[-1]).sum()), last)

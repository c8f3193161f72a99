"""What an engine has room for: its pool's size, and whether a request can ever be served.

What could never be computed is refused here, before it waits for ever.
"""

from __future__ import annotations

import itertools
import math
import secrets
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from ..core.checks import integer
from ..core.request import Request, Sequence
from ..memory.blocks import BlockPool, enough_blocks
from .argument_checks import as_requests, check_request

if TYPE_CHECKING:
    from ..attention import AttentionFunction
    from ..model.load import Model
    from ..model.runner import ModelRunner


def take_in(
    requests: Iterable[Request],
    live: Mapping[str, Sequence],
    times: tuple[float, float],
    numbers: Iterator[int],
    model: Model,
    pool: BlockPool,
) -> list[Sequence]:
    """A sequence for each request, or an error that names what is wrong with one of them.

    live: sequences whose ids are in use. times: when a request without an arrival time comes, and
    what an arrival time counts from, in seconds on the engine's clock. numbers: for the ids of
    requests that have none.
    """
    new: dict[str, Sequence] = {}
    for request in as_requests(requests):
        check_request(request)
        name = request.request_id
        if name in new and name is not None:
            raise ValueError(f"two of these requests have the id {name!r}; give each its own id")
        if name in live:
            raise ValueError(
                f"request {name!r} is already live; wait for its end, abort it, or start again "
                "with engine.reset()"
            )
        while name is None or name in live or name in new:
            name = f"request-{next(numbers)}"
        now, start = times
        arrival_time = now if request.arrival_time is None else start + request.arrival_time
        new[name] = to_sequence(request, name, arrival_time, model, pool)
    return list(new.values())


def to_sequence(
    request: Request, name: str, arrival_time: float, model: Model, pool: BlockPool
) -> Sequence:
    """The request, encoded and checked, with its end tokens and its seed set.

    arrival_time: seconds on the engine's clock. Raises ValueError, naming the numbers, for a token
    outside the vocabulary, or more tokens than the model's context or the whole pool can hold.
    """
    prompt = request.prompt
    token_ids = model.encode(prompt) if isinstance(prompt, str) else list(prompt)
    check_fits(name, token_ids, request.max_tokens, model, pool)
    return Sequence(
        request=request,
        request_id=name,
        token_ids=token_ids,
        num_prompt_tokens=len(token_ids),
        stop_token_ids=stop_token_ids(request, model),
        seed=secrets.randbits(63) if request.seed is None else request.seed,
        arrival_time=arrival_time,
    )


def stop_token_ids(request: Request, model: Model) -> frozenset[int]:
    """What ends this request's answer, and is not part of its text."""
    eos = () if request.ignore_eos else model.eos_token_ids
    return frozenset(eos) | frozenset(request.stop_token_ids)


def check_fits(
    name: str, prompt: list[int], max_tokens: int, model: Model, pool: BlockPool
) -> None:
    """Refuse what could never be computed, rather than let it wait for ever."""
    if not prompt:
        raise ValueError(f"request {name!r}: its prompt has no tokens; give at least one")
    outside = [i for i in prompt if not 0 <= i < model.vocab_size]
    if outside:
        raise ValueError(
            f"request {name!r}: token id {outside[0]} is outside the vocabulary, "
            f"0 to {model.vocab_size - 1:,}"
        )
    total = len(prompt) + max_tokens
    stored = total - 1  # nothing comes after the last token, so its K and V are never computed
    needs = f"request {name!r} needs {len(prompt):,} + {max_tokens:,} tokens"
    if total > model.max_model_len:
        raise ValueError(
            f"{needs} = {total:,}; this model's context holds {model.max_model_len:,}. "
            "Shorten the prompt or lower max_tokens."
        )
    num_blocks = math.ceil(stored / pool.block_size)
    if num_blocks > pool.num_blocks:
        raise ValueError(
            f"{needs} = {num_blocks:,} blocks of {pool.block_size}; this engine has "
            f"{pool.num_blocks:,}. Raise num_blocks or lower max_tokens."
        )


def fork_requests(parent: Sequence, n: int, live: Mapping[str, Sequence]) -> list[Request]:
    """`n` requests for more answers to the prompt of `parent`, arriving now: named after it, "A/1",
    "A/2"; with the seeds after its own, or with drawn ones if its own was drawn. A fork's forks
    have seeds far after its own, since the next ones are its siblings'."""
    n, request = integer("n", n, at_least=1), parent.request
    numbers = (k for k in itertools.count(1) if f"{parent.request_id}/{k}" not in live)
    prompt = parent.token_ids[: parent.num_prompt_tokens]
    step = 2 ** (16 * parent.request_id.count("/"))
    again = partial(replace, request, prompt=prompt, arrival_time=None)
    return [
        again(
            seed=None if request.seed is None else (request.seed + k * step) % 2**64,
            request_id=f"{parent.request_id}/{k}",
        )
        for k in itertools.islice(numbers, n)
    ]


def live_one(request_id: str, live: Mapping[str, Sequence]) -> Sequence:
    """The one of this id. Raises ValueError, naming some that live, if there is none."""
    if request_id not in live:
        names = ", ".join(map(repr, itertools.islice(live, 20))) or "none"
        raise ValueError(f"no live request {request_id!r}; live: {names}")
    return live[request_id]


def check_ending(sequence: Sequence, reason: str) -> Sequence:
    """The sequence, whose answer ends here as served. Raises ValueError if it has no token yet, or
    for another reason than "stop" or "length"."""
    if reason not in ("stop", "length"):
        raise ValueError(f'reason is {reason!r}; give "stop" or "length", or call abort')
    if not sequence.num_output_tokens:
        raise ValueError(f"request {sequence.request_id!r} has no token yet; call abort instead")
    return sequence


def make_pool(
    model: Model,
    max_batch_size: int,
    num_blocks: int | None,
    block_size: int,
    pool: BlockPool | None = None,
) -> BlockPool:
    """The one given. None: a new one, of so many blocks; None of them: for a full batch of longest
    sequences, or as many as half of the free memory holds."""
    if pool is not None:
        return pool
    block_size = integer("block_size", block_size, at_least=1)
    if num_blocks is None:
        affordable = model.num_affordable_blocks(block_size)
        num_blocks = enough_blocks(max_batch_size, model.max_model_len, block_size, affordable)
    return BlockPool(num_blocks, block_size)


def make_runner(
    model: Model, pool: BlockPool, attention: str | AttentionFunction, most_in_graphs: int
) -> ModelRunner:
    """What computes the steps; decode steps of up to so many rows as CUDA graphs, 0 for none.
    Raises ValueError where there is nothing to record."""
    runner = model.runner(pool, attention)
    if most_in_graphs:
        if not hasattr(runner, "use_graphs"):
            raise ValueError(
                f"cuda_graphs=True needs an NVIDIA GPU, and {type(model).__name__} does not use "
                "one; leave cuda_graphs out"
            )
        runner.use_graphs(most_in_graphs, model.max_model_len)
    return runner

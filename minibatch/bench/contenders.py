"""The systems that are compared. Each is called as its documentation shows, with the same requests.

`prepare` does what a server does before the first request (allocate the KV pool, start a thread);
it is not part of the measured time.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import partial

import torch
from transformers import GenerationConfig

from ..core.request import Request
from ..engine.engine import Engine
from ..model.load import Model
from ..model.registration import NAME
from ..schedulers import Continuous, Dynamic, Scheduler, Sequential, Static

BATCH_SIZE = 8  # most requests in one forward pass, for every contender that batches
BLOCK_SIZE = 16  # tokens in one of our KV blocks
NUM_SPARE = 1.25  # transformers admits no request while less than 15 % of its pool is free

Serve = Callable[[], list[list[int]]]  # serves all requests: output token ids of each, in order


class NotAvailableError(RuntimeError):
    """This contender cannot run here, or did not do all of the work; the message gives the
    reason."""


@dataclass(frozen=True, slots=True)
class Contender:
    """prepare(model, requests) is a context manager; it yields a function that serves them."""

    name: str
    title: str
    prepare: Callable[[Model, list[Request]], AbstractContextManager[Serve]]
    is_ours: bool = False


@contextmanager
def generate(model: Model, requests: list[Request], batch_size: int) -> Iterator[Serve]:
    """transformers' `generate` on left-padded batches, in order, each as long as its longest."""

    def serve() -> list[list[int]]:
        answers = []
        for start in range(0, len(requests), batch_size):
            answers += _generate_batch(model, requests[start : start + batch_size])
        return answers

    with _sdpa(model):
        yield serve


def _generate_batch(model: Model, batch: list[Request]) -> list[list[int]]:
    longest = max(len(request.prompt) for request in batch)
    padding = [longest - len(request.prompt) for request in batch]
    rows = [[0] * n + request.prompt for n, request in zip(padding, batch, strict=True)]
    mask = [[0] * n + [1] * (longest - n) for n in padding]
    output = model.hf.generate(
        torch.tensor(rows, device=model.device),
        attention_mask=torch.tensor(mask, device=model.device),
        generation_config=_greedy(model, max(request.max_tokens for request in batch)),
    )
    answers = output[:, longest:].tolist()
    return [row[: request.max_tokens] for row, request in zip(answers, batch, strict=True)]


@contextmanager
def transformers_continuous(model: Model, requests: list[Request]) -> Iterator[Serve]:
    """transformers' own continuous batching. Prefix sharing is off, as for all others here."""
    with transformers_manager(model, requests) as serve:
        yield partial(serve, requests)


@contextmanager
def transformers_manager(
    model: Model, requests: list[Request], sharing: bool = False, page_size: int | None = None
) -> Iterator[Callable[[list[Request]], list[list[int]]]]:
    """Yields a function that serves requests through transformers' manager, in its own thread.

    requests: the pool has room for a batch of the longest. sharing: of blocks between requests with
    a common prefix. page_size: tokens in a block; None: transformers' default. `max_batch_tokens`
    admits any one prompt whole; values from 512 to 8,192 changed the speed on these workloads by
    4 % at most.
    """
    try:
        from transformers import ContinuousBatchingConfig

        longest = max(len(request.prompt) + request.max_tokens for request in requests)
        config = ContinuousBatchingConfig(
            max_requests_per_batch=BATCH_SIZE,
            max_batch_tokens=max(len(request.prompt) for request in requests) + BATCH_SIZE,
            allow_block_sharing=sharing,
        )
        config.auto_switch_to_flash = False  # set, not passed: transformers 5.17 does not know it
        name = "page_size" if getattr(config, "page_size", None) else "block_size"  # 5.17's name
        page_size = page_size or getattr(config, name)
        setattr(config, name, page_size)
        config.num_blocks = math.ceil(NUM_SPARE * BATCH_SIZE * math.ceil(longest / page_size))
        with _sdpa(model):
            manager = model.hf.init_continuous_batching(
                generation_config=_greedy(model), continuous_batching_config=config
            )
            manager.warmup()  # makes its cache
            manager.start()
            try:
                yield partial(_serve_through, manager)
            finally:
                manager.stop(hard_stop=True)
                manager.destroy()
    except (ImportError, AttributeError, TypeError, ValueError) as error:
        raise NotAvailableError(f"{type(error).__name__}: {error}") from error


def _serve_through(manager, requests: list[Request]) -> list[list[int]]:
    names = [
        manager.add_request(request.prompt, max_new_tokens=request.max_tokens)
        for request in requests
    ]
    answers: dict[str, list[int]] = {}
    while len(answers) < len(names):
        result = manager.get_result(timeout=1)
        if result is None and not manager.is_running():
            raise NotAvailableError("transformers' generation thread ended early")
        if result is not None and result.error is not None:
            raise NotAvailableError(f"transformers failed a request: {result.error}")
        if result is not None and result.is_finished():
            answers[result.request_id] = result.generated_tokens
    return [answers[name] for name in names]


@contextmanager
def minibatch(
    model: Model,
    requests: list[Request],
    make_scheduler: Callable[[], Scheduler],
    cuda_graphs: bool = False,
    overlap: bool = False,
) -> Iterator[Serve]:
    """This package, with blocks for a full batch of the longest request."""
    longest = max(len(request.prompt) + request.max_tokens for request in requests)
    scheduler = make_scheduler()
    num_blocks = max(BATCH_SIZE, scheduler.max_batch_size) * math.ceil(longest / BLOCK_SIZE)
    sizes = {"num_blocks": num_blocks, "block_size": BLOCK_SIZE}
    engine = Engine(model, scheduler, **sizes, cuda_graphs=cuda_graphs, overlap=overlap)
    yield lambda: [completion.token_ids for completion in engine.run(requests)]


def _greedy(model: Model, max_new_tokens: int | None = None) -> GenerationConfig:
    """Greedy, to the full length. These values override the model's own defaults."""
    return GenerationConfig(
        max_new_tokens=max_new_tokens,
        do_sample=False,
        repetition_penalty=1.0,
        use_cache=True,
        eos_token_id=model.vocab_size,  # past the vocabulary: an end token that is never generated
        pad_token_id=0,
    )


@contextmanager
def _sdpa(model: Model) -> Iterator[None]:
    """The model as transformers ships it, with its own SDPA attention."""
    model.hf.set_attn_implementation("sdpa")
    try:
        yield
    finally:
        model.hf.set_attn_implementation(NAME)


def _ours(title: str, make_scheduler: Callable[[], Scheduler]) -> Contender:
    prepare = partial(minibatch, make_scheduler=make_scheduler)
    return Contender(title.partition("(")[0].lower(), f"minibatch {title}", prepare, is_ours=True)


CONTENDERS = {
    contender.name: contender
    for contender in (
        Contender("generate", "generate, one by one", partial(generate, batch_size=1)),
        Contender("generate-static", "generate, batched", partial(generate, batch_size=BATCH_SIZE)),
        Contender("transformers-cb", "transformers continuous", transformers_continuous),
        _ours("Sequential()", Sequential),
        _ours(f"Static({BATCH_SIZE})", partial(Static, BATCH_SIZE)),
        _ours(f"Dynamic({BATCH_SIZE})", partial(Dynamic, BATCH_SIZE)),
        _ours(f"Continuous({BATCH_SIZE})", partial(Continuous, BATCH_SIZE)),
    )
}

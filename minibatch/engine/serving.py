"""Step an engine until some of its requests have ended: to the end, or token by token."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING

from ..core.completion import Completion
from ..core.request import Sequence, TokenEvent
from ..model.text import Listener, decode

if TYPE_CHECKING:
    from ..model.load import Model
    from .engine import Engine


def step_until_finished(engine: Engine, sequences: list[Sequence], progress: bool) -> None:
    """What `Engine.run` does. progress: show a bar that counts requests."""
    unfinished = sequences[::-1]
    with _bar(len(sequences)) if progress else nullcontext() as bar:
        while unfinished:
            if not unfinished[-1].is_finished:
                engine.step()
                continue
            unfinished.pop()
            if bar is not None:
                bar.update()


def token_events(engine: Engine, sequences: list[Sequence]) -> Iterator[TokenEvent]:
    """What `Engine.stream` returns. Closing the iterator aborts those that have not ended."""
    events = _events(engine, sequences)
    next(events)  # into its `try`: it may be closed before the first token is asked for
    return events


def completion(sequence: Sequence, model: Model) -> Completion:
    """What the user gets for a sequence that has ended, with its answer as text."""
    output = sequence.token_ids[sequence.num_prompt_tokens :]
    return sequence.completion(decode(model.tokenizer, output, sequence.stop_token_ids))


def _bar(num_requests: int) -> AbstractContextManager:
    from tqdm.auto import tqdm  # an engine without a bar needs no package

    return tqdm(total=num_requests, unit="request")


def _events(engine: Engine, sequences: list[Sequence]) -> Iterator[TokenEvent]:
    listeners = [Listener(sequence, engine.model.tokenizer) for sequence in sequences]
    try:
        yield
        while listeners:
            if not all(listener.sequence.is_finished for listener in listeners):
                engine.step()
            for listener in listeners:
                yield from listener.news()
            listeners = [listener for listener in listeners if not listener.done]
    except GeneratorExit:
        for sequence in (s for s in sequences if not s.is_finished):
            engine.abort(sequence.request_id)

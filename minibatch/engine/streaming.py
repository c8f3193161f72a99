"""Tokens as they come: what `Engine.stream` yields."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..core.request import Sequence, TokenEvent
from ..model.text import Listener

if TYPE_CHECKING:
    from .engine import Engine


def token_events(engine: Engine, sequences: list[Sequence]) -> Iterator[TokenEvent]:
    """Step the engine until these have ended. Closing the iterator aborts those that have not."""
    events = _events(engine, sequences)
    next(events)  # into its `try`: it may be closed before the first token is asked for
    return events


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

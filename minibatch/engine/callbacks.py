"""Functions that are called with the record of every step: `Engine.on_step`."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from ..core.records import StepRecord

Callback = Callable[[StepRecord], object]


class Callbacks:
    """What an engine calls after its steps; `Engine` derives from it."""

    def __init__(self) -> None:
        self._callbacks: list[Callback] = []

    def on_step(self, callback: Callback) -> Callback:
        """Call this with the record of every later step. Also works as a decorator."""
        self._callbacks.append(callback)
        return callback

    def off_step(self, callback: Callback) -> None:
        """Do not call this any more. Raises ValueError if it was not given to `on_step`."""
        if callback not in self._callbacks:
            raise ValueError(f"{callback!r} was never given to on_step, or was already removed")
        self._callbacks.remove(callback)

    def _report(self, records: Iterable[StepRecord]) -> StepRecord | None:
        """Call all with each of these; returns the first of them."""
        records = list(records)
        for record in records:
            for callback in list(self._callbacks):
                callback(record)
        return records[0] if records else None

"""An engine's run as a film: a frame for each step, forward by taking steps, back by remembering.

The engine is asked only through its public face, so any policy can be filmed, a learner's too.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable
from dataclasses import dataclass, field

from ..core.records import StepRecord
from ..core.request import Request
from ..engine.engine import Engine
from ..engine.intake import stop_token_ids
from ..engine.kinds import as_requests, check_request
from ..model.text import TextStream
from ..schedulers import Scheduler
from .plan_lines import PlanLines


@dataclass(frozen=True)
class Frame:
    """What is known after one step; `record` is None before the first.

    texts: the answer of every request, as far as it had come. newest: the ends of those that this
    step wrote. finished: by the end of this step. num_rows, seconds: of all steps so far; padded:
    how many of the rows were padding, by request. lines: of `plan` that admitted somebody in this
    step, and whom.
    """

    record: StepRecord | None
    texts: dict[str, str]
    num_output_tokens: dict[str, int]
    newest: dict[str, str] = field(default_factory=dict)
    finished: tuple[str, ...] = ()
    num_rows: int = 0
    padded: dict[str, int] = field(default_factory=dict)
    seconds: float = 0.0
    lines: dict[int, tuple[str, ...]] = field(default_factory=dict)


class Film:
    """Of `engine` as it serves `requests`, which are added at once. Frame 0 is before the first
    step.

    One that is refused raises the engine's ValueError, and none of them stays. error: what stopped
    the newest step, if anything did; the next one tries again.
    """

    def __init__(
        self, engine: Engine, requests: Iterable[Request], watch_plan: bool = False
    ) -> None:
        """watch_plan: note which lines of the policy's `plan` admit whom."""
        self.engine, self.trace = engine, engine.trace
        self.trace.names = True  # a frame shows who waits
        self.requests = list(as_requests(requests))
        self.plan = PlanLines(engine.scheduler) if watch_plan else None
        self._first_step = engine.trace.num_steps
        self._streams = _add_all(engine, self.requests)
        names = list(self._streams)
        self.frames = [Frame(None, dict.fromkeys(names, ""), dict.fromkeys(names, 0))]
        self.error = ""

    def remade(self, scheduler: Scheduler) -> Film:
        """The same requests from the start, in a new engine that is like this one but for its
        policy."""
        pool, clock = self.engine.pool, copy.copy(self.engine.clock)
        clock.reset()
        engine = Engine(
            self.engine.model,
            scheduler,
            pool=type(pool)(pool.num_blocks, pool.block_size),
            attention=getattr(self.engine.runner, "attention", "auto"),
            clock=clock,
            trace=self.trace,
        )
        return Film(engine, self.requests, self.plan is not None)

    @property
    def can_go_on(self) -> bool:
        """Whether the engine has more to do, and is still at the run that is filmed."""
        return self.engine.has_work and self.engine.trace is self.trace

    @property
    def last(self) -> int:
        """The number of the newest frame."""
        return len(self.frames) - 1

    def steps(self, position: int) -> list[StepRecord]:
        """The run up to that frame."""
        return [frame.record for frame in self.frames[1 : position + 1]]

    def reach(self, position: int) -> int:
        """Take the steps up to that frame; returns how far it came, which an error or the end of
        the run may have stopped."""
        self.error = ""
        self._catch_up()
        while position > self.last and self.can_go_on and not self.error:
            try:
                self.engine.step()
            except Exception as error:  # a policy under construction: say so, and stop
                self.error = f"{type(error).__name__}: {error}"
            self._catch_up()
        return min(max(0, position), self.last)

    def _catch_up(self) -> None:
        """A frame for each step in the trace, also those that were taken elsewhere."""
        number = self.trace.num_steps - self._first_step - self.last
        for record in self.trace.steps[-number:] if number else ():
            self.frames.append(self._frame_after(record))

    def _frame_after(self, record: StepRecord) -> Frame:
        last = self.frames[-1]
        texts, counts, newest = dict(last.texts), dict(last.num_output_tokens), {}
        padded = dict(last.padded)
        for row in record.rows:
            if row.kind == "padding":
                padded[row.request_id] = padded.get(row.request_id, 0) + 1
            if row.token_ids:
                stream = self._stream_of(row.request_id, texts, counts)
                *before, token_id = row.token_ids
                pieces = [stream.push(one) for one in before]
                pieces.append(stream.push(token_id, last=row.request_id in record.finished))
                newest[row.request_id] = "".join(pieces)
                texts[row.request_id] += newest[row.request_id]
                counts[row.request_id] += len(row.token_ids)
        return Frame(
            record,
            texts,
            counts,
            newest,
            last.finished + record.finished,
            last.num_rows + len(record.row_values),
            padded,
            last.seconds + record.end_time - record.start_time,
            self.plan.of(record.admitted) if self.plan else {},
        )

    def _stream_of(
        self, request_id: str, texts: dict[str, str], counts: dict[str, int]
    ) -> TextStream:
        """Its text; one that came later, like a fork, gets its own with its first token."""
        if request_id not in self._streams:
            model = self.engine.model
            self._streams[request_id] = TextStream(model.tokenizer, model.eos_token_ids)
        texts.setdefault(request_id, "")
        counts.setdefault(request_id, 0)
        return self._streams[request_id]


def _add_all(engine: Engine, requests: list[Request]) -> dict[str, TextStream]:
    """The text of each request, by its id; if the engine refuses one, the others are aborted."""
    streams: dict[str, TextStream] = {}
    try:
        for request in requests:
            check_request(request)
            hidden = stop_token_ids(request, engine.model)
            streams[engine.add(request)] = TextStream(engine.model.tokenizer, hidden)
    except Exception:
        for name in streams:
            engine.abort(name)
        raise
    return streams

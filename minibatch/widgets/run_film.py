"""An engine's run as a film: a frame for each step. New frames run the engine; old ones are kept.

Only the engine's public interface is used, so any policy can be filmed, also a learner's.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable
from dataclasses import dataclass, field

from ..core.records import StepRecord
from ..core.request import Request
from ..engine.argument_checks import as_requests, check_request
from ..engine.engine import Engine
from ..engine.intake import stop_token_ids
from ..model.text import TextStream
from ..schedulers import Scheduler
from ..speculation.proposer import unused
from .plan_lines import PlanLines


@dataclass(frozen=True)
class Frame:
    """The state after one step; `record` is None before the first.

    texts: the answer so far of every request. newest: the text that this step added to them.
    finished: requests that have ended by now. num_rows, seconds: of all steps so far. padded: how
    many of the rows were padding, by request. lines: the lines of `plan` that admitted requests in
    this step, and these requests.
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
    """A film of `engine` serving `requests`, which are added at once. Frame 0 is before the first
    step.

    If the engine refuses a request, its ValueError is raised, and no request is kept. error: what
    stopped the newest step, if anything; the next step tries again.
    """

    def __init__(
        self, engine: Engine, requests: Iterable[Request], watch_plan: bool = False
    ) -> None:
        """watch_plan: note which lines of the policy's `plan` admit which requests."""
        self.engine, self.trace = engine, engine.trace
        self.trace.names = True  # a frame shows the waiting requests
        self.requests = list(as_requests(requests))
        self.plan = PlanLines(engine.scheduler) if watch_plan else None
        self._first_step = engine.trace.num_steps
        self._streams = _add_all(engine, self.requests)
        names = list(self._streams)
        self.frames = [Frame(None, dict.fromkeys(names, ""), dict.fromkeys(names, 0))]
        self.error = ""

    def remade(self, scheduler: Scheduler) -> Film:
        """The same requests from the start, in a new engine that differs only in its policy."""
        pool, clock = self.engine.pool, copy.copy(self.engine.clock)
        clock.reset()
        engine = Engine(
            self.engine.model,
            scheduler,
            pool=type(pool)(pool.num_blocks, pool.block_size),
            attention=getattr(self.engine.runner, "attention", "auto"),
            prefix_caching=pool.prefixes is not None,
            speculation=unused(self.engine.drafting.proposer),
            cuda_graphs=getattr(self.engine.runner, "graphs", None) is not None,
            clock=clock,
            trace=self.trace,
        )
        return Film(engine, self.requests, self.plan is not None)

    @property
    def can_go_on(self) -> bool:
        """Whether the engine has work, and still belongs to the run that is filmed."""
        return self.engine.has_work and self.engine.trace is self.trace

    @property
    def last(self) -> int:
        """The number of the newest frame."""
        return len(self.frames) - 1

    def steps(self, position: int) -> list[StepRecord]:
        """The run up to that frame."""
        return [frame.record for frame in self.frames[1 : position + 1]]

    def reach(self, position: int) -> int:
        """Run the steps up to that frame. Returns the number of the frame reached: an error or the
        end of the run may stop it earlier."""
        self.error = ""
        self._catch_up()
        while position > self.last and self.can_go_on and not self.error:
            try:
                self.engine.step()
            except Exception as error:  # an unfinished policy: keep its error, and stop
                self.error = f"{type(error).__name__}: {error}"
            self._catch_up()
        return min(max(0, position), self.last)

    def _catch_up(self) -> None:
        """Add a frame for each new step in the trace, also for steps that other code ran."""
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
        """The request's text. A later one, such as a fork, gets a text with its first token."""
        if request_id not in self._streams:
            model = self.engine.model
            self._streams[request_id] = TextStream(model.tokenizer, model.eos_token_ids)
        texts.setdefault(request_id, "")
        counts.setdefault(request_id, 0)
        return self._streams[request_id]


def _add_all(engine: Engine, requests: list[Request]) -> dict[str, TextStream]:
    """The text of each request, by id. If the engine refuses a request, the others are aborted."""
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

"""The live choices of all HTTP requests: added, forked, ended, and what each step brings them.

Only the engine thread uses this file, between two steps. A request with n choices is added as one;
the others fork from it once its prompt is computed, and so share its blocks. Until then their
places in the queue are promised: room for all is checked first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from ..core.completion import FinishReason
from ..core.records import StepRecord
from ..core.request import Request, Sequence
from ..engine.engine import Engine
from ..engine.intake import fork_requests
from ..schedulers import QueueFull
from .answers import Answer, News, overloaded
from .errors import ApiError
from .metrics import Metrics

Deliver = Callable[[Answer, News | Exception], object]


@dataclass(slots=True, eq=False)
class Choice:
    """One live request of the engine. num_forks: how many will fork from it, as the choices after
    its own index. last_time: of its newest token, in seconds on the engine's clock."""

    answer: Answer
    index: int
    sequence: Sequence
    num_forks: int = 0
    last_time: float | None = None


@dataclass(frozen=True, slots=True)
class Promised:
    """A fork that will come: its place in the queue, for `QueueLimits.check`."""

    num_uncomputed_tokens: int


class Choices:
    """deliver: called with an answer and what is new for it."""

    def __init__(self, engine: Engine, metrics: Metrics, deliver: Deliver) -> None:
        self.engine, self.metrics, self.deliver = engine, metrics, deliver
        self._live: dict[str, Choice] = {}
        self._unadmitted: dict[str, Choice] = {}  # those that may end in the queue

    def __len__(self) -> int:
        return len(self._live)

    def add(self, answer: Answer, requests: list[Request], n: int) -> None:
        """Add the choices of one HTTP request: n for each of `requests`; all or none. Raises
        ValueError or QueueFull, as `Engine.add` does."""
        self._check_room(requests, n)
        added: list[str] = []
        try:
            for i, request in enumerate(requests):
                name = self.engine.add(request)
                added.append(name)
                self._enter(Choice(answer, i * n, self.engine.sequence(name), n - 1))
        except Exception:
            for name in added:
                self._leave(name)
                self.engine.abort(name)
            raise

    def after_step(self, record: StepRecord) -> None:
        """Deliver what a step brought. Forks are made here, when their prompt is computed."""
        now, ended = record.end_time, set(record.finished)
        for row in record.rows:
            choice = self._live.get(row.request_id)
            if choice is None or not row.token_ids:
                continue
            self.metrics.engine_tokens(choice.sequence, choice.last_time, len(row.token_ids), now)
            choice.last_time = now
            if row.request_id in ended:
                self._end(choice, row.token_ids)
            elif choice.answer.each_token:
                self.deliver(choice.answer, News(choice.index, row.token_ids, None))
            if choice.num_forks:
                self._fork(choice)

    def end_early_ones(self) -> None:
        """Deliver the ends of requests that ended in the queue: at their deadline, or refused."""
        for name, choice in list(self._unadmitted.items()):
            if choice.sequence.first_scheduled_time is not None:
                del self._unadmitted[name]
            elif choice.sequence.abort_time is not None:
                self.fail(choice.answer, _queue_error(choice.sequence))

    def finish(self, answer: Answer, index: int) -> None:
        """A stop string has ended this choice: end its request as served, if it still runs."""
        for name, choice in list(self._live.items()):
            if choice.answer is answer and choice.index == index:
                self.engine.finish(name, "stop")
                self._leave(name)
                self.metrics.ended(choice.sequence)

    def fail(self, answer: Answer, error: Exception) -> None:
        """End all choices of an answer with an error."""
        self.abort(answer)
        self.deliver(answer, error)

    def abort(self, answer: Answer) -> None:
        """End all choices of an answer; their blocks are free when this returns."""
        for name in [n for n, choice in self._live.items() if choice.answer is answer]:
            choice = self._leave(name)
            if not choice.sequence.is_finished:
                self.engine.abort(name)
            self.metrics.ended(choice.sequence)

    def answer_of(self, name: str) -> Answer | None:
        """The answer that the request of this id belongs to."""
        choice = self._live.get(name)
        return None if choice is None else choice.answer

    def answers(self) -> list[Answer]:
        """Those with a live choice."""
        return list(dict.fromkeys(choice.answer for choice in self._live.values()))

    def _enter(self, choice: Choice) -> None:
        name = choice.sequence.request_id
        self._live[name] = self._unadmitted[name] = choice

    def _leave(self, name: str) -> Choice:
        self._unadmitted.pop(name, None)
        return self._live.pop(name)

    def _end(self, choice: Choice, newest: tuple[int, ...]) -> None:
        sequence = choice.sequence
        self._leave(sequence.request_id)
        output = sequence.token_ids[sequence.num_prompt_tokens :]
        tokens = newest if choice.answer.each_token else output
        self.deliver(choice.answer, News(choice.index, tokens, sequence.finish_reason))
        self.metrics.ended(sequence)

    def _fork(self, choice: Choice) -> None:
        """The prompt is computed. If the first answer has ended already, there is nothing to share,
        and the others are requests of their own. Room was promised, but preempted requests may
        have taken it since: then this HTTP request is refused."""
        sequence, n, choice.num_forks = choice.sequence, choice.num_forks, 0
        try:
            if sequence.is_finished:
                names = map(self.engine.add, fork_requests(sequence, n, {}))
            else:
                names = self.engine.fork(sequence.request_id, n)
            for k, name in enumerate(names, start=1):
                self._enter(Choice(choice.answer, choice.index + k, self.engine.sequence(name)))
        except QueueFull as error:
            self.fail(choice.answer, overloaded(str(error)))

    def _check_room(self, requests: list[Request], n: int) -> None:
        """Raises QueueFull if the queue has no room for all choices."""
        limits = self.engine.scheduler.limits
        if limits is None:
            return
        waiting: list[Sequence | Promised] = list(self._waiting())
        for request in requests:
            for _ in range(n):
                limits.check(request.request_id, len(request.prompt), waiting)
                waiting.append(Promised(len(request.prompt)))

    def _waiting(self) -> Iterator[Sequence | Promised]:
        """All that wait or will: in the policy's queue, added since the last step, or promised."""
        queue = self.engine.scheduler.waiting
        yield from queue
        listed = set(queue)
        for choice in self._unadmitted.values():
            if choice.sequence not in listed and choice.sequence.first_scheduled_time is None:
                yield choice.sequence
        for choice in self._live.values():
            for _ in range(choice.num_forks):
                yield Promised(choice.sequence.num_prompt_tokens)


def _queue_error(sequence: Sequence) -> ApiError:
    reason: FinishReason | None = sequence.finish_reason
    if reason == "deadline":
        return ApiError(
            504,
            f"the request waited until its deadline of {sequence.request.deadline:g} s and did not "
            "begin; send it again later",
            code="deadline",
        )
    return ApiError(503, f"the request was ended before it began ({reason}); send it again later")

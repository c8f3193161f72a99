"""The one thread that uses the engine.

Before changing this file:
- Commands of the event loop run between two steps, in the order they were given. So an abort waits
  for the step that runs, and for no other.
- All news of one step goes to the event loop in one call. A call for each token costs more than the
  token.
- The engine must not run ahead of the event loop: tokens would queue up there, and the clients'
  latencies would be far above those that the engine measures. So at most `MOST_AHEAD` steps are
  delivered and not yet handled; then the engine waits.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import TypeVar

from ..core.request import Request
from ..engine.engine import Engine
from ..engine.held_blocks import HeldBlocks
from .answers import Answer, News, Written, overloaded
from .choices import Choices
from .errors import ApiError
from .isolation import IsolatingRunner, RowsFailed
from .metrics import Metrics

Result = TypeVar("Result")
logger = logging.getLogger(__name__)

STOPPING = "the server is stopping"
MOST_AHEAD = 2  # steps
MOST_FAILURES = 3  # steps in a row that serve no request; an overlapped one comes again in order
MOST_UNSENT = 1024  # tokens of one answer that wait for its socket
MOST_UNSENT_IN_ALL = 65_536  # tokens
KEPT = 1024  # newest answers whose times are kept


class EngineThread:
    """Steps an engine, and gives the news to an event loop.

    circuit_error: why no more requests are taken, after three failing steps in a row; else None.
    written: when the newest answers were written to their sockets; the event loop appends.
    """

    def __init__(self, engine: Engine, metrics: Metrics) -> None:
        self.engine = engine
        self.choices = Choices(engine, metrics, self._collect)
        self.metrics = metrics
        self.circuit_error: str | None = None
        self.written: deque[Written] = deque(maxlen=KEPT)
        self._commands: SimpleQueue[Callable[[], object]] = SimpleQueue()
        self._collected: list[tuple[Answer, News | Exception]] = []
        self._ahead = threading.Semaphore(MOST_AHEAD)
        overlaps = isinstance(engine.scheduler.blocks, HeldBlocks)
        self._most_failures = MOST_FAILURES * (2 if overlaps else 1)
        self._num_failures = 0
        self._stopping = False
        self._reading: set[Answer] = set()  # answers with unsent tokens; the event loop's
        self._thread = threading.Thread(target=self._run, name="minibatch-engine", daemon=True)

    # For the event loop ---------------------------------------------------------------------------

    def start(self, loop: asyncio.AbstractEventLoop) -> None:
        """From now on the engine belongs to this thread, and the news go to this event loop."""
        self.loop = loop
        self._runner, self.engine.runner = self.engine.runner, IsolatingRunner(self.engine.runner)
        self._thread.start()

    async def stop(self) -> None:
        """Abort what is left, and end the thread. Waits for the step that runs. At the exit of a
        program there are no more pools of threads, so this asks again and again."""

        def end() -> None:
            self._stopping = True
            self._fail_all(overloaded(STOPPING))

        self._commands.put(end)
        while self._thread.is_alive():
            await asyncio.sleep(0.01)
        self.engine.runner = self._runner

    def end_all(self) -> None:
        """End all requests with an error, after the step that runs."""
        self._commands.put(lambda: self._fail_all(overloaded(STOPPING)))

    @property
    def is_alive(self) -> bool:
        """Whether the thread runs."""
        return self._thread.is_alive()

    def submit(self, function: Callable[[], Result]) -> Future[Result]:
        """Call this in the engine thread, between two steps. Any thread may ask for it."""
        future: Future[Result] = Future()

        def run() -> None:
            if future.set_running_or_notify_cancel():
                try:
                    future.set_result(function())
                except Exception as error:
                    future.set_exception(error)

        self._commands.put(run)
        return future

    async def add(self, answer: Answer, requests: list[Request], n: int) -> None:
        """Add the n choices of each request. Raises ValueError, QueueFull, or ApiError."""

        def add() -> None:
            if self._stopping:
                raise overloaded(STOPPING)
            if self.circuit_error is not None:
                raise overloaded(self.circuit_error)
            self.choices.add(answer, requests, n)

        await asyncio.wrap_future(self.submit(add))

    def finish(self, answer: Answer, index: int) -> None:
        """End a choice as served, at a stop string."""
        self._commands.put(lambda: self.choices.finish(answer, index))

    def cancel(self, answer: Answer) -> None:
        """End an answer that nobody reads; its blocks are free before the next step."""
        self._reading.discard(answer)
        self._commands.put(lambda: self.choices.abort(answer))

    # The engine's thread --------------------------------------------------------------------------

    def _run(self) -> None:
        while not self._stopping:
            try:
                self._turn()
            except Exception as error:  # a fault in this file or in choices.py
                self._open_circuit(error)
        while (command := self._next_command(wait=False)) is not None:
            command()

    def _turn(self) -> None:
        """All commands, then one step."""
        command = self._next_command(wait=not self._collected)
        if command is not None:
            command()
            return
        self._deliver()  # the ends that commands have made
        if self.engine.has_work:
            self._step()
            self._deliver()

    def _next_command(self, wait: bool) -> Callable[[], object] | None:
        """The next one; None if the engine has something to do before one comes."""
        time = self.engine.next_event_time if wait else 0.0
        seconds = None if time is None else max(0.0, time - self.engine.clock.now())
        with suppress(Empty):
            return self._commands.get(seconds != 0, seconds)
        return None

    def _step(self) -> None:
        try:
            record = self.engine.step(wait=False)
        except RowsFailed as failed:
            for name, error in failed.errors.items():
                if (answer := self.choices.answer_of(name)) is not None:
                    message = f"the model raised {type(error).__name__}: {error}"
                    self.choices.fail(answer, ApiError(500, message, code="model_error"))
            if failed.num_passed:
                self._num_failures = 0  # the engine can serve the others
            else:
                self._failed(failed)
        except Exception as error:
            self._failed(error)
        else:
            self._num_failures = 0
            self.choices.end_early_ones()
            if record is not None:
                self.metrics.step(record)
                self.choices.after_step(record)

    def _failed(self, error: Exception) -> None:
        logger.error("a step failed", exc_info=error)
        self._num_failures += 1
        if self._num_failures >= self._most_failures:
            self._open_circuit(error)

    def _open_circuit(self, error: Exception) -> None:
        """Serve no more: end all requests with an error, and refuse new ones."""
        logger.critical("the engine can no longer serve", exc_info=error)
        self.circuit_error = (
            f"the engine has failed; the last error was {type(error).__name__}: {error}; restart "
            "the server"
        )
        self._fail_all(ApiError(500, self.circuit_error, code="engine_failed"))
        self.engine.reset()

    def _fail_all(self, error: ApiError) -> None:
        for answer in self.choices.answers():
            self.choices.fail(answer, error)

    def _collect(self, answer: Answer, news: News | Exception) -> None:
        self._collected.append((answer, news))

    def _deliver(self) -> None:
        """Hand over what was collected; first wait until the event loop has caught up."""
        if not self._collected:
            return
        self._ahead.acquire()
        news, self._collected = self._collected, []
        with suppress(RuntimeError):  # the event loop has ended
            self.loop.call_soon_threadsafe(self._receive, news)

    # In the event loop ----------------------------------------------------------------------------

    def _receive(self, collected: list[tuple[Answer, News | Exception]]) -> None:
        for answer, news in collected:
            if isinstance(news, Exception):
                answer.fail(news)
            else:
                answer.push(news)
                if answer.each_token:
                    self._reading.add(answer)
        self._end_stuck_ones()
        # The readers that were woken run before this, in the order of the loop's queue.
        self.loop.call_soon(self._ahead.release)

    def _end_stuck_ones(self) -> None:
        """Hang up on readers that are too slow: on each with too many unsent tokens, and if all
        together have too many, on those with the most."""
        unsent = {answer: answer.num_unsent for answer in self._reading if answer.num_unsent}
        self._reading = set(unsent)
        total = sum(unsent.values())
        for answer in sorted(unsent, key=unsent.__getitem__, reverse=True):
            if unsent[answer] <= MOST_UNSENT and total <= MOST_UNSENT_IN_ALL:
                break
            total -= unsent[answer]
            logger.warning("a client reads too slowly: %d tokens wait for it", unsent[answer])
            answer.hang_up()
            self.cancel(answer)
            if answer.on_stuck is not None:
                answer.on_stuck()

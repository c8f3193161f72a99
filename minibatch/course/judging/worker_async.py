"""A learner's coroutine function in the worker, on an event loop without a clock.

The loop never waits. When no callback is ready it asks the judge, which answers with what happens
next: the new time, and the results of calls that were waiting. So a test of minutes takes
milliseconds, every run has the same order of events, and the judge sees all that the code calls.

Before changing this file: the sandbox allows no sockets, so the standard library's selector loop,
which makes a pair of them, cannot be used. `BaseEventLoop` needs three private names in their
place: `_selector`, `_process_events`, `_write_to_self` (Python 3.11 to 3.14).
"""

from __future__ import annotations

import asyncio
import contextlib
import inspect
from collections.abc import Callable, Coroutine
from typing import Any

from minibatch.course.judging.values import pack, unpack

MOST_ROUNDS = 2_000  # of the loop, at one time
EXCEPTIONS = {
    kind.__name__: kind
    for kind in (
        *(RuntimeError, ValueError, TimeoutError),
        *(ConnectionError, ConnectionResetError, BrokenPipeError),
    )
}


class AskingLoop(asyncio.BaseEventLoop):
    """An event loop that stops when it would wait. now: its time in seconds.

    wait_s: how long it would wait for its next timer; None without a timer.
    """

    def __init__(self) -> None:
        super().__init__()
        self.now, self.wait_s, self._rounds = 0.0, None, 0
        self._selector = self
        self.set_exception_handler(lambda loop, context: None)  # the judge looks at every task

    def time(self) -> float:
        return self.now

    def select(self, timeout: float | None) -> list:
        """What the loop calls in each round. timeout: 0 if a callback is ready."""
        self._rounds += 1
        if self._rounds > MOST_ROUNDS:
            raise RuntimeError(
                "[spins_without_waiting] "
                f"{MOST_ROUNDS:,} rounds of the event loop at the same time: does a loop only "
                "call asyncio.sleep(0)? Wait for an event"
            )
        if timeout != 0:
            self.wait_s, self._rounds = timeout, 0
            self.stop()
        return []

    def _process_events(self, event_list: list) -> None:
        """No files and no sockets: there is nothing to process."""

    def _write_to_self(self) -> None:
        """No other thread can wake this loop."""


class AsyncWorker:
    """Runs one scene: calls of a coroutine function, all at once. describe: turns an exception into
    plain data; ask: asks the judge's scene."""

    def __init__(
        self, ask: Callable[[dict], Any], describe: Callable[[BaseException], dict]
    ) -> None:
        self.ask, self.describe = ask, describe
        self.loop = AskingLoop()
        self.waiting: dict[int, asyncio.Future] = {}
        self.given: list[BaseException] = []  # exceptions that the judge has raised

    def run(self, function: Callable[..., object], calls: list[list]) -> list[dict]:
        """How each call ended: {"returned": True}, {"cancelled": True}, {"given": True} for an
        exception of the judge's, as it came, or {"error": …}; None if it did not end."""
        asyncio.set_event_loop(None)
        try:
            tasks = [
                self.loop.create_task(_coroutine(function(*self._arguments(number, call))))
                for number, call in enumerate(calls)
            ]
            self.loop.run_forever()
            while (news := self._idle(tasks)) is not None:
                self._take(news, tasks)
                self.loop.run_forever()
            return [self._outcome(task) for task in tasks]
        finally:
            self._close()

    def _arguments(self, number: int, call: list) -> list:
        return [
            self._given(number, **argument["given"])
            if isinstance(argument, dict) and "given" in argument
            else unpack(argument)
            for argument in call
        ]

    def _given(self, number: int, name: str, kind: str) -> object:
        """What stands for a function of the scene, in call `number`."""
        if kind == "iterator":
            return _Iterator(lambda: self._call(number, name))

        async def coroutine(*args: object) -> object:
            return await self._call(number, name, *args)

        def function(*args: object) -> object:
            return unpack(self._asked(number, name, args)["now"])

        return coroutine if kind == "coroutine" else function

    def _asked(self, number: int, name: str, args: tuple) -> dict:
        return self.ask(
            {"asks": "call", "call": number, "name": name, "args": [pack(value) for value in args]}
        )

    async def _call(self, number: int, name: str, *args: object) -> object:
        reply = self._asked(number, name, args)
        if "later" not in reply:
            return self._value(reply)
        ticket = reply["later"]
        future = self.waiting[ticket] = self.loop.create_future()
        try:
            return await future
        except asyncio.CancelledError:
            if self.waiting.pop(ticket, None) is not None and not self.loop.is_closed():
                self.ask({"asks": "withdraw", "ticket": ticket})
            raise

    def _value(self, reply: dict) -> object:
        if "raise" in reply:
            raise self._exception(*reply["raise"])
        if "end" in reply:
            raise StopAsyncIteration
        return unpack(reply["now"])

    def _exception(self, kind: str, message: str) -> BaseException:
        self.given.append(EXCEPTIONS[kind](message))
        return self.given[-1]

    # When nothing is ready -----------------------------------------------------------------------

    def _idle(self, tasks: list[asyncio.Task]) -> dict | None:
        """Ask what happens next; None if the scene is over."""
        wait_s = self.loop.wait_s
        return self.ask(
            {
                "asks": "idle",
                "timer_ms": None if wait_s is None else 1000 * (self.loop.now + wait_s),
                "outcomes": [self._outcome(task) for task in tasks],
                "others": len(asyncio.all_tasks(self.loop) - set(tasks)),
            }
        )

    def _take(self, news: dict, tasks: list[asyncio.Task]) -> None:
        """news: the time, results by ticket, in their order, and the calls to cancel after them."""
        self.loop.now = news["time_ms"] / 1000
        for ticket, reply in news["results"]:
            future = self.waiting.pop(ticket)
            if future.done():
                continue
            try:
                future.set_result(self._value(reply))
            except Exception as error:
                future.set_exception(error)
        for number in news["cancel"]:
            tasks[number].cancel()

    def _outcome(self, task: asyncio.Task) -> dict | None:
        if not task.done():
            return None
        if task.cancelled():
            return {"cancelled": True}
        error = task.exception()
        if error is None:
            return {"returned": True}
        if any(error is one for one in self.given):
            return {"given": True}
        return {"error": self.describe(error)}

    def _close(self) -> None:
        for task in asyncio.all_tasks(self.loop):
            task.cancel()
        self.ask = lambda question: None
        with contextlib.suppress(Exception):  # the scene is over: what is left does not count
            self.loop.run_forever()
        self.loop.close()


class _Iterator:
    """An async iterator. It is not a generator: a cancelled wait loses nothing."""

    def __init__(self, call: Callable[[], Coroutine]) -> None:
        self._call = call

    def __aiter__(self) -> _Iterator:
        return self

    async def __anext__(self) -> object:
        return await self._call()


async def _coroutine(value: object) -> object:
    """Awaits what the function returned, which ought to be a coroutine."""
    if not inspect.isawaitable(value):
        raise TypeError(
            "[answer_is_no_coroutine] it is not a coroutine function: begin it with `async def`"
        )
    return await value

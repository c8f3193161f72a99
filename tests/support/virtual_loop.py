"""An event loop whose time jumps to the next timer: a test of minutes takes milliseconds."""

import asyncio
import selectors


class _NoWaiting(selectors.DefaultSelector):
    """Waits for nothing: it moves the time of its loop instead."""

    loop = None

    def select(self, timeout=None):
        if timeout:
            self.loop.now += timeout
        return super().select(0)


class VirtualLoop(asyncio.SelectorEventLoop):
    def __init__(self):
        self.now = 0.0
        selector = _NoWaiting()
        selector.loop = self
        super().__init__(selector)

    def time(self):
        return self.now


def run(coroutine):
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(coroutine)

"""How many threads compute a step, and a thread pool for our own loops.

PyTorch cuts a matrix product into one part for each thread, and each thread spins until the last
part is done. While another program uses one of the cores, every product waits for that core, which
takes milliseconds. A product of a small model's decode step takes 0.05 ms. So such steps use one
thread of PyTorch, which costs them little on an idle machine.

Our own loops do not wait for a slow thread: each free thread takes the next task. A task that a
helper has not finished when all others are done is computed again by the caller (`share`;
MapReduce's backup tasks, Dean and Ghemawat, 2004, section 3.6).
"""

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar

import torch

_pool = ThreadPoolExecutor(max(1, (os.cpu_count() or 1) - 1), "minibatch")  # starts no thread yet
_allowed: ContextVar[int | None] = ContextVar("allowed", default=None)


def num_threads() -> int:
    """How many threads may compute: torch.get_num_threads() in the caller of the engine."""
    return _allowed.get() or torch.get_num_threads()


@contextmanager
def torch_threads(number: int) -> Iterator[None]:
    """Inside, PyTorch's own operations use `number` threads; `share` uses as many as before."""
    before = torch.get_num_threads()
    token = _allowed.set(num_threads())
    torch.set_num_threads(number)  # under a microsecond
    try:
        yield
    finally:
        torch.set_num_threads(before)
        _allowed.reset(token)


def share(work: Callable[[int], object], num_tasks: int) -> None:
    """Call work(0) … work(num_tasks - 1) on num_threads() // 2 threads; return when all are done.

    Half of the threads, because each needs the GIL for a moment between tasks, and a thread that
    loses its core at that moment delays the others. On two cores with other programs on both, a
    second thread made attention over 8 x 1,000 tokens three times slower on average. So with
    two threads allowed, one is used.

    `work` must release the GIL where it spends its time (numba: `nogil=True`). A task may be done
    twice, even at the same time. So its results must not depend on memory that it overwrites, and
    no other code may use that memory while `work` refers to it.
    """
    tasks, unfinished = iter(range(num_tasks)), set(range(num_tasks))

    def take() -> None:
        for task in tasks:  # `next` is atomic under the GIL: two threads never get the same task
            work(task)
            unfinished.discard(task)

    helpers = [_pool.submit(take) for _ in range(min(num_threads() // 2, num_tasks) - 1)]
    take()
    for helper in helpers:
        helper.cancel()  # a helper that has not begun is not needed
    for task in list(unfinished):
        if task in unfinished:
            work(task)

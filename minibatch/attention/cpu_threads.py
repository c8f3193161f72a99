"""How many threads a step is computed on, and threads for loops of our own.

PyTorch cuts a matrix product into one part a thread, and each thread spins until the last part is
done. When another program holds one of the cores, every product waits until that core comes free,
which takes milliseconds; a product of a small model's decode step takes 0.05. So such steps get one
thread from PyTorch, which on an idle machine costs them little.

Our own loops wait for nobody: tasks are taken by whoever is there, and what a helper has begun when
all the rest is done, the caller does again (`share`; MapReduce's backup tasks, Dean and Ghemawat,
2004, section 3.6).
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
    """How many threads may work: torch.get_num_threads(), as the caller of the engine has it."""
    return _allowed.get() or torch.get_num_threads()


@contextmanager
def one_torch_thread() -> Iterator[None]:
    """PyTorch's own operations inside use one thread; `share` goes on with as many as before."""
    before = torch.get_num_threads()
    token = _allowed.set(num_threads())
    torch.set_num_threads(1)  # under a microsecond
    try:
        yield
    finally:
        torch.set_num_threads(before)
        _allowed.reset(token)


def share(work: Callable[[int], object], num_tasks: int) -> None:
    """work(0) … work(num_tasks - 1), on half as many threads as may; returns when all are done.

    Half: the caller and its helpers also need the GIL for a moment between tasks, and one who loses
    its core just then holds up the rest. With two cores and other programs on both, a second thread
    made attention over 8 x 1,000 tokens three times slower on average; so two means one here.

    `work` must release the GIL where it spends its time (numba: `nogil=True`), and may do a task
    twice, even at the same time: it writes results that depend on nothing it overwrites, to memory
    that nobody uses for anything else as long as it refers to it.
    """
    tasks, unfinished = iter(range(num_tasks)), set(range(num_tasks))

    def take() -> None:
        for task in tasks:  # `next` is one act under the GIL: two threads never get the same
            work(task)
            unfinished.discard(task)

    helpers = [_pool.submit(take) for _ in range(min(num_threads() // 2, num_tasks) - 1)]
    take()
    for helper in helpers:
        helper.cancel()  # one that has got no core until now need not begin
    for task in list(unfinished):
        if task in unfinished:
            work(task)

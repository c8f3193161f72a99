"""How many threads a step is computed on, and threads for loops of our own.

PyTorch cuts a matrix product into one part a thread, and each thread spins until the last part is
done. When another program holds one of the cores, every product waits until that core comes free,
which takes milliseconds; a product of a small model's decode step takes 0.05. So such steps get one
thread from PyTorch, which on an idle machine costs them little.

Our own loops do not wait for a core: tasks are taken by whoever is there (`share`).
"""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar

import torch

_pool = ThreadPoolExecutor(thread_name_prefix="minibatch")  # starts no thread before it is used
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
    """work(0) … work(num_tasks - 1), each once, on as many threads as may work.

    Every thread takes the next task when it is done with one, and the caller works along. A helper
    that has not got a core by the time all tasks are taken is sent home, not waited for. `work`
    must release the GIL where it spends its time (numba: `nogil=True`).
    """
    tasks = iter(range(num_tasks))  # `next` on it is one act under the GIL: no task is given twice

    def take() -> None:
        for task in tasks:
            work(task)

    helpers = [_pool.submit(take) for _ in range(min(num_threads(), num_tasks) - 1)]
    take()
    for helper in helpers:
        if not helper.cancel():
            helper.result()

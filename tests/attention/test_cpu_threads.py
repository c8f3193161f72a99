"""Who computes what: PyTorch's number of threads, and tasks that several threads share."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch

from minibatch.attention import cpu_threads
from minibatch.attention.cores import INTERVAL, Cores


@pytest.fixture
def four_threads():
    before = torch.get_num_threads()
    torch.set_num_threads(4)
    yield
    torch.set_num_threads(before)


@pytest.mark.parametrize("num_tasks", [0, 1, 3, 500])
def test_every_task_is_done(four_threads, num_tasks):
    done = set()
    cpu_threads.share(done.add, num_tasks)
    assert done == set(range(num_tasks))


def test_one_thread_alone_does_every_task_once_and_in_order(four_threads):
    torch.set_num_threads(2)  # half of it is one
    done = []
    cpu_threads.share(done.append, 5)
    assert done == [0, 1, 2, 3, 4]


def test_a_helper_takes_tasks_while_the_caller_has_one(four_threads, monkeypatch):
    monkeypatch.setattr(cpu_threads, "_pool", ThreadPoolExecutor(1))
    helped = threading.Event()
    caller = threading.current_thread()

    def work(task):
        if threading.current_thread() is not caller:
            helped.set()
        assert helped.wait(60)  # without a helper, the caller stays here

    cpu_threads.share(work, 2)


def test_what_a_helper_does_not_finish_is_done_again(four_threads, monkeypatch):
    core_is_taken, core_comes_free = threading.Event(), threading.Event()
    caller = threading.current_thread()
    done = []

    def work(task):
        if threading.current_thread() is caller:
            assert core_is_taken.wait(60)  # until the helper has begun a task
            done.append(task)
        else:
            core_is_taken.set()
            core_comes_free.wait(60)

    with ThreadPoolExecutor(1) as pool:
        monkeypatch.setattr(cpu_threads, "_pool", pool)
        cpu_threads.share(work, 6)
        assert sorted(done) == [0, 1, 2, 3, 4, 5]
        core_comes_free.set()


def test_a_helper_that_gets_no_core_is_not_waited_for(four_threads, monkeypatch):
    core_comes_free = threading.Event()
    with ThreadPoolExecutor(1) as pool:
        monkeypatch.setattr(cpu_threads, "_pool", pool)
        pool.submit(core_comes_free.wait)  # another program has the helper's core
        done = []
        cpu_threads.share(done.append, 5)
        assert done == [0, 1, 2, 3, 4]
        core_comes_free.set()
    assert done == [0, 1, 2, 3, 4]  # and does nothing when it comes late


def test_one_allowed_thread_does_it_all_alone(four_threads, monkeypatch):
    monkeypatch.setattr(cpu_threads, "_pool", None)
    torch.set_num_threads(1)
    names = set()
    cpu_threads.share(lambda task: names.add(threading.current_thread().name), 5)
    assert names == {threading.current_thread().name}


def test_a_fault_in_a_task_comes_out(four_threads):
    def fail(task):
        raise FloatingPointError(f"task {task}")

    with pytest.raises(FloatingPointError, match="task"):
        cpu_threads.share(fail, 8)


def test_torch_gets_one_thread_and_our_own_loops_keep_theirs(four_threads):
    with cpu_threads.torch_threads(1):
        assert (torch.get_num_threads(), cpu_threads.num_threads()) == (1, 4)
        with cpu_threads.torch_threads(1):
            assert (torch.get_num_threads(), cpu_threads.num_threads()) == (1, 4)
        assert (torch.get_num_threads(), cpu_threads.num_threads()) == (1, 4)
    assert (torch.get_num_threads(), cpu_threads.num_threads()) == (4, 4)


def test_a_fault_leaves_the_number_of_threads_as_it_was(four_threads):
    with pytest.raises(RuntimeError), cpu_threads.torch_threads(1):
        raise RuntimeError
    assert (torch.get_num_threads(), cpu_threads.num_threads()) == (4, 4)


@pytest.mark.parametrize(
    ("idle", "used", "available"),
    [
        (1.0, 1.0, 2),  # one thread of ours, one idle core
        (0.0, 1.0, 1),  # another program has the other core
        (0.0, 1.33, 1),  # two threads of ours and one of another program share two cores
        (0.3, 1.4, 2),  # something small beside us
        (0.0, 0.1, 1),  # never none
        (9.0, 1.0, 4),  # never more than allowed
    ],
)
def test_threads_are_as_many_as_find_a_core(idle, used, available):
    clock = [0.0, 100.0, 50.0]
    cores = Cores(*(lambda i=i: clock[i] for i in range(3)))
    assert cores.available(4) == 4  # until it has looked
    seconds = 2 * INTERVAL
    clock[:] = seconds, 100 + idle * seconds, 50 + used * seconds
    assert cores.available(4) == available
    clock[0] += INTERVAL / 2  # not yet time to look again
    clock[1] += 99
    assert cores.available(4) == available

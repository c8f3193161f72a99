"""The judge and the worker: what goes wrong over there costs a task, and earns nothing."""

import contextlib
import json
import os
import random
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st
from one_task import TASK

import minibatch as mb
from minibatch.course.judging import sandbox
from minibatch.course.judging import student as student_module
from minibatch.course.judging.remote_scheduler import RemoteScheduler
from minibatch.course.judging.remote_update import RemoteUpdateScheduler
from minibatch.course.judging.reported_state import MirrorPool
from minibatch.course.judging.student import Student
from minibatch.course.judging.values import Array, Strange, pack, unpack
from minibatch.course.judging.verdict import Wrong
from minibatch.course.judging.worker_errors import (
    Died,
    NoSandbox,
    NotAttempted,
    Raised,
    TimedOut,
    WorkerError,
)
from minibatch.course.setup import ROOT

SANDBOXED = pytest.mark.skipif(
    bool(sandbox.missing()),
    reason="there is no sandbox here (Linux with Landlock and seccomp has one)",
)


# Values ------------------------------------------------------------------------------------------

PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**200), 2**200) | st.floats() | st.text(),
    lambda inner: (
        st.lists(inner)
        | st.lists(inner).map(tuple)
        | st.dictionaries(st.text() | st.integers(), inner)
    ),
    max_leaves=20,
)


@given(PLAIN)
def test_plain_values_come_back_as_they_went(value):
    assert repr(unpack(pack(value))) == repr(value)


def test_a_tensor_travels_with_shape_and_dtype():
    import torch

    assert unpack(pack(torch.tensor([[1, 2]]))) == Array((1, 2), "int64", [[1, 2]])


@pytest.mark.parametrize("value", [{1}, object(), (n for n in "ab"), 10**100, type])
def test_what_is_not_plain_arrives_as_strange_and_equals_nothing(value):
    strange = unpack(pack(value))
    assert isinstance(strange, Strange)
    assert strange != value
    assert strange != unpack(pack(value))


# What a learner's code may do --------------------------------------------------------------------


def test_prints_do_not_mix_with_answers(worker):
    student = worker("print('hello')\ndef f():\n    print('{\"value\": 1}')\n    return 2\n")
    assert student.call("f") == 2
    student.close()


def test_many_calls_at_once_are_answered_in_order_until_one_fails(worker):
    student = worker("def f(n, pair):\n    return n / pair[1]")
    assert student.calls("f", [[6, (1, 2)], [6, (1, 3)]]) == [3.0, 2.0]
    with pytest.raises(Raised, match="ZeroDivisionError"):
        student.calls("f", [[6, (1, 2)], [6, (1, 0)]])


def test_a_worker_that_answers_another_number_of_calls_is_not_believed(worker, monkeypatch):
    student = worker("def f(): return 1")
    monkeypatch.setattr(student, "ask", lambda what, **details: [1])
    with pytest.raises(Died, match="answered_too_seldom"):
        student.calls("f", [[], []])


def test_a_caller_that_keeps_its_lists_sees_what_is_remembered(worker):
    by_list = "seen = {}\ndef f(a): return seen.setdefault(id(a), [*a])"
    assert worker(by_list).again("f", [[[1]], [[2]]]) == [[[1], [1]], [[1], []]]
    one_list = "seen = []\ndef f(a):\n    seen[:] = a\n    return seen"
    assert worker(one_list).again("f", [[[1]], [[2, 3]]]) == [[[1], [2, 3]], [[2, 3], []]]
    anew = "def f(a): return [*a], a[0] if a else 0"
    assert worker(anew).again("f", [[[1]], [[]]]) == [[([1], 1)] * 2, [([], 0)] * 2]


def test_an_exception_brings_its_message_and_the_learner_s_lines_only(worker):
    student = worker("def f(n):\n    return g(n)\n\ndef g(n):\n    return 1 / n\n")
    with pytest.raises(Raised, match="ZeroDivisionError: division by zero") as raised:
        student.call("f", 0)
    assert [(frame["line"], frame["in"]) for frame in raised.value.frames] == [(2, "f"), (5, "g")]
    assert student.call("f", 2) == 0.5, "the worker is still open"


@pytest.mark.parametrize(
    ("code", "kind", "names"),
    [
        ("def f(:\n", Raised, "SyntaxError"),
        ("x = 1\n", Raised, "name_not_defined"),
        ("def f():\n    raise NotImplementedError('Exercise 3.1: x')", NotAttempted, "3.1"),
        ("import sys\ndef f():\n    sys.exit()", Raised, "ends_the_program"),
        ("import os\ndef f():\n    os._exit(0)", Died, "exit status 0"),
        ("import ctypes\ndef f():\n    ctypes.string_at(0)", Died, "worker_crashed"),
        ("def f():\n    return f()", Raised, "RecursionError"),
        ("import sys\nsys.setrecursionlimit(10**9)\ndef f():\n    return f()", WorkerError, ""),
        ("def f():\n    while True: pass", TimedOut, "code_does_not_end"),
        ("while True: pass\n", TimedOut, "code_does_not_end"),
        ("import time\ndef f():\n    time.sleep(60)", TimedOut, "code_waits"),
        ("def f():\n    while True: print('x' * 1000)", Died, "prints_too_much"),
        ("import os\ndef f():\n    os.close(3); os.close(4)\n    return 1", WorkerError, ""),
        ("import os\nfor n in range(3, 9): os.write(n, b'[1\\n')\ndef f(): pass", WorkerError, ""),
    ],
)
def test_each_ends_in_a_sentence(worker, code, kind, names):
    with pytest.raises(kind) as raised:
        worker(code, seconds=2).call("f")
    assert names in str(raised.value)


@pytest.mark.skipif(os.name != "posix", reason="elsewhere nothing interrupts a process gently")
@pytest.mark.parametrize("sandbox", [False, pytest.param(True, marks=SANDBOXED)])
def test_an_endless_loop_is_named_with_its_line(worker, sandbox):
    code = "def f():\n    n = 1\n    while n:\n        n += 1"
    with pytest.raises(TimedOut) as raised:
        worker(code, sandbox=sandbox, seconds=1).call("f")
    (frame,) = raised.value.frames
    assert frame["line"] in (3, 4)
    assert frame["in"] == "f"


def test_an_endless_loop_that_will_not_be_interrupted_ends_too(worker):
    code = "import time\ndef f():\n    while True:\n        try:\n            time.sleep(9)\n"
    with pytest.raises(TimedOut) as raised:
        worker(code + "        except BaseException: pass", seconds=1).call("f")
    assert raised.value.frames == []


@pytest.mark.parametrize("frames", [5, {"line": 1}, ["x"], [{"line": "1"}], None])
def test_frames_that_no_worker_sends_are_left_out(worker, frames):
    reply = json.dumps({"error": {"type": "Mine", "message": "x", "frames": frames}})
    code = f"import os\nfor n in range(3, 9):\n    try: os.write(n, {(reply + chr(10)).encode()!r})"
    with pytest.raises(Raised, match="Mine: x") as raised:
        worker(code + "\n    except OSError: pass\ndef f(): pass").call("f")
    assert raised.value.frames == []


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="memory is bounded on Linux")
def test_memory_is_bounded(worker):
    with pytest.raises(Raised, match="more than 1 GB"):
        worker("def f():\n    return len(bytearray(2**33))").call("f")


def test_the_time_of_a_task_is_over_all_its_calls(worker):
    student = worker("import time\ndef f():\n    time.sleep(0.8)\n", seconds=2)
    student.call("f")
    student.call("f")
    with pytest.raises(TimedOut):
        student.call("f")
    with pytest.raises(TimedOut, match="task_time_used_up"):
        student.call("f")


def test_what_takes_long_to_import_is_there_before_the_learner_s_time_begins(worker):
    code = "import sys\nwas_there = 'torch' in sys.modules\nimport torch\ndef f(): return was_there"
    student = worker(code, seconds=5, memory_gb=4)
    assert student.call("f") is True
    assert student._connection.seconds_left <= 5


def test_what_is_withheld_says_so(worker):
    student = worker(
        "import minibatch as mb\ndef f():\n    return mb.Continuous(3)\n",
        withheld={"minibatch.schedulers.continuous": "Continuous"},
    )
    with pytest.raises(Raised, match=r"\[answer_is_withheld\] mb\.Continuous"):
        student.call("f")


@SANDBOXED
def test_where_nothing_holds_nothing_is_judged(worker, monkeypatch):
    monkeypatch.setattr(student_module, "NEEDED", ("a moat",))
    with pytest.raises(NoSandbox, match="a moat"):
        worker("def f(): return 1", sandbox=True).call("f")
    assert worker("def f(): return 1", sandbox=None).call("f") == 1


@SANDBOXED
def test_what_an_exercise_file_may_do_it_may_do_in_the_sandbox(worker):
    """So that what `check` says at home is what the class says."""
    code = """
    from pathlib import Path
    import matplotlib.pyplot as plt
    import minibatch as mb

    Path("notes.txt").write_text("mine")
    model = mb.load_model()
    fig, ax = plt.subplots()
    ax.set_title("what it says")
    fig.savefig("figure.png")

    def f():
        engine = mb.Engine(model, mb.Continuous(2))
        (done,) = engine.run([mb.Request(model.chat("Hello."), max_tokens=3)])
        return len(done.token_ids), Path("notes.txt").read_text()
    """
    assert worker(code, sandbox=True, seconds=120, memory_gb=6).call("f") == (3, "mine")


@SANDBOXED
def test_a_worker_in_the_sandbox_still_has_torch_threads_and_minibatch(worker):
    code = """
    import threading
    import torch
    import minibatch as mb

    def f():
        seen = []
        thread = threading.Thread(target=seen.append, args=[1])
        thread.start()
        thread.join()
        return seen, float(torch.ones(3).sum()), mb.Static.__name__
    """
    assert worker(code, sandbox=True, seconds=30, memory_gb=4).call("f") == ([1], 3.0, "Static")


def test_what_is_printed_last_is_read(worker):
    student = worker("def f():\n    print('a few words')\n    import os; os._exit(1)")
    with pytest.raises(Died):
        student.call("f")
    assert student.printed == "a few words\n"


UNFIT = ["half a character \ud800", "\x1b[2J\x1b]0;title\x07", "turned \u202e round", "a\x00b"]


@pytest.mark.parametrize("text", UNFIT)
def test_text_of_strangers_is_made_plain(worker, text):
    student = worker(f"def f():\n    print({text!a})\n    raise ValueError({text!a})")
    with pytest.raises(Raised) as raised:
        student.call("f")
    student.close()
    for shown in (str(raised.value), student.printed):
        assert "\\" in shown
        assert all(c == "\n" or c.isprintable() for c in shown)
        shown.encode()


# A worker that lies ------------------------------------------------------------------------------


class Liar:
    """Stands in for a Student: answers anything, true or false."""

    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.names = []

    def ask(self, what, **details):
        if what == "add":
            self.names.append(details["sequence"]["request_id"])
        rng = self.rng
        if rng.random() < 0.1:
            return self.junk()
        waiting = [n for n in self.names if rng.random() < 0.5]
        running = [n for n in self.names if n not in waiting]
        state = {
            "rows": [[n, rng.choice([1, 3, 0, -1]), 0, 0] for n in running],
            "wake_at": rng.choice([None, 0.5, -1, "soon"]),
            "finished": rng.choice([[], running, None, [1]]),
            "waiting": waiting,
            "running": running,
            "sequences": {n: self.sequence() for n in self.names},
            "num_free": rng.choice([8, 7, -1, None, True, 10**30]),
        }
        for key in list(state):
            if rng.random() < 0.1:
                state[key] = self.junk()
        return state

    def sequence(self):
        told = {"computed": self.rng.choice([0, 3]), "token_ids": [0, 0, 0], "is_finished": False}
        told |= {"table": list(range(self.rng.randint(0, 3))), "scheduled": None, "times": [1.0]}
        if self.rng.random() < 0.1:
            told[self.rng.choice(list(told))] = self.junk()
        return told

    def junk(self):
        junk = [None, True, -1, 10**40, 1.5, "x", [], [[]], {}, {"a": {}}, [{}], [None], ["A", "A"]]
        return self.rng.choice(junk)


@pytest.mark.parametrize("kind", [RemoteScheduler, RemoteUpdateScheduler])
def test_a_worker_that_lies_is_wrong_and_nothing_else(kind):
    """The engine's own refusals (ValueError, RuntimeError) are told by the graders as Wrong."""
    for seed in range(400):
        with contextlib.suppress(Wrong, WorkerError, ValueError, RuntimeError):
            clock = mb.VirtualClock(1.0)
            scheduler = kind(Liar(seed), "Mine", 3)
            engine = mb.Engine(mb.PretendModel(), scheduler, pool=MirrorPool(8, 4), clock=clock)
            for name in "ABC":
                engine.add(mb.Request([0, 0, 0], max_tokens=3, request_id=name))
            for _ in range(10):
                engine.step()


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner),
        max_leaves=15,
    )
)
def test_an_answer_that_is_no_value_is_a_worker_that_died(packed):
    with contextlib.suppress(Died):
        Student(ROOT, TASK).unpacked(packed)


def test_two_holders_of_a_block_are_a_fault_unless_the_task_lets_them_share():
    tables = {"A": [0, 2], "B": [0, 1]}
    with pytest.raises(Wrong, match="block_in_two_tables"):
        MirrorPool(4, 4).set_holders(tables)
    pool = MirrorPool(4, 4)
    pool.may_share = True
    pool.set_holders(tables)
    assert [pool.ref_count(block) for block in range(4)] == [2, 1, 1, 0]


def test_a_policy_at_its_worker_knows_who_is_urgent(worker):
    student = worker(
        """
        import minibatch as mb
        class Urgent(mb.Continuous):
            def plan(self, now):
                urgent = sorted(self.waiting, key=lambda s: -s.request.priority)
                self.waiting.clear()
                self.waiting.extend(urgent)
                return super().plan(now)
        """
    )
    scheduler = RemoteScheduler(student, "Urgent", max_batch_size=1)
    engine = mb.Engine(
        mb.PretendModel(), scheduler, pool=MirrorPool(16, 4), clock=mb.VirtualClock()
    )
    for name, priority in (("A", 0), ("B", 7), ("C", -1)):
        engine.add(mb.Request([0], max_tokens=2, request_id=name, priority=priority))
    while engine.has_work:
        engine.step()
    assert [c.request_id for c in engine.trace.completions] == ["B", "A", "C"]

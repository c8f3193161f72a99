"""The graders' process that waits for a notebook's next check: nothing of one is in the other."""

import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import pytest

from minibatch.course.exercises import source
from minibatch.course.judging import graders
from minibatch.course.judging.graders import Graders
from minibatch.course.judging.judge import JudgeError, judge
from minibatch.course.setup import ROOT

LEAVES_TRACES = """
import builtins, os, sys

def test_it():
    assert not hasattr(builtins, "trace") and "TRACE" not in os.environ
    assert "trace" not in sys.modules
    builtins.trace = os.environ["TRACE"] = "here"
    sys.modules["trace"] = sys
"""

needs_copies = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere each judges once")


def run(process, folder, receive=print):
    arguments = [str(folder), "-q", "-p", "no:cacheprovider", f"--rootdir={folder}"]
    return process.run(arguments, seconds=60, receive=receive)


@needs_copies
def test_nothing_of_one_run_is_there_in_the_next(tmp_path):
    (tmp_path / "test_it.py").write_text(LEAVES_TRACES)
    process = Graders(ahead=True)
    for _ in range(2):
        output, is_late = run(process, tmp_path)
        assert "1 passed" in output
        assert not is_late
        assert process.can_work
    (tmp_path / "test_it.py").write_text("def test_it():\n    import os; os._exit(3)\n")
    assert "passed" not in run(process, tmp_path)[0]
    assert process.can_work, "a copy died, not the one that waits"
    process.close()
    assert not process.can_work


def test_a_class_that_is_stopped_ends_those_who_judge_in_other_threads(tmp_path):
    (tmp_path / "test_it.py").write_text("import time\ndef test_it():\n    time.sleep(600)\n")
    process = Graders()
    judging = threading.Thread(target=run, args=(process, tmp_path))
    judging.start()
    graders.close_all()
    judging.join()
    assert not process.can_work


def test_what_is_late_or_interrupted_is_ended(tmp_path):
    (tmp_path / "test_it.py").write_text("import time\ndef test_it():\n    time.sleep(60)\n")
    process = Graders()
    arguments = [str(tmp_path), "-p", "no:cacheprovider", f"--rootdir={tmp_path}"]
    assert process.run(arguments, seconds=2, receive=print)[1]
    assert not process.can_work

    def interrupt(message):
        raise KeyboardInterrupt

    process = Graders()
    task = [str(ROOT / "tests/exercises/test_ex03_dynamic_batching.py"), "--task", "3.1"]
    with pytest.raises(KeyboardInterrupt):
        process.run([*task, "--submission", str(tmp_path)], seconds=60, receive=interrupt)
    assert not process.can_work


def test_a_notebook_keeps_one_ready_from_its_first_check_on(monkeypatch):
    made = []

    class Fake:
        def __init__(self, ahead=False):
            self.ahead, self.can_work = ahead, True
            made.append(self)

    monkeypatch.setattr(graders, "Graders", Fake)
    monkeypatch.setattr(graders, "_ready", None)
    monkeypatch.setattr(sys, "platform", "linux")
    first = graders.ready()
    assert [process.ahead for process in made] == [False, True]
    second = graders.ready()
    assert first is made[0]
    assert second is made[1] is graders.ready()
    second.can_work = False
    assert graders.ready() is made[2]
    monkeypatch.setattr(sys, "platform", "win32")
    assert graders.ready() is made[3]
    assert graders.ready() is made[4], "each judges once"


@pytest.mark.full
@needs_copies
def test_who_waits_ends_with_whoever_could_ask():
    program = (
        "from minibatch.course.judging.graders import Graders\n"
        "print(Graders(ahead=True)._process.pid)"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True)
    for _ in range(600):
        if not Path(f"/proc/{done.stdout.strip()}").exists():
            return
        time.sleep(0.1)
    raise AssertionError("it goes on without anybody")


def test_a_test_that_was_not_judged_keeps_its_points_in_the_sum_and_says_why(tmp_path):
    (task,) = source.select("3.1")
    slow = "import time\ndef is_ready(*case):\n    time.sleep(0.7)\n    return False\n"
    (tmp_path / task.file_name).write_text(slow)
    (verdict,) = judge([task], tmp_path, tell=lambda verdict: graders.close_all())
    assert verdict.results[0].outcome == "passed"
    assert verdict.max_points == task.points
    last = verdict.results[-1]
    assert last.outcome == "error"
    assert last.codes == ["judging_ended_early"]
    assert last.statement in last.sentence
    assert "was not judged" in last.sentence


def test_graders_that_are_ended_leave_nothing_on_the_disk(tmp_path, monkeypatch):
    """As Ctrl-C of a class ends them: the folder of their worker is removed for them."""
    temporary, submission = tmp_path / "temporary", tmp_path / "submission"
    temporary.mkdir()
    submission.mkdir()
    (task,) = source.select("3.1")
    (submission / task.file_name).write_text("while True: pass\n")
    monkeypatch.setenv("TMPDIR", str(temporary))
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))

    def end():
        while not list(temporary.rglob("minibatch-worker-*/work")):
            time.sleep(0.05)
        graders.close_all()

    ending = threading.Thread(target=end)
    ending.start()
    with pytest.raises(JudgeError):
        judge([task], submission)
    ending.join()
    assert list(temporary.glob("minibatch-*")) == []

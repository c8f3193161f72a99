"""`python -m minibatch gpu`: parts that fail, hang, lack a package or have passed already."""

import json
import os
import re
import subprocess
import sys

import pytest

from minibatch.course.setup import ROOT, cli, gpu_run
from minibatch.course.setup.gpu_run import PARTS, Part

ROW = (
    "import sys; open(sys.argv[1], 'a').write('{{\"n\": {0}}}\\n'); print('first'); print('n {0}')"
)


def part(name, code, *, usual_s=0, limit_s=60, needs=()):
    return Part(name, f"what {name} is", usual_s, limit_s, needs, ("-c", code, gpu_run.ROWS))


A, B = part("a", ROW.format(1)), part("b", ROW.format(2))
FAILS = part("fails", ROW.format(3) + "; sys.exit('no such kernel')")


@pytest.fixture
def run(monkeypatch, tmp_path):
    """Runs these parts with these arguments: (exit status, gpu.json, gpu.md)."""
    monkeypatch.setattr(gpu_run, "why_no_gpu", lambda: None)
    monkeypatch.setattr(gpu_run.computer, "gpu_name", lambda: "H100")
    monkeypatch.setattr(gpu_run.computer, "driver_version", lambda: "580.65")

    def run(parts, *arguments):
        status = gpu_run.main(["--out", str(tmp_path / "new"), *arguments], parts)
        files = [tmp_path / "new" / name for name in ("gpu.json", "gpu.md")]
        report, page = (file.read_text("utf-8") if file.exists() else "{}" for file in files)
        return status, json.loads(report), page

    return run


def printed(capsys):
    """The first two words of each part's line."""
    _, *lines, _ = capsys.readouterr().out.splitlines()
    return [line.split()[:2] for line in lines if not line.startswith("    ")]


def statuses(report):
    return {name: result["status"] for name, result in report["parts"].items()}


def test_a_part_leaves_its_rows_its_last_line_and_its_output(run):
    status, report, page = run([A, B])
    assert status == 0
    assert statuses(report) == {"a": "passed", "b": "passed"}
    a = report["parts"]["a"]
    assert (a["rows"], a["summary"], a["output"]) == ([{"n": 1}], "n 1", "first\nn 1")
    assert page.count("| n |") == 2


def test_rows_are_printed_below_their_part(run, capsys):
    run([A, B])
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert [line[:2] for line in lines[1:5]] == [
        ["a", "passed"],
        *[["|", w] for w in ("n", "---", "1")],
    ]


def test_the_report_names_machine_driver_commit_and_versions(run):
    _, report, page = run([A])
    machine = report["machine"]
    assert (machine["gpu"], machine["driver"]) == ("H100", "580.65")
    assert {"commit", "torch", "transformers", "numba", "numba-cuda"} <= machine.keys()
    assert report["parts"]["a"]["commit"] == machine["commit"]
    assert all(f"| {name} | {value} |" in page for name, value in machine.items())


def test_a_part_that_fails_does_not_stop_the_next(run, capsys):
    status, report, page = run([FAILS, B])
    assert status == 1
    assert statuses(report) == {"fails": "failed", "b": "passed"}
    assert report["parts"]["fails"]["rows"] == [{"n": 3}]
    assert "no such kernel" in page
    assert printed(capsys) == [["fails", "failed"], ["b", "passed"]]


@pytest.mark.skipif(sys.platform == "win32", reason="no named pipes")
def test_a_part_that_hangs_is_ended_with_all_that_it_has_started(run, monkeypatch, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    child = (
        f"import time; pipe = open({str(tmp_path / 'pipe')!r}, 'w', 1); print('on', file=pipe); "
    )
    child += "time.sleep(30); print('survived', file=pipe)"
    code = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {child!r}])"
    pipes = []

    class Impatient(subprocess.Popen):
        def wait(self, timeout=None):
            if timeout is None:
                return super().wait()
            pipes.append((tmp_path / "pipe").open())
            assert pipes[0].readline() == "on\n"
            raise subprocess.TimeoutExpired("hangs", timeout)

    with monkeypatch.context() as patch:
        patch.setattr(gpu_run.subprocess, "Popen", Impatient)
        status, report, _ = run([part("hangs", code, limit_s=7)])
    with pipes[0] as pipe:
        assert pipe.read() == ""
    assert (status, statuses(report)) == (1, {"hangs": "timed out"})
    assert "7 s" in report["parts"]["hangs"]["summary"]


def test_the_time_limit_is_kept(run):
    _, report, _ = run([part("hangs", "import time; time.sleep(60)", limit_s=0.1), B])
    assert statuses(report) == {"hangs": "timed out", "b": "passed"}


def test_an_interrupted_run_has_a_report_of_what_had_ended(run, monkeypatch, tmp_path):
    run_part = gpu_run.run_part

    def interrupt(part, limit_s):
        if part is B:
            raise KeyboardInterrupt
        return run_part(part, limit_s)

    monkeypatch.setattr(gpu_run, "run_part", interrupt)
    with pytest.raises(KeyboardInterrupt):
        run([A, B])
    report = json.loads((tmp_path / "new" / "gpu.json").read_text("utf-8"))
    assert statuses(report) == {"a": "passed"}


def test_a_row_that_was_half_written_is_dropped(run):
    _, report, _ = run([part("a", ROW.format(4) + "; open(sys.argv[1], 'a').write('{')")])
    assert report["parts"]["a"]["rows"] == [{"n": 4}]


@pytest.mark.skipif(sys.platform == "win32", reason="no signals")
def test_a_part_that_a_signal_ends_says_which(run):
    _, report, _ = run([part("dies", "import os; os.kill(os.getpid(), 9)")])
    assert statuses(report) == {"dies": "failed"}
    assert "signal 9" in report["parts"]["dies"]["summary"]


@pytest.mark.parametrize(
    ("last", "status"), [("4 skipped in 5.1s", "failed"), ("3 passed, 1 skipped in 5s", "passed")]
)
def test_tests_that_are_all_skipped_have_not_passed(run, last, status):
    _, report, _ = run([part("a", f"print('ssss'); print({last!r})")])
    assert statuses(report) == {"a": status}


def test_a_part_without_its_package_is_skipped_by_name(run):
    status, report, _ = run([part("a", "", needs=("json", "no_such_package")), B])
    assert status == 0
    assert statuses(report) == {"a": "skipped", "b": "passed"}
    assert "no_such_package" in report["parts"]["a"]["summary"]
    assert "json" not in report["parts"]["a"]["summary"]


def test_if_every_part_is_skipped_nothing_has_been_shown(run):
    status, report, _ = run([part("a", "", needs=("no_such_package",))])
    assert (status, statuses(report)) == (1, {"a": "skipped"})


def test_resume_leaves_out_what_passed_and_begins_with_what_never_ran(run, capsys):
    run([A, FAILS])
    capsys.readouterr()
    _, report, _ = run([A, FAILS, B], "--resume")
    assert printed(capsys) == [["b", "passed"], ["fails", "failed"]]
    assert statuses(report) == {"a": "passed", "fails": "failed", "b": "passed"}


def test_a_new_run_forgets_the_last_one(run):
    run([A])
    assert statuses(run([A, B], "--minutes", "1")[1]) == {"a": "passed", "b": "passed"}
    assert statuses(run([B])[1]) == {"b": "passed"}


def test_only_runs_these_parts_again_and_keeps_the_others_results(run, capsys):
    run([A, FAILS, B])
    capsys.readouterr()
    status, report, _ = run([A, FAILS, B], "--only", "b", "--only", "a")
    assert printed(capsys) == [["a", "passed"], ["b", "passed"]]
    assert status == 0
    assert statuses(report) == {"a": "passed", "fails": "failed", "b": "passed"}


def test_a_part_that_does_not_fit_into_the_minutes_is_left(run, capsys):
    slow = part("slow", ROW.format(5), usual_s=61)
    status, report, _ = run([slow, B], "--minutes", "1")
    assert (status, statuses(report)) == (1, {"b": "passed"})
    assert re.search(r"slow.*--resume", capsys.readouterr().out)


def test_an_unknown_part_is_refused(run):
    with pytest.raises(SystemExit) as refusal:
        run([A], "--only", "z")
    assert refusal.value.code == 2


@pytest.mark.parametrize("reason", ["no GPU", "a driver that is too old"])
def test_without_a_gpu_it_says_why_and_runs_nothing(run, monkeypatch, capsys, reason):
    monkeypatch.setattr(gpu_run, "why_no_gpu", lambda: reason)
    assert run([A]) == (2, {}, "{}")
    assert reason in capsys.readouterr().err


def test_a_python_without_torch_is_told_what_to_install(monkeypatch):
    monkeypatch.setattr(gpu_run, "find_spec", lambda name: None)
    assert "setup --cuda" in gpu_run.why_no_gpu()


def test_the_parts_fit_into_fifteen_minutes_and_each_into_eight():
    assert sum(each.usual_s for each in PARTS) <= 15 * 60
    assert all(each.usual_s < each.limit_s <= 8 * 60 for each in PARTS)


def test_each_gpu_test_is_in_one_part():
    chosen = [each.command for each in PARTS if "pytest" in each.command]
    files = {word for command in chosen for word in command if word.startswith("tests/")}
    marked = {
        file.relative_to(ROOT).as_posix()
        for file in ROOT.glob("tests/*/test_*.py")
        if re.search(r"^pytestmark = .*mark\.gpu", file.read_text("utf-8"), re.M)
    }
    assert files == marked
    *some, rest = (command[command.index("-k") + 1] for command in chosen)
    assert all(re.search(rf"not \(?{re.escape(each)}", rest) for each in some)


def test_every_check_that_a_part_names_exists():
    from minibatch.bench.gpu_checks import CHECKS

    named = {each.command[2] for each in PARTS if "minibatch.bench.gpu_checks" in each.command}
    assert named == set(CHECKS)


def test_it_runs_where_the_course_is_not_installed():
    assert cli.COMMANDS["gpu"].needs is cli.Needs.WHAT_IS_THERE

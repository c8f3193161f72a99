"""The same judging as an autograder for Gradescope: a zip with setup.sh and run_autograder.

The platform unpacks the zip to /autograder/source, runs setup.sh once, then run_autograder for each
submission in /autograder/submission, and reads /autograder/results/results.json. (Gradescope,
"Autograder specifications") $AUTOGRADER_ROOT stands for /autograder elsewhere.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import zipfile
from pathlib import Path

from minibatch.course.classroom.grade_class import what_is_missing
from minibatch.course.classroom.submissions import Submission, SubmissionError
from minibatch.course.exercises.source import all_tasks
from minibatch.course.judging.judge import JudgeError, Options, judge
from minibatch.course.judging.verdict import PASSED, TestResult, Verdict
from minibatch.course.setup import ROOT

SETUP = """\
#!/usr/bin/env bash
# Runs once, as root. Choose an Ubuntu image with Python 3.11 or newer (24.04 has 3.12).
set -euo pipefail
cd "${AUTOGRADER_ROOT:-/autograder}/source/minibatch-course"
export DEBIAN_FRONTEND=noninteractive
apt-get update
apt-get install --yes --no-install-recommends python3 python3-venv git
python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))' ||
    { echo "$(python3 --version) is too old; choose an image with 3.11 or newer." >&2; exit 1; }
python3 -m minibatch setup --venv --cpu
"""

RUN = """\
#!/usr/bin/env bash
# Runs for each submission. Whatever goes wrong, results.json says so.
root="${AUTOGRADER_ROOT:-/autograder}"
results="$root/results/results.json"
mkdir -p "$root/results"
cat > "$results" <<'END'
{"score": 0, "output": "The autograder itself did not finish; tell your teacher.", "tests": []}
END
cd "$root/source/minibatch-course" || exit 0
python="${AUTOGRADER_PYTHON:-.venv/bin/python}"
"$python" -m minibatch.course.classroom.gradescope "$root/submission" "$results" NO_SANDBOX
exit 0
"""

_FILES = ("minibatch/**/*.py", "minibatch/**/*.html", "minibatch/**/*.json", "minibatch/**/*.toml")
_FILES += ("minibatch/wayfarer/weights/*", "minibatch/course/setup/locks/*")
_FILES += ("solutions/*.py", "solutions/*.patch")
_FILES += ("tests/conftest.py", "tests/support/*.py", "tests/exercises/*.py")
_FILES += ("pyproject.toml", "requirements.txt", "README.md", "LICENSE")


def export_gradescope(path: Path, root: Path = ROOT, no_sandbox: bool = False) -> None:
    """Write the autograder's zip: the two scripts, and the files of the course that judging needs.

    no_sandbox: judge there even if there is no sandbox.
    """
    files = sorted({file for pattern in _FILES for file in root.glob(pattern) if file.is_file()})
    path.parent.mkdir(parents=True, exist_ok=True)
    run = RUN.replace(" NO_SANDBOX", " --no-sandbox" if no_sandbox else "")
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in (("setup.sh", SETUP), ("run_autograder", run)):
            entry = zipfile.ZipInfo(name)
            entry.external_attr = 0o755 << 16
            archive.writestr(entry, text)
        for file in files:
            if "__pycache__" not in file.parts and not file.is_symlink():
                archive.write(file, Path("minibatch-course", file.relative_to(root)))


def main(arguments: list[str]) -> int:
    """Judge one submission and write Gradescope's results.json. Always 0: the file has the rest."""
    parser = argparse.ArgumentParser(prog="python -m minibatch.course.classroom.gradescope")
    parser.add_argument("submission", type=Path)
    parser.add_argument("results", type=Path)
    parser.add_argument("--no-sandbox", action="store_true")
    options = parser.parse_args(arguments)
    lacks = what_is_missing()
    try:
        if lacks and not options.no_sandbox:
            raise JudgeError(lacks)
        with tempfile.TemporaryDirectory(prefix="minibatch-gradescope-") as copy:
            Submission("submission", "submission", options.submission).copy_to(Path(copy))
            how = Options(sandbox=None if lacks else True, max_timeouts=3)
            results = results_of(judge(all_tasks().values(), Path(copy), how))
    except (SubmissionError, JudgeError) as error:
        results = {"score": 0, "output": f"Nothing could be judged: {error}", "tests": []}
        lacks = ""
    results["output"] = f"{results['output']} {lacks}".strip()
    options.results.write_text(json.dumps(results, indent=1), encoding="utf-8")
    return 0


def results_of(verdicts: list[Verdict]) -> dict:
    """Gradescope's format: an entry for each test, its score, status, output and visibility."""
    return {
        "output": "Passed means: all public tests.",
        "output_format": "text",
        "test_output_format": "text",
        "tests": [_entry(v, result) for v in verdicts for result in v.results],
    }


def _entry(verdict: Verdict, result: TestResult) -> dict:
    output = result.sentence
    if result.blocked_by:
        output = f"Blocked: “{result.blocked_by}” fails for the same reason.\n{output}"
    if result.expected is not None:
        output += f"\nexpected: {result.expected}\nyours:    {result.got}"
    for frame in result.frames:
        output += f"\n{verdict.stem}.py, line {frame['line']}: {frame['code']}"
    return {
        "name": f"{verdict.task} {verdict.title}: {result.statement}",
        "score": result.points if result.outcome == PASSED else 0,
        "max_score": result.points,
        "status": "passed" if result.outcome == PASSED else "failed",
        "output": output or result.outcome,
        "visibility": "hidden" if result.hidden else "visible",
    }


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

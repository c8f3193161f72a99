"""`python -m minibatch gpu`: checks and measures an NVIDIA GPU, in parts, and writes a report.

Each part is a process of its own with a time limit: neither an error nor a hang of one part stops
the next. The report is written after each part; `--resume` goes on from there. What the parts do
is in minibatch/bench/gpu_checks.py, and in the tests marked `gpu`.
"""

import argparse
import json
import math
import os
import platform
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from importlib.util import find_spec
from pathlib import Path
from typing import IO

from minibatch.course.setup import ROOT, computer
from minibatch.course.setup.bounds import Requirement
from minibatch.course.setup.findings import SetupError
from minibatch.course.setup.git import git
from minibatch.course.setup.process import environment_variables

ROWS = "{rows}"  # in a command: the file for a part's rows, a JSON object a line
MOST_OUTPUT, MOST_SHOWN = 40_000, 40  # characters of a part that are kept; lines in the page
PACKAGES = ("torch", "transformers", "numba", "numba-cuda", "nvidia-nvvm", "triton", "numpy")
KERNEL_TESTS, ENGINE_TESTS = "tests/attention/test_gpu_kernels.py", "tests/engine/test_gpu.py"
DEFINITION, GRAPHS = "definition and float32", "graphs_change_no_token"
WORKERS = ("-n", str(min(8, os.cpu_count() or 1))) if find_spec("xdist") else ()


class Status(StrEnum):
    """How a part ended; the value is the printed word."""

    PASSED = "passed"
    FAILED = "failed"
    TIMED_OUT = "timed out"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True)
class Part:
    """usual_s: an estimate of its seconds on an H100; limit_s: it is ended after so many. needs:
    the packages that it imports. command: the arguments of this Python."""

    name: str
    title: str
    usual_s: float
    limit_s: float
    needs: tuple[str, ...]
    command: tuple[str, ...]


def _check(name: str) -> tuple[str, ...]:
    return ("-m", "minibatch.bench.gpu_checks", name, ROWS)


def _tests(chosen: str, *files: str) -> tuple[str, ...]:
    return ("-m", "pytest", "-q", "-rfE", "-m", "gpu", "-k", chosen, *WORKERS, *files)


_MODELS = ("transformers", "numba", "psutil", "tqdm")
_KERNELS = (*_MODELS, "numba_cuda")
_PYTEST = (*_KERNELS, "pytest", "hypothesis")
_REST = f"not ({DEFINITION}) and not {GRAPHS}"

PARTS = (
    Part("driver", "driver and doctor", 20, 90, _MODELS, _check("driver")),
    Part("kernels", "a launch of each against float64", 60, 180, _KERNELS, _check("kernels")),
    Part("definition", DEFINITION, 100, 300, _PYTEST, _tests(DEFINITION, KERNEL_TESTS)),
    Part("graphs", "CUDA graphs change no token", 60, 240, _PYTEST, _tests(GRAPHS, ENGINE_TESTS)),
    Part("tokens", "Wayfarer's answers against the CPU's", 40, 180, _MODELS, _check("tokens")),
    Part("bench", "bench kernels --quick", 150, 420, _KERNELS, _check("bench")),
    Part("throughput", "tokens per second", 180, 420, _MODELS, _check("throughput")),
    Part(
        "rest", "all other GPU tests", 240, 480, _PYTEST, _tests(_REST, KERNEL_TESTS, ENGINE_TESTS)
    ),
)


def main(arguments: list[str], parts: Sequence[Part] = PARTS) -> int:
    """Run the parts and write the report. Returns 0 if one passed, none failed and none is left,
    2 without a GPU, and otherwise 1."""
    options = _parser(parts).parse_args(arguments)
    if reason := why_no_gpu():
        print(f"This needs an NVIDIA GPU that PyTorch can use. Found: {reason}", file=sys.stderr)
        return 2
    chosen = [part for part in parts if not options.only or part.name in options.only]
    results = _results(options.out) if options.resume or options.only else {}
    done = [name for name, result in results.items() if result["status"] == Status.PASSED]
    to_do = [part for part in chosen if not (options.resume and part.name in done)]
    to_do.sort(key=lambda part: part.name in results)  # first what has not run yet
    ends, machine = time.monotonic() + 60 * options.minutes, facts()
    print(f"{machine['gpu']}, driver {machine['driver']}, commit {machine['commit']}")
    left = []
    for part in to_do:
        if (rest := ends - time.monotonic()) < part.usual_s:
            left.append(part.name)
            continue
        print(f"{part.name:<11} ", end="", flush=True)
        result = run_part(part, min(part.limit_s, rest))
        print(f"{result['status']:<10} {result['seconds']:5.0f} s   {result['summary']}")
        print("".join(f"    {line}\n" for line in _table(result["rows"])), end="", flush=True)
        results[part.name] = result | {"commit": machine["commit"]}
        write_report(options.out, machine, parts, results)
    if left:
        print(f"No time was left for {', '.join(left)}: the same command with --resume runs them.")
    print(f"The report: {options.out / 'gpu.md'}, {options.out / 'gpu.json'}")
    ended = {results[part.name]["status"] for part in chosen if part.name in results}
    is_well = Status.PASSED in ended and ended <= {Status.PASSED, Status.SKIPPED}
    return int(bool(left) or not is_well)


def _parser(parts: Sequence[Part]) -> argparse.ArgumentParser:
    lines = [f"  {part.name:<11} about {part.usual_s:3.0f} s: {part.title}" for part in parts]
    about = "Check and measure this computer's NVIDIA GPU, in parts. A part that fails or takes\n"
    about += "too long does not stop the next. Seconds on an H100, estimated:\n\n"
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(
        "python -m minibatch gpu", description=about + "\n".join(lines), formatter_class=raw
    )
    names, add = [part.name for part in parts], parser.add_argument
    add("--only", action="append", choices=names, help="run this part; may be repeated")
    add("--resume", action="store_true", help="skip parts that passed in the last report")
    add("--minutes", type=float, default=math.inf, help="minutes; start no part that needs more")
    add("--out", type=Path, default=ROOT / "gpu-report", help="the folder of the report")
    return parser


def why_no_gpu() -> str | None:
    """What is missing for PyTorch to use a GPU, in a sentence; None if nothing is."""
    if find_spec("torch") is None:
        return f"PyTorch is not installed for {sys.executable}: python -m minibatch setup --cuda"
    import torch

    if torch.cuda.is_available():
        return None
    from minibatch.course.setup.doctor import check_torch

    *_, finding = check_torch()
    return f"{finding.seen}. {finding.to_do}".strip()


def run_part(part: Part, limit_s: float) -> dict[str, object]:
    """Its status, seconds, last line as a summary, rows, and output."""
    missing = [name for name in part.needs if find_spec(name) is None]
    if missing:
        summary = f"{', '.join(missing)} is not installed"
        return {"status": Status.SKIPPED, "seconds": 0.0, "summary": summary, "rows": []}
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        file, log = Path(folder, "rows"), Path(folder, "log")
        file.touch()
        command = [sys.executable, *(str(file) if word == ROWS else word for word in part.command)]
        with log.open("wb") as output:
            code = _exit_code(command, output, limit_s)
        complete, _, _ = file.read_text(encoding="utf-8").rpartition("\n")
        rows = [json.loads(line) for line in complete.splitlines()]
        said = log.read_text(encoding="utf-8", errors="replace").strip()
    summary = said.rpartition("\n")[2]
    nothing_ran = re.match(r"\d+ skipped in", summary)  # in pytest's words
    status = Status.PASSED if code == 0 and not nothing_ran else Status.FAILED
    if code is None:
        status, summary = Status.TIMED_OUT, f"ended after {limit_s:.0f} s; before: {summary}"
    elif code < 0:
        summary = f"ended by signal {-code}; before: {summary}"
    result = {"status": status, "seconds": time.monotonic() - began, "summary": summary}
    return result | {"rows": rows, "output": said[-MOST_OUTPUT:]}


def _exit_code(command: list[str], output: IO[bytes], limit_s: float) -> int | None:
    """None if the time limit ended it, with all that it had started."""
    streams = {"stdin": subprocess.DEVNULL, "stdout": output, "stderr": subprocess.STDOUT}
    variables = environment_variables() | {"PYTHONUNBUFFERED": "1"}
    child = subprocess.Popen(command, cwd=ROOT, env=variables, start_new_session=True, **streams)
    try:
        return child.wait(limit_s)
    except subprocess.TimeoutExpired:
        return None
    finally:
        if child.poll() is None:  # also after Ctrl-C
            os.killpg(child.pid, signal.SIGKILL) if hasattr(os, "killpg") else child.kill()
            child.wait()


def facts() -> dict[str, object]:
    """The machine and the versions of a run."""
    commit = "unknown"
    with suppress(SetupError):
        commit = git(ROOT, "describe", "--always", "--dirty", "--abbrev=10").strip()
    return {
        "date": datetime.now().astimezone().isoformat(timespec="seconds"),
        "commit": commit,
        "gpu": computer.gpu_name() or "a GPU that nvidia-smi does not name",
        "driver": computer.driver_version() or "unknown",
        "system": platform.platform(terse=True),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        **{name: Requirement(name, "").installed or "not installed" for name in PACKAGES},
    }


def write_report(folder: Path, machine: dict, parts: Sequence[Part], results: dict) -> None:
    """gpu.json, which `--resume` reads, and gpu.md, the same for people."""
    folder.mkdir(parents=True, exist_ok=True)
    found = {part.name: results[part.name] for part in parts if part.name in results}
    pages = {
        "gpu.json": json.dumps({"machine": machine, "parts": found}, indent=1),
        "gpu.md": "\n".join(_page(machine, parts, found)),
    }
    for name, text in pages.items():
        new = folder / f"{name}.new"  # a run that is ended now leaves the report before
        new.write_text(text + "\n", encoding="utf-8")
        new.replace(folder / name)


def _results(folder: Path) -> dict[str, dict]:
    file = folder / "gpu.json"
    return json.loads(file.read_text(encoding="utf-8"))["parts"] if file.is_file() else {}


def _page(machine: dict, parts: Sequence[Part], found: dict[str, dict]) -> list[str]:
    lines = ["# A run on a GPU", "", *_table([{"what": k, "": v} for k, v in machine.items()]), ""]
    kept = ("status", "seconds", "commit", "summary")
    lines += _table([{"part": n} | {k: found[n][k] for k in kept} for n in found])
    for part in parts:
        result = found.get(part.name, {"status": Status.SKIPPED})
        if result["status"] == Status.SKIPPED:
            continue
        lines += ["", f"## {part.name}: {part.title}", "", *_table(result["rows"])]
        if result["status"] != Status.PASSED or not result["rows"]:
            lines += ["", "```", *result["output"].splitlines()[-MOST_SHOWN:], "```"]
    return lines


def _table(rows: list[dict]) -> list[str]:
    """In Markdown; a column for each key of any row."""
    columns = list(dict.fromkeys(key for row in rows for key in row))
    lines = [columns, ["---"] * len(columns)]
    lines += [[_cell(row.get(column, "")) for column in columns] for row in rows]
    return ["| " + " | ".join(cells) + " |" for cells in lines] if rows else []


def _cell(value: object) -> str:
    if isinstance(value, float):
        value = f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"
    text = str(value)
    return " ".join(text.replace("|", "\\|").split())

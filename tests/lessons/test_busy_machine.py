"""A lesson says the same beside two busy programs as it says alone.

Of every cell, what it prints and what its figures find is compared: the words must be the same, and
numbers before "times", "×" or "%", which are what was concluded, may not be half as large again.
Seconds and tokens a second may be anything. A cell that is about real time, where the load may well
show, is named in REAL_TIME, with the reason; a lesson needs nothing else for this test.
"""

import html
import os
import re
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import nbformat
import pytest

from minibatch.course.notebooks.run_notebook import Client
from minibatch.course.setup.lab_and_test import thread_variables

LESSONS = Path(__file__).parents[2] / "lessons"
NAMES = [path.stem for path in sorted(LESSONS.glob("[0-9]*.ipynb"))]
REAL_TIME = {
    "03_dynamic_batching": dict.fromkeys(("real", "real-window"), "arrivals are real"),
    "11_measuring_honestly": {"calibrate": "it measures how busy the computer is, and the errors"},
    "12_a_server": {"full": "arrivals are real: half of them, or fewer, may be refused"},
}
NUMBER = r"(?<![\w.])[-+]?\d+(?:,\d{3})*(?:\.\d+)?"
QUOTIENT = re.compile(rf"({NUMBER})\s?(?:times\b|×|%)")
NOISE = re.compile(  # what a run says of its own noise, and names drawn at random
    r", unclear at [^;.]+|at every size (?=up to)|(?<=up to )about "
    r"|simulated against real \(real against real\)"
    r"(\s+(all at once|\d+% busy): makespan \S+ \(\S+\), TTFT \S+ \(\S+\), TPOT \S+ \(\S+\))+"
    r"|chatcmpl-\w+"
)
CLOSE = 1.5  # times as large: a quotient further off is another conclusion


def words_of(text):
    """The text without its numbers, bars and gaps; however long a list of numbers is."""
    text = re.sub(NUMBER, "#", re.sub(r"[█▏▎▍▌▋▊▉]", "", text))
    return re.sub(r"#(, #)+", "#", " ".join(text.split()))


def quotients_of(text):
    return [float(number.replace(",", "")) for number in QUOTIENT.findall(text)]


def another_conclusion(alone, busy):
    """What the second text concludes otherwise than the first; None if nothing."""
    alone, busy = (NOISE.sub("", text) for text in (alone, busy))
    if words_of(alone) != words_of(busy):
        return f"{words_of(alone)}\n    became\n{words_of(busy)}"
    for before, after in zip(quotients_of(alone), quotients_of(busy), strict=True):
        low, high = sorted((abs(before), abs(after)))
        if before * after < 0 or high > CLOSE * low:
            return f"{before:g} became {after:g} in: {' '.join(busy.split())}"
    return None


NOTE = (
    "{} times the goodput\n\nsimulated against real (real against real)\n"
    "all at once: makespan −1% (2%), TTFT 2% (1%), TPOT {} (3%)\n"
    "76% busy: makespan +1% (2%), TTFT 5% (2%), TPOT 6% (5%)"
)


@pytest.mark.parametrize(
    ("alone", "busy"),
    [
        ("8 rows take 1.9 times the 4.1 ms of one", "8 rows take 2.2 times the 9.7 ms of one"),
        ("batches of [8, 1, 3], 7 ms  ███", "batches of [8, 4], 21 ms  █████████"),
        ("1,245 steps, 48.0% useful", "1,245 steps, 48.0% useful"),
        (
            "faster up to batch 8; formula: up to about 9.",
            "faster up to batch 6, unclear at 16; formula: up to 8.",
        ),
        (NOTE.format(1.2, "4%"), NOTE.format(1.3, "1%")),
        ('{"id": "chatcmpl-b0dc"}', '{"id": "chatcmpl-9e21"}'),
    ],
)
def test_slower_is_no_other_conclusion(alone, busy):
    assert another_conclusion(alone, busy) is None


@pytest.mark.parametrize(
    ("alone", "busy"),
    [
        ("A is quicker than B", "B is quicker than A"),
        ("processor busy: 99%", "processor busy: 62%"),
        ("it fell by 4 %", "it fell by -4 %"),
        ("1.73 times the tokens", "1.73 times the tokens, as the arithmetic says"),
        (NOTE.format(1.2, "4%") + "\nA is faster", NOTE.format(1.2, "4%") + "\nB is faster"),
    ],
)
def test_other_words_and_other_quotients_are_another_conclusion(alone, busy):
    assert another_conclusion(alone, busy)


@contextmanager
def busy_programs(number):
    programs = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(number)]
    try:
        yield
    finally:
        for program in programs:
            program.kill()
            program.wait()


def run(name):
    """What each cell of a lesson shows, by its id."""
    notebook = nbformat.read(LESSONS / f"{name}.ipynb", as_version=4)
    resources = {"metadata": {"path": str(LESSONS)}}
    client = Client(notebook, timeout=1200, kernel_name="python3", resources=resources)
    solved = {"MINIBATCH_EXERCISES": str(LESSONS.parent / "solutions")}
    client.execute(env={**os.environ, **thread_variables(), **solved})
    code = (cell for cell in notebook.cells if cell.cell_type == "code")
    return {cell.id: "\n".join(_texts(cell.outputs)) for cell in code}


def _texts(outputs):
    for output in outputs:
        data = output.get("data", {})
        for alt in re.findall(r' alt="([^"]*)"', data.get("text/html", "")):
            yield html.unescape(alt)
        if output.get("name") != "stderr":  # progress bars
            yield output.get("text") or data.get("text/markdown", "")


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("name", NAMES)
def test_a_lesson_concludes_beside_busy_programs_what_it_concludes_alone(name):
    alone = run(name)
    with busy_programs(2):
        busy = run(name)
    in_real_time = REAL_TIME.get(name, {})
    assert set(in_real_time) <= set(alone)
    changed = {
        cell: another_conclusion(text, busy[cell])
        for cell, text in alone.items()
        if cell not in in_real_time
    }
    changed = {cell: how for cell, how in changed.items() if how}
    assert not changed, "\n\n".join(f"{cell}: {how}" for cell, how in changed.items())

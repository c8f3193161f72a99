"""An edit in minibatch/ is live in a running lesson: autoreload, in an IPython of its own."""

import os
import shutil
import subprocess
import sys

import pytest

from minibatch.course.setup import ROOT

pytestmark = pytest.mark.full

SESSION = r"""
import ast, os, pathlib, subprocess, sys, time
from IPython.core.interactiveshell import InteractiveShell

shell = InteractiveShell.instance()
patch, num_edits = sys.argv[1], 0


def cell(code, after=""):
    done = shell.run_cell(code)
    error = done.error_before_exec or done.error_in_exec
    assert error is None, f"{after}: {type(error).__name__}: {error}"


def is_saved(path):
    "Later than it was, as the clock of a file system sees it."
    global num_edits
    num_edits += 1
    os.utime(path, (time.time() + 10 * num_edits,) * 2)


def added(path):
    "After which line a line goes: one into each method, a field into each dataclass."
    for made in ast.walk(ast.parse(path.read_text())):
        if not isinstance(made, ast.ClassDef):
            continue
        for method in made.body:
            if isinstance(method, ast.FunctionDef):
                first = method.body[0]
                text = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
                place = first.end_lineno if text else first.lineno - 1
                yield place, " " * first.col_offset + "edited = True"
        fields = [line for line in made.body if isinstance(line, ast.AnnAssign)]
        if fields and any("dataclass" in ast.unparse(line) for line in made.decorator_list):
            yield fields[-1].end_lineno, " " * fields[-1].col_offset + "edit: int = 0"


cell("%load_ext autoreload\n%autoreload 2\nimport minibatch as mb")
cell('''
class Mine(mb.Continuous):
    def plan(self, now):
        return super().plan(now)

def engine():
    return mb.Engine(mb.PretendModel(), Mine(4), clock=mb.VirtualClock(1))

few = mb.workload.agents(mb.PretendModel(), n=3, prompt_scale=0.1)
held = engine()
for request in mb.workload.agents(mb.PretendModel(), n=8, prompt_scale=0.1):
    held.add(request)
held.step()
player = mb.widgets.EnginePlayer(engine(), few)

def serve():
    engine().run(few)
    held.step()
    held.check_invariants()
    player.go_to(player.position + 1)
    assert not player.film.error, player.film.error
''')
for room in ("core", "memory", "schedulers", "attention", "model", "engine"):
    for path in sorted(pathlib.Path("minibatch", room).glob("*.py")):
        with path.open("a") as file:
            file.write(f"\nEDIT = {num_edits}\n")
        is_saved(path)
        cell("serve()", path)
cell("import sys; assert all(hasattr(sys.modules[f'minibatch.{name}'], 'EDIT') "
     "for name in ('core.plan', 'core.records', 'schedulers.base', 'engine.engine'))")

path = pathlib.Path("minibatch/schedulers/continuous.py")
old, new = "def plan(self, now: float)", "def plan(self, now: float, greeting=0)"
path.write_text(path.read_text().replace(old, new, 1))
is_saved(path)
cell("import inspect; assert 'greeting' in inspect.signature(mb.Continuous.plan).parameters")

subprocess.run(["git", "apply", "-p1", patch], env=os.environ | {"GIT_DIR": os.devnull}, check=True)
for name in ("core/records.py", "engine/engine.py", "engine/trace.py", "memory/prefix.py"):
    is_saved(pathlib.Path("minibatch", name))
cell("new = engine(); new.run(few); read = [step.kv_bytes_read for step in new.trace.steps]", "4.3")
cell("assert read[0] > 0 and held.step().kv_bytes_read > 0", "4.3, an engine from before")
cell('''
finding = mb.Engine(mb.PretendModel(), Mine(4), prefix_caching=True)
for _ in range(2):
    finding.run([mb.Request([0] * 32, max_tokens=1)])
assert finding.trace.steps[-1].sharing.lookups[0].miss.reason == "last token"
''', "7.4")
for room in ("core", "memory", "schedulers", "engine"):
    for path in sorted(pathlib.Path("minibatch", room).glob("*.py")):
        lines = path.read_text().splitlines()
        for place, line in sorted(added(path), reverse=True):
            lines.insert(place, line)
        path.write_text("\n".join(lines) + "\n")
        is_saved(path)
        cell("serve()", f"methods and fields of {path}")
print("all edits were live")
"""


def test_edits_of_every_file_and_exercises_4_3_and_7_4_are_live(tmp_path):
    keep = shutil.ignore_patterns("__pycache__", "weights")
    shutil.copytree(ROOT / "minibatch", tmp_path / "minibatch", ignore=keep)
    (tmp_path / "session.py").write_text(SESSION, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "session.py", str(ROOT / "solutions" / "minibatch.patch")],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(tmp_path), "IPYTHONDIR": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=200,
    )
    assert "all edits were live" in done.stdout, done.stdout[-3000:] + done.stderr[-3000:]


PROBED = """
import sys
import minibatch as mb

def read(overlap):
    clock = mb.VirtualClock(0.008, scheduling_time=0.002)
    model = mb.PretendModel()
    engine = mb.Engine(model, mb.Continuous(8), clock=clock, overlap=overlap)
    engine.run(mb.workload.agents(model, n=16, prompt_scale=0.1))
    return sum(step.kv_bytes_read for step in engine.trace.steps)

traffic = mb.traffic.poisson(1, 100)
print(read(False) == read(True) > 0, mb.simulate(mb.Continuous(8), traffic, 0.1).path)
"""


def test_a_probe_sees_both_loops_and_leaves_the_simulator_fast(tmp_path):
    """Exercise 4.3 changes the engine: lessons 5 to 14 still run, and as fast as before."""
    shutil.copytree(ROOT / "minibatch", tmp_path / "minibatch")
    patch = str(ROOT / "solutions" / "minibatch.patch")
    own = os.environ | {"GIT_DIR": os.devnull}  # the folder may lie within a checkout
    subprocess.run(["git", "apply", patch], cwd=tmp_path, env=own, check=True)
    done = subprocess.run(
        [sys.executable, "-c", PROBED],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert done.stdout == "True fast\n", done.stdout + done.stderr

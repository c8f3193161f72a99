"""The pretend path in a Python without packages, as a browser has it."""

import json
import subprocess
import sys
from pathlib import Path

import jinja2
import markupsafe

from minibatch import arena
from minibatch.course.setup import ROOT

ROOMS = "core memory.blocks memory.block_manager memory.prefix schedulers engine.engine routers"
PRETEND = "simulator.pretend simulator.cost simulator.workload simulator.replay"
BARE = f"""
import sys, importlib
sys.path.insert(0, {str(ROOT)!r})
for name in {(ROOMS + " " + PRETEND).split()!r}:
    importlib.import_module("minibatch." + name)
import minibatch as mb
lengths = 20, 45, 80, 120, 150, 90, 60, 200
requests = [mb.Request([0], max_tokens=n) for n in lengths * 6 + lengths[:2]]
engine = mb.Engine(mb.PretendModel(), mb.Continuous(8), clock=mb.VirtualClock())
engine.run(requests, progress=False)
print(engine.trace.num_steps, engine.trace.summary()["output_tokens"])
"""
MATCH = f"""
import sys
sys.path.insert(0, {str(ROOT)!r})
from minibatch import arena
match = arena.matches("engine")[2]
outcome = arena.play(match, arena.BASELINES["FCFS"])
print(repr(arena.score([outcome], arena.marks("engine")).total))
"""
DRAWN = """
import sys
sys.path[:0] = {paths!r}
from minibatch.course.site.in_browser.calls import call
print(call("play", sys.stdin.read()))
"""


def bare(code, given=""):
    """What a Python without site-packages prints."""
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", code], input=given, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_fifty_pretend_requests_are_served_without_any_package():
    assert bare(BARE).split() == ["710", "4655"]


def test_a_match_of_the_arena_has_the_same_score_without_any_package():
    match = arena.matches("engine")[2]
    outcome = arena.play(match, arena.BASELINES["FCFS"])
    assert bare(MATCH).strip() == repr(arena.score([outcome], arena.marks("engine")).total)


def test_a_run_is_drawn_with_nothing_but_the_templates_package(tmp_path):
    for package in (jinja2, markupsafe):
        folder = Path(package.__file__).parent
        (tmp_path / folder.name).symlink_to(folder)
    asked = {
        "traffic": None,
        "own": "A, 30, 5\nB, 30, 9, 0.1",
        "policy": "import minibatch as mb\nclass Mine(mb.Continuous):\n    pass",
        "against": "from minibatch.schedulers import Sequential",
    }
    paths = [str(ROOT), str(tmp_path)]
    shown = json.loads(bare(DRAWN.format(paths=paths), json.dumps(asked)))["result"]
    assert shown["steps"] == {"Mine(8)": 13, "Sequential(1)": 14}
    assert "A waits" in shown["html"] or "B waits" in shown["html"]

"""The playground, the arena and some exercises: pages whose Python runs in the reader's browser.
Another such page is another template and script beside these."""

import ast
import base64
import hashlib
import inspect
import re
import shutil
import zipfile
from importlib import metadata
from pathlib import Path

import jinja2
import markupsafe

import minibatch
from minibatch.arena import template_policy
from minibatch.course.exercises.source import stub
from minibatch.course.setup import ROOT
from minibatch.course.site import live_stills
from minibatch.course.site.npm_package import EDITOR, PYODIDE
from minibatch.schedulers import Budget, Continuous, Dynamic, Scheduler, Sequential, Static
from minibatch.simulator.pretend import PretendModel
from minibatch.simulator.workload import agents

SCRIPTS = Path(__file__).with_name("scripts")
ROOMS = [
    "core",
    "memory",
    "schedulers",
    "engine",
    "routers",
    "speculation",
    "simulator",
    "arena",
    "plots",
    "widgets",
    "model",
]
ABOVE = ["__init__.py", "course/__init__.py", "course/site/__init__.py", "wayfarer/__init__.py"]
PACKED = ".py", ".html", ".json"
LOADED = {"pyodide": PYODIDE, "editor": EDITOR}
LICENCES = {
    "Pyodide": "MPL-2.0.txt",
    "CPython": "CPython.txt",
    "Jinja2": "Jinja2.txt",
    "MarkupSafe": "MarkupSafe.txt",
    "Prism code editor": "../editor/LICENSE",
}
_MAKE = """

def make_policy(max_batch_size, max_batch_tokens):
    return MyContinuous(max_batch_size, max_batch_tokens)
"""
OFFERED = Continuous, Budget, Dynamic, Static, Sequential  # on the playground
_SCRIPT = re.compile(r"<script>(.*?)</script>", re.DOTALL)


def write_live(folder: Path) -> bool:
    """Write what these pages load into `folder`/live. False if a package of it is neither in the
    cache nor available by npm."""
    packed = {name: package.tarball() for name, package in LOADED.items()}
    if None in packed.values():
        return False
    live = folder / "live"
    for name, package in LOADED.items():
        package.unpack(packed[name], live / name)
    _licences(live / "licences")
    for script in SCRIPTS.glob("*.mjs"):
        shutil.copy(script, live)
    _zip(live / "course.zip")
    return True


def _licences(folder: Path) -> None:
    folder.mkdir(exist_ok=True)
    for file in SCRIPTS.glob("*.txt"):
        shutil.copy(file, folder)
    for name in ("Jinja2", "MarkupSafe"):
        (path,) = (p for p in metadata.files(name) if p.name.startswith("LICENSE"))
        shutil.copy(path.locate(), folder / LICENCES[name])


def _zip(path: Path) -> None:
    home = Path(minibatch.__file__).parent
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as made:
        files = [home / name for name in ABOVE]
        for room in [*ROOMS, "course/site/in_browser"]:
            files += [p for p in (home / room).rglob("*") if p.suffix in PACKED]
        for file in files:
            made.write(file, file.relative_to(home.parent))
        for package in (jinja2, markupsafe):
            source = Path(package.__file__).parent
            for file in source.glob("*.py"):
                made.write(file, f"{source.name}/{file.name}")


def playground() -> dict[str, object]:
    """What the playground's menus offer."""
    offered = {
        cls.__name__: f"from minibatch.schedulers import {cls.__name__}"
        for cls in reversed(OFFERED)
    }
    return {
        "title": "Playground",
        "script": "playground.mjs",
        "policies": {cls.__name__: source(cls) for cls in OFFERED},
        "against": offered,
        "recorded": live_stills.waits(source(Continuous), offered["Static"], _agents(8)),
        "traffic": {"the eight agents": _agents(8), "fifty agents": _agents(50)},
    }


def arena() -> dict[str, object]:
    """What the arena's menu offers."""
    template = Path(template_policy.__file__).read_text(encoding="utf-8")
    return {
        "title": "Arena",
        "script": "arena.mjs",
        "policies": {"the template": template, "Continuous": source(Continuous) + _MAKE},
        "recorded": live_stills.scores(),
    }


def exercises() -> dict[str, object]:
    """What the menu of the exercises offers: the stubs of three lessons, without 4.3."""
    files = [next((ROOT / "solutions").glob(f"ex{number}_*.py")) for number in ("03", "04", "09")]
    return {
        "title": "Exercises",
        "script": "exercises.mjs",
        "policies": {file.name: _before_a_probe(stub(file.read_text("utf-8"))) for file in files},
        "recorded": live_stills.waits(source(Dynamic), source(Continuous), _agents(8)),
    }


def _before_a_probe(text: str) -> str:
    """Without 4.3, which changes the engine's own files."""
    lines = text.splitlines()
    ends = [i - 1 for i, line in enumerate(lines) if line.startswith("# Exercise 4.3")]
    return "\n".join(lines[: ends[0]] if ends else lines).rstrip() + "\n"


def source(cls: type[Scheduler]) -> str:
    """A policy's file as a reader's own: class "MyStatic", importing from outside the package."""
    text = Path(inspect.getfile(cls)).read_text(encoding="utf-8")
    lines = text.splitlines(keepends=True)[ast.parse(text).body[1].lineno - 1 :]
    code = "".join(lines).replace("from ..", "from minibatch.")
    code = code.replace("from . import", "from minibatch.schedulers import")
    code = code.replace("from .", "from minibatch.schedulers.")
    return code.replace(f"class {cls.__name__}(", f"class My{cls.__name__}(")


def _agents(number: int) -> str:
    """The running example's lengths, a tenth of its prompts, as lines of a reader's list."""
    requests = agents(PretendModel(), number, 0.1)
    return "\n".join(f"{r.request_id}, {len(r.prompt)}, {r.max_tokens}" for r in requests)


def with_hashes(page: str) -> str:
    """The page, whose policy allows exactly the scripts that it contains."""
    digests = [hashlib.sha256(text.encode()).digest() for text in _SCRIPT.findall(page)]
    allowed = " ".join(f"'sha256-{base64.b64encode(digest).decode()}'" for digest in digests)
    return page.replace("CSP_HASH", allowed)

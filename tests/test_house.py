"""The house: its rooms are small enough to read, and its arrows point one way."""

import ast
import io
import re
import subprocess
import sys
import tokenize
from pathlib import Path

import pytest
from committed import committed

import minibatch

PACKAGE = Path(minibatch.__file__).parent
ROOT = PACKAGE.parent
ROOMS = sorted(
    path.parent.relative_to(PACKAGE).as_posix() for path in PACKAGE.glob("*/**/__init__.py")
)
MOST_LINES_OF_A_FILE = 260  # blank lines and comments too: what somebody scrolls through

READING_PATH = """engine/engine.py schedulers/base.py schedulers/sequential.py schedulers/static.py
    schedulers/dynamic.py schedulers/continuous.py core/plan.py core/request.py memory/blocks.py"""
ON_THE_DEVICE = "simple.py tiled.py merge.py write_kv.py shim.py"
HOST_SIDE = "__init__.py gpu.py paged_attention.py tiling.py work_list.py validation.py"

IN_THE_LAB = """__init__.py run_kernel.py substitutes.py threads.py arrays.py races.py faults.py
    time_limit.py"""
OF_A_LAUNCH = "instructions.py report.py judgement.py case.py diagnosis.py"


def within(folder, names):
    return [PACKAGE / folder / name for name in names.split()]


MOST_CODE = {
    "the reading path": (800, within("", READING_PATH)),
    "what runs on the device": (650, within("attention/cuda", ON_THE_DEVICE)),
    "its host side": (350, within("attention/cuda", HOST_SIDE)),
    "the kernel lab, as it runs a kernel": (946, within("kernel_lab", IN_THE_LAB)),
    "what it tells of a launch": (456, within("kernel_lab", OF_A_LAUNCH)),
    "what a compiler's work is": (
        135,
        within("machine_code", "__init__.py compiled.py in_flight.py"),
    ),
}


def code_lines(source):
    """Lines with code on them: not blank, not only a comment, not part of a docstring."""
    lines = set()
    nothing = {
        tokenize.COMMENT,
        tokenize.NL,
        tokenize.NEWLINE,
        tokenize.INDENT,
        tokenize.DEDENT,
        tokenize.ENCODING,
        tokenize.ENDMARKER,
    }
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in nothing:
            lines |= set(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(source)):
        value = node.value if isinstance(node, ast.Expr) else None
        if isinstance(value, ast.Constant) and isinstance(value.value, str):
            lines -= set(range(node.lineno, node.end_lineno + 1))
    return len(lines)


def test_code_lines_leave_out_blanks_comments_and_docstrings():
    source = '''"""Module.

    Two paragraphs."""

import os  # counts


def f(x):
    """Docstring."""
    # a comment
    return """a
text that counts"""
'''
    assert code_lines(source) == 4


@pytest.mark.parametrize("what", MOST_CODE)
def test_what_is_read_in_one_sitting_stays_so(what):
    most, files = MOST_CODE[what]
    counts = {path.relative_to(PACKAGE).as_posix(): code_lines(committed(path)) for path in files}
    table = "\n".join(f"{n:5} {name}" for name, n in sorted(counts.items(), key=lambda x: -x[1]))
    total = sum(counts.values())
    assert total <= most, f"{what}: {total} lines of code, {most} at most\n{table}"


def test_every_kernel_file_is_counted():
    counted = {path for what in MOST_CODE for path in MOST_CODE[what][1]}
    assert set((PACKAGE / "attention" / "cuda").glob("*.py")) <= counted
    assert set((PACKAGE / "kernel_lab").glob("*.py")) <= counted
    assert set((PACKAGE / "machine_code").glob("*.py")) <= counted


def test_no_file_is_two():
    lengths = {
        path.relative_to(PACKAGE).as_posix(): len(committed(path).splitlines())
        for path in PACKAGE.rglob("*.py")
    }
    assert {name: n for name, n in lengths.items() if n > MOST_LINES_OF_A_FILE} == {}


def test_arrows_between_rooms_point_one_way():
    """The contracts stand in pyproject.toml, under tool.importlinter."""
    command = "from importlinter.cli import lint_imports_command as c; c()"
    done = subprocess.run(
        [sys.executable, "-c", command, "--no-cache"], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_room_stands_on_the_map():
    rooms = {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
    text = (PACKAGE / "README.md").read_text(encoding="utf-8")
    assert {room for room in rooms if f"`{room}/`" not in text} == set()


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_names_all_its_files(room):
    """The docstring of its __init__.py is the room's map, a line for each file or sub-package."""
    folder = PACKAGE / room
    described = ast.get_docstring(ast.parse((folder / "__init__.py").read_text("utf-8"))) or ""
    words = set(re.findall(r"[\w/]+(?:\.\w+)?", described))
    files = {path.name for path in folder.glob("*.py")} - {"__init__.py"}
    rooms = {f"{path.parent.name}/" for path in folder.glob("*/__init__.py")}
    assert (files | rooms) - words == set()


def test_every_head_picture_is_returned():
    """They are drawn by hand, when they change; a function that forgets would be found then."""
    tree = ast.parse((ROOT / "lessons" / "images" / "draw.py").read_text(encoding="utf-8"))
    drawing = [f for f in tree.body if isinstance(f, ast.FunctionDef) and f.returns]
    assert len(drawing) > 10
    assert [f.name for f in drawing if not isinstance(f.body[-1], ast.Return)] == []


def test_the_page_for_contributors_names_files_and_tests_that_exist():
    text = (PACKAGE / "CONTRIBUTING.md").read_text(encoding="utf-8")
    names = re.findall(r"`([^`]+)`", text)
    paths = [name for name in names if re.match(r"(lessons|minibatch|solutions|tests|\.ci)/", name)]
    assert len(paths) > 15
    assert [path for path in paths if not (ROOT / path).exists()] == []
    tests = "".join(
        path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("test_*.py")
    )
    named = [name for name in names if name.startswith("test_")]
    assert len(named) > 10
    assert [name for name in named if f"def {name}(" not in tests] == []

"""The engine can be read in an afternoon, and its arrows point one way."""

import ast
import io
import subprocess
import tokenize
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import minibatch

PACKAGE = Path(minibatch.__file__).parent
MOST_LINES = 1500
NAMES = (
    *(
        "request",
        "blocks",
        "plan",
        "intake",
        "engine",
        "invariants",
        "clock",
        "model",
        "compatibility",
    ),
    *("runner", "kv_cache", "sampling", "text", "records", "trace", "metrics"),
)


def engine_files():
    """The engine's source files; the kernels in attention/cuda/ are counted by themselves."""
    files = [PACKAGE / f"{name}.py" for name in NAMES]
    for folder in ("schedulers", "attention"):
        files += sorted((PACKAGE / folder).glob("*.py"))
    return files


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


def imported(path):
    """Full names of the modules a file imports, wherever in it; `from . import x` counts x too."""
    package = ["minibatch", *path.relative_to(PACKAGE).parts[:-1]]
    names = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            home = ".".join([*base, *([node.module] if node.module else [])])
            names |= {home} | {f"{home}.{alias.name}" for alias in node.names}
    return names


def touches(path, *modules):
    return sorted(
        name
        for name in imported(path)
        for module in modules
        if name == module or name.startswith(module + ".")
    )


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


def test_the_scan_of_imports_sees_every_form():
    path = PACKAGE / "engine.py"
    assert {"bisect", "minibatch.attention", "minibatch.schedulers.Scheduler"} <= imported(path)


def committed(path):
    """As the course has it: exercise 4.3 has learners add lines to the engine."""
    command = ["git", "show", f"HEAD:./{path.name}"]
    shown = subprocess.run(command, cwd=path.parent, capture_output=True, encoding="utf-8")
    return path.read_text(encoding="utf-8") if shown.returncode else shown.stdout


def test_the_engine_stays_within_1500_lines_of_code():
    counts = {
        str(path.relative_to(PACKAGE)): code_lines(committed(path)) for path in engine_files()
    }
    table = "\n".join(f"{n:5} {name}" for name, n in sorted(counts.items(), key=lambda x: -x[1]))
    total = sum(counts.values())
    assert total <= MOST_LINES, f"{total} lines of code; the engine may have {MOST_LINES}\n{table}"


def test_imports_run_in_no_circle_not_even_for_type_checkers():
    def module(path):
        parts = ("minibatch", *path.relative_to(PACKAGE).with_suffix("").parts)
        return ".".join(parts).removesuffix(".__init__")

    own = {module(path): path for path in PACKAGE.rglob("*.py") if path.parent != PACKAGE / "setup"}
    del own["minibatch"]  # the public face names everything
    graph = {name: (imported(path) & own.keys()) - {name} for name, path in own.items()}
    for name, below in graph.items():  # inside a package, `.x` is that file, not the package
        below.discard(name.rpartition(".")[0])
    TopologicalSorter(graph).prepare()  # raises CycleError, naming the circle


@pytest.mark.parametrize(
    "path",
    [
        *(PACKAGE / f"{name}.py" for name in ("request", "blocks", "plan", "clock")),
        *sorted((PACKAGE / "schedulers").glob("*.py")),
    ],
    ids=lambda path: path.name,
)
def test_policies_and_books_know_nothing_of_torch(path):
    assert touches(path, "torch", "transformers", "numpy") == []
    assert touches(path, "minibatch.attention", "minibatch.runner", "minibatch.model") == []


@pytest.mark.parametrize("path", engine_files(), ids=lambda path: path.name)
def test_the_engine_knows_nothing_of_plots_widgets_or_course(path):
    assert touches(path, "minibatch.plots", "minibatch.widgets", "minibatch.course") == []
    assert touches(path, "matplotlib", "ipywidgets", "IPython") == []


@pytest.mark.parametrize(
    "path", sorted((PACKAGE / "attention").glob("*.py")), ids=lambda path: path.name
)
def test_attention_knows_nothing_of_the_schedulers(path):
    assert touches(path, "minibatch.schedulers", "minibatch.engine", "minibatch.trace") == []

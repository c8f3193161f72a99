"""Starts JupyterLab and pytest in the environment that set-up has found or made."""

import os
import sys
from pathlib import Path

from minibatch.setup import ROOT
from minibatch.setup.process import run


def lab(arguments: list[str]) -> int:
    """Open JupyterLab on this checkout; `arguments` go to it and win over ours."""
    return run([sys.executable, "-m", "jupyterlab", *lab_options(ROOT), *arguments])


def lab_options(root: Path) -> list[str]:
    """Root and first page; reachable from this computer only; no news, no look for updates."""
    as_root = hasattr(os, "geteuid") and os.geteuid() == 0  # in a container, as a rule
    return [
        *(["--allow-root"] if as_root else []),
        f"--ServerApp.root_dir={root}",
        "--ServerApp.ip=localhost",
        f"--LabApp.default_url=/lab/tree/{first_page(root)}",
        "--LabApp.news_url=None",
        "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
    ]


def first_page(root: Path) -> str:
    """The first lesson in reading order; the README as long as there is none."""
    lessons = sorted((root / "lessons").glob("*.ipynb"))
    return f"lessons/{lessons[0].name}" if lessons else "README.md"


def test(arguments: list[str]) -> int:
    """Run pytest in the repository's root and return its exit status (5: it found no test)."""
    return run([sys.executable, "-m", "pytest", *arguments], cwd=ROOT)


def ready(arguments: list[str]) -> int:
    """Say that all is installed: the set-up that `setup` stands for has run by now."""
    if arguments:
        print(f"python -m minibatch setup does not know {' '.join(arguments)}", file=sys.stderr)
        return 2
    print(f"Ready: {sys.executable}")
    return 0

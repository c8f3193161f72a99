"""A button that opens a file beside the notebook, by one of JupyterLab's own commands in HTML.

In a trusted notebook, JupyterLab runs the command in `data-commandlinker-command` when its element
is pressed. On other pages the button has no effect, so the file's name is always shown, too.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

from jupyter_core.paths import jupyter_runtime_dir

from minibatch.course.setup import ROOT


def open_beside(path: Path) -> dict[str, str]:
    """The button's HTML attributes; {} for a file outside the Jupyter server's folder."""
    try:
        inside = path.resolve().relative_to(_server_root().resolve()).as_posix()
    except ValueError:
        return {}
    arguments = {"path": inside, "options": {"mode": "split-right"}}
    return {
        "data-commandlinker-command": "docmanager:open",
        "data-commandlinker-args": json.dumps(arguments),
    }


def _server_root() -> Path:
    """The root folder of this kernel's Jupyter server; if it is unknown, the course's folder."""
    server = os.environ.get("JPY_PARENT_PID", "none")
    try:
        text = Path(jupyter_runtime_dir(), f"jpserver-{server}.json").read_text(encoding="utf-8")
        return Path(json.loads(text)["root_dir"])
    except (OSError, ValueError, KeyError):
        return ROOT

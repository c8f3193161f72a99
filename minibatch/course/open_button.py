"""A button that opens a file beside the notebook: JupyterLab's own command, asked for in HTML.

JupyterLab runs the command of a `data-commandlinker-command` in a trusted notebook when its element
is pressed; to other pages it is a button without effect, so the file is always named as well.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

from jupyter_core.paths import jupyter_runtime_dir

from minibatch.course.setup import ROOT


def open_beside(path: Path) -> dict[str, str]:
    """The attributes of such a button; none for a file that this kernel's server does not show."""
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
    """The folder that the Jupyter server of this kernel shows; where it does not tell, ours."""
    server = os.environ.get("JPY_PARENT_PID", "none")
    try:
        told = Path(jupyter_runtime_dir(), f"jpserver-{server}.json").read_text(encoding="utf-8")
        return Path(json.loads(told)["root_dir"])
    except (OSError, ValueError, KeyError):
        return ROOT

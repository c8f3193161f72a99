"""The recording of record.py, made now, in a process of .venv-ray: the caller needs no Ray."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

NO_RAY = "Ray is not installed here. Type this in a terminal: python -m minibatch setup --ray"
ROOT = Path(__file__).parents[2]  # of the checkout
SECONDS = 300.0  # a recording takes one to two minutes


def live(root: Path = ROOT, seconds: float = SECONDS) -> dict[str, object] | None:
    """Start two replicas, send requests, and kill one replica; returns what recorded.json has.

    Without Ray, prints how to install it and returns None. root: the folder of .venv-ray. Raises
    RuntimeError, with the last lines of the process, if it fails.
    """
    python = root / ".venv-ray" / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    if not python.exists():
        print(NO_RAY)
        return None
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "live.json"
        command = [str(python), "-m", "minibatch.ray_serve.record", str(file)]
        print("Ray starts two replicas, and one is killed: one to two minutes.")
        sys.stdout.flush()
        done = subprocess.run(
            command, cwd=root, capture_output=True, text=True, timeout=seconds, check=False
        )
        if done.returncode or not file.exists():
            last = "\n".join((done.stdout + done.stderr).splitlines()[-12:])
            raise RuntimeError(f"the recording failed:\n{last}")
        return json.loads(file.read_text(encoding="utf-8"))

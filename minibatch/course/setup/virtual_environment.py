"""The .venv of a checkout, or its .venv-ray; and the stamp there that says what it was made from.

The stamp is written last. So set-up can distinguish an interrupted install, one of older locks, and
one that was moved with its folder, and completes each.
"""

import hashlib
import json
import os
import shutil
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from minibatch.course.setup import LOCKS, ROOT, computer
from minibatch.course.setup.findings import SetupError
from minibatch.course.setup.process import run


class State(StrEnum):
    """The state of a .venv; the value describes it in words."""

    FINISHED = "finished"
    ABSENT = "not there"
    INTERRUPTED = "not finished: its install was interrupted"
    OUTDATED = "older than locks/: the course now asks for other versions"
    MOVED = "made for another folder: the course was moved or renamed"


@dataclass(frozen=True, slots=True)
class Parts:
    """The parts of an environment. builds: PyTorch's, "cpu" or "cuda"; compiler: whether it has the
    CUDA kernels' compiler, which "cuda" always includes; ray: whether it has Ray."""

    builds: str = "cpu"
    compiler: bool = False
    ray: bool = False

    @property
    def locks(self) -> list[str]:
        """The files in locks/ that name and pin every package."""
        base = ["cuda.txt"] if self.builds == "cuda" else ["cpu.txt"]
        if self.compiler and self.builds == "cpu":
            base.append("compiler.txt")
        return [*base, "ray.txt"] if self.ray else base


@dataclass(frozen=True, slots=True)
class VirtualEnvironment:
    """The .venv of the checkout at `root`; with `ray`, its .venv-ray. They are two, because Ray may
    one day ask for another version of a package than the course."""

    root: Path = ROOT
    ray: bool = False

    @property
    def folder(self) -> Path:
        """Its folder, whether it exists or not."""
        return self.root / (".venv-ray" if self.ray else ".venv")

    @property
    def python(self) -> Path:
        """Its interpreter."""
        return self.folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")

    @property
    def stamp(self) -> Path:
        """The file with what it was made from, or that it is not finished."""
        return self.folder / "minibatch-setup.json"

    @property
    def log(self) -> Path:
        """The output of venv and pip."""
        return self.folder / "minibatch-setup.log"

    @property
    def is_running(self) -> bool:
        """Whether this process runs in it."""
        return self.folder.is_dir() and os.path.samefile(sys.prefix, self.folder)

    @property
    def parts(self) -> Parts:
        """Its parts, or those that it will have when it is finished."""
        stamp = self._read_stamp()
        return Parts(str(stamp.get("builds", "cpu")), bool(stamp.get("compiler")), self.ray)

    def state(self) -> State:
        """Its state, read from its stamp."""
        stamp = self._read_stamp()
        if not stamp or not self.python.exists():
            return State.ABSENT
        if "locks" not in stamp:
            return State.INTERRUPTED
        if stamp["locks"] != self._fingerprint(self.parts):
            return State.OUTDATED
        return State.FINISHED if stamp.get("root") == str(self.root) else State.MOVED

    def works(self) -> bool:
        """Whether its Python starts, is a supported version, and has pip."""
        oldest, newest = computer.OLDEST_PYTHON, computer.NEWEST_PYTHON
        question = f"import sys, pip; sys.exit(not {oldest} <= sys.version_info[:2] <= {newest})"
        try:
            answer = subprocess.run([str(self.python), "-I", "-c", question], capture_output=True)
        except OSError:
            return False
        return answer.returncode == 0

    def make(self) -> None:
        """Make it; an old one of ours is replaced. Raises SetupError for one that is not ours."""
        if self.folder.exists() and not self.stamp.exists():
            raise SetupError(
                f"{self.folder} was not made by this set-up and cannot be used: it has no pip, or "
                "a Python that is not supported. Rename or remove the folder, then run this again."
            )
        parts = self.parts
        shutil.rmtree(self.folder, ignore_errors=True)
        try:
            self.folder.mkdir(parents=True)
        except FileExistsError:
            raise SetupError(
                f"{self.folder} is broken and must be replaced, but it cannot be removed. Close "
                "the programs that run from this folder (JupyterLab, any Python process), remove "
                "the folder, then run this again."
            ) from None
        self.mark_unfinished(parts)
        if run([sys.executable, "-I", "-m", "venv", self.folder]) != 0 or not self.works():
            raise SetupError(
                f"Python could not make {self.folder}. Its output is above; on Debian and "
                "Ubuntu, the package python3-venv is often missing."
            )

    def mark_unfinished(self, parts: Parts) -> None:
        """Write the stamp of an unfinished install, so that the next run finishes it."""
        self._write_stamp({"builds": parts.builds, "compiler": parts.compiler})

    def mark_finished(self, parts: Parts) -> None:
        """Write the stamp of a finished install: the last step."""
        self._write_stamp(
            {
                "builds": parts.builds,
                "compiler": parts.compiler,
                "locks": self._fingerprint(parts),
                "root": str(self.root),  # the package is installed as a path to it
            }
        )

    def torch(self) -> str:
        """The name of its PyTorch's metadata, such as torch-2.13.0+cpu.dist-info."""
        return next((path.name for path in self.folder.rglob("torch-*.dist-info")), "")

    def size_bytes(self) -> int:
        """The bytes of its files. pip may be running: a file that has gone counts as 0."""
        total = 0
        for folder, _, names in os.walk(self.folder):
            for name in names:
                with suppress(FileNotFoundError):
                    total += os.lstat(os.path.join(folder, name)).st_size
        return total

    def _fingerprint(self, parts: Parts) -> str:
        """A digest of the locks' lines. Comments and line ends do not change it."""
        digest = hashlib.sha256()
        files = [self.root / LOCKS / name for name in parts.locks]
        for file in files:
            text = file.read_text(encoding="utf-8") if file.is_file() else ""
            for line in text.splitlines():
                if line.strip() and not line.lstrip().startswith("#"):
                    digest.update(line.strip().encode() + b"\n")
        return digest.hexdigest()

    def _write_stamp(self, made_from: dict[str, object]) -> None:
        self.stamp.write_text(json.dumps(made_from, indent=2) + "\n", encoding="utf-8")

    def _read_stamp(self) -> dict[str, object]:
        try:
            return json.loads(self.stamp.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}

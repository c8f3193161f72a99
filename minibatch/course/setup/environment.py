"""Which Python the course runs in, and how .venv comes to be.

    this environment meets pyproject.toml's bounds -> run here; nothing is installed
    .venv is finished                              -> run there
    otherwise                                      -> look at the computer, finish .venv, run there

A stamp in .venv says what it was made from. It is written last, so an install that was cut short,
a newer requirements.txt and a moved checkout all read as "not finished"; finishing is one pip call.
"""

import hashlib
import json
import os
import shutil
import subprocess
import sys
import urllib.request
from dataclasses import dataclass
from pathlib import Path

from minibatch.course.setup import ROOT, findings, machine
from minibatch.course.setup.bounds import unmet
from minibatch.course.setup.findings import SetupError
from minibatch.course.setup.process import run

CPU_INDEX = "https://download.pytorch.org/whl/cpu"
_UNPACKED_PER_WHEEL_BYTE = 3


@dataclass(frozen=True, slots=True)
class Options:
    """What the learner asked of set-up on the command line."""

    wheels: Path | None = None  # a folder to install from, instead of the network
    cpu: bool = False  # PyTorch's CPU builds, come what may
    numba_cuda: bool = False  # the CUDA compiler too, whether or not there is a GPU
    venv: bool = False  # .venv, even where the running environment would do

    @property
    def extras(self) -> tuple[str, ...]:
        """The extras of pyproject.toml that were asked for."""
        return ("cuda",) if self.numba_cuda else ()


@dataclass(frozen=True, slots=True)
class VirtualEnvironment:
    """The .venv of the checkout at `root`."""

    root: Path = ROOT

    @property
    def folder(self) -> Path:
        """Where it stands or will stand."""
        return self.root / ".venv"

    @property
    def python(self) -> Path:
        """Its interpreter."""
        return self.folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")

    @property
    def stamp(self) -> Path:
        """The file that says what it was made from, or that it is not finished."""
        return self.folder / "minibatch-setup.json"

    @property
    def is_running(self) -> bool:
        """Whether this very process runs in it."""
        return self.folder.is_dir() and os.path.samefile(sys.prefix, self.folder)

    @property
    def extras(self) -> tuple[str, ...]:
        """The extras it has, or is to have once it is finished."""
        return tuple(self._read_stamp().get("extras", ()))

    def is_finished(self, extras: tuple[str, ...] = ()) -> bool:
        """Whether it holds what requirements.txt says today, for this folder, and `extras`."""
        made_from = self._read_stamp()
        return (
            self.python.exists()
            and made_from == self._stamp_for(self.extras)
            and set(extras) <= set(self.extras)
        )

    def works(self) -> bool:
        """Whether its Python starts, is one that we support, and has pip."""
        oldest, newest = machine.OLDEST_PYTHON, machine.NEWEST_PYTHON
        question = f"import sys, pip; sys.exit(not {oldest} <= sys.version_info[:2] <= {newest})"
        try:
            answer = subprocess.run([str(self.python), "-I", "-c", question], capture_output=True)
        except OSError:
            return False
        return answer.returncode == 0

    def make(self) -> None:
        """Make it, anew if what stands there is ours; another's is not deleted but a SetupError."""
        if self.folder.exists() and not self.stamp.exists():
            raise SetupError(
                f"{self.folder} was not made by this set-up and cannot be used: it has no pip, or "
                "a Python that is not supported. Rename or remove it, then run this again."
            )
        extras = self.extras
        shutil.rmtree(self.folder, ignore_errors=True)
        try:
            self.folder.mkdir(parents=True)
        except FileExistsError:
            raise SetupError(
                f"{self.folder} cannot be removed, though it is broken. End what still runs from "
                "it (JupyterLab, a Python), remove it, then run this again."
            ) from None
        self.mark_unfinished(extras)
        if run([sys.executable, "-I", "-m", "venv", self.folder]) != 0 or not self.works():
            raise SetupError(
                f"Python could not make {self.folder}. What it said stands above; on Debian and "
                "Ubuntu the package python3-venv is often what is missing."
            )

    def mark_unfinished(self, extras: tuple[str, ...] = ()) -> None:
        """From here on an interruption leaves something that the next run finishes."""
        self._write_stamp({"extras": sorted(extras)})

    def mark_finished(self, extras: tuple[str, ...]) -> None:
        """The last act of an install."""
        self._write_stamp(self._stamp_for(extras))

    def size_bytes(self) -> int:
        """What it takes on the disk already."""
        return sum(path.lstat().st_size for path in self.folder.rglob("*"))

    def _stamp_for(self, extras: tuple[str, ...]) -> dict[str, object]:
        pinned = (self.root / "requirements.txt").read_bytes().replace(b"\r\n", b"\n")
        return {
            "requirements": hashlib.sha256(pinned).hexdigest(),
            "root": str(self.root),  # the editable install points at it
            "extras": sorted(extras),
        }

    def _write_stamp(self, made_from: dict[str, object]) -> None:
        self.stamp.write_text(json.dumps(made_from, indent=2) + "\n", encoding="utf-8")

    def _read_stamp(self) -> dict[str, object]:
        try:
            return json.loads(self.stamp.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}


def find(options: Options, root: Path = ROOT) -> Path | None:
    """The Python that can run the course as things stand; None if there is none yet."""
    venv = VirtualEnvironment(root)
    here = Path(sys.executable)
    if venv.is_running:
        made_by_hand = not venv.stamp.exists() and not unmet(root, options.extras)
        return here if made_by_hand or venv.is_finished(options.extras) else None
    if not options.venv and not unmet(root, options.extras):
        return here
    return venv.python if venv.is_finished(options.extras) else None


def finish(options: Options, root: Path = ROOT) -> Path:
    """Make or finish .venv and return its Python. Raises SetupError, early if it can."""
    venv = VirtualEnvironment(root)
    gpu = machine.gpu_name()
    extras = {*venv.extras, *options.extras}
    if gpu and not options.cpu and _has_cuda_compiler(options.wheels):
        extras.add("cuda")
    source, install_bytes = _source(options, gpu)

    print(f"Setting up minibatch. This installs requirements.txt into {venv.folder},")
    print(f"{source.description}.")
    if "cuda" in extras:
        print(f"The compiler of the CUDA kernels comes with it ({gpu or 'asked for'}).")
    already = venv.size_bytes() if venv.folder.is_dir() else 0
    looks = machine.looks(max(install_bytes - already, machine.GB // 2), root)
    for finding in looks:
        findings.show(finding)
    if findings.failed(looks):
        raise SetupError("Nothing was downloaded or changed.")

    if venv.is_running or venv.works():
        print("[1/2] .venv is there; finishing what is missing.")
    else:
        print("[1/2] Making .venv.")
        venv.make()
    print("[2/2] Installing requirements.txt.")
    venv.mark_unfinished(tuple(extras))
    # -I: pip must not take what PYTHONPATH or the current folder offers for installed.
    pip = [venv.python, "-I", "-m", "pip", "install", "--disable-pip-version-check"]
    extra = ["-e", f".[{','.join(sorted(extras))}]"] if extras else []
    status = run([*pip, *source.pip_options, "-r", "requirements.txt", *extra], cwd=root)
    if status != 0:
        raise SetupError(
            f"pip stopped with status {status}; what it said stands above. Run the same command "
            "again: it goes on from here. Without a network: --wheels DIR."
        )
    venv.mark_finished(tuple(extras))
    print("Set up.")
    return venv.python


def _has_cuda_compiler(wheels: Path | None) -> bool:
    """A folder of wheels may lack it; the lessons do without. From the network it can be had."""
    return wheels is None or any(wheels.glob("numba_cuda-*.whl"))


@dataclass(frozen=True, slots=True)
class _Source:
    """Where pip takes packages from."""

    description: str
    pip_options: tuple[str | Path, ...] = ()


def _source(options: Options, gpu: str | None) -> tuple[_Source, int]:
    """Where from, and how many bytes the whole will take once unpacked."""
    if options.wheels is not None:
        folder = options.wheels.resolve()
        packed = sum(wheel.stat().st_size for wheel in folder.glob("*.whl"))
        if packed == 0:
            raise SetupError(f"--wheels {options.wheels}: there is no .whl file in {folder}.")
        pip_options = ("--no-index", "--find-links", folder)
        return _Source(f"from {folder}", pip_options), _UNPACKED_PER_WHEEL_BYTE * packed

    # On Linux the torch of PyPI brings several GB of NVIDIA's libraries, of no use without a GPU.
    if options.cpu or (sys.platform == "linux" and gpu is None):
        if _answers(f"{CPU_INDEX}/torch/"):
            pip_options = ("--extra-index-url", CPU_INDEX)
            description = f"with PyTorch's CPU builds, about 0.6 GB to download ({CPU_INDEX})"
            return _Source(description, pip_options), machine.CPU_INSTALL_BYTES
        if options.cpu:
            raise SetupError(f"--cpu: {CPU_INDEX} does not answer. Try again, or leave --cpu out.")
        description = (
            f"as pip is set up here: {CPU_INDEX} does not answer,\n"
            "and PyPI's own PyTorch for Linux brings several GB of CUDA libraries along"
        )
        return _Source(description), machine.CUDA_INSTALL_BYTES
    if sys.platform == "linux":
        return _Source("with PyTorch for CUDA, several GB to download"), machine.CUDA_INSTALL_BYTES
    return _Source("about 0.6 GB to download"), machine.CPU_INSTALL_BYTES


def _answers(address: str) -> bool:
    """Whether a web server is there, within two seconds."""
    try:
        with urllib.request.urlopen(urllib.request.Request(address, method="HEAD"), timeout=2):
            return True
    except (OSError, ValueError):
        return False

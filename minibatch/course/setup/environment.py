"""Decides which Python the course runs in, and makes .venv; or, with --ray, .venv-ray.

    this environment meets pyproject.toml's bounds -> run here; nothing is installed
    .venv is finished                              -> run there
    otherwise                                      -> look at the computer, finish .venv, run there

locks/ names every package, its version and its hashes. Builds for NVIDIA's GPUs take ten times the
disk space, so they are installed only with --cuda, and never because a GPU was found.
"""

import os
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from minibatch.course.setup import LOCKS, ROOT, computer, findings
from minibatch.course.setup.bounds import unmet
from minibatch.course.setup.findings import SetupError
from minibatch.course.setup.pip_progress import described
from minibatch.course.setup.process import run, watch
from minibatch.course.setup.virtual_environment import Parts, State, VirtualEnvironment

CPU_INDEX = "https://download.pytorch.org/whl/cpu"
CUDA_INDEX = "https://download.pytorch.org/whl/cu130"
TORCH = "2.13.0"
CPU_SIZES = "0.4 GB to download, 1.7 GB on the disk"
CUDA_SIZES = "3 GB to download, about 6.2 GB on the disk"
RAY_SIZES = "; for Ray 0.1 GB and 0.3 GB more"
_WHEELHOUSE = Path(__file__).with_name("wheelhouse.py")


@dataclass(frozen=True, slots=True)
class Options:
    """The options of set-up on the command line."""

    wheels: Path | None = None  # a folder to install from, instead of the network
    cpu: bool = False  # PyTorch's CPU builds, also if .venv has those for CUDA
    cuda: bool = False  # PyTorch's builds for CUDA, and the compiler of the kernels
    numba_cuda: bool = False  # that compiler alone
    venv: bool = False  # .venv, even if the running environment meets the bounds
    ray: bool = False  # .venv-ray, which has Ray as well, in place of .venv

    def parts(self, before: Parts) -> Parts:
        """The parts to install: those before, changed by these options."""
        if self.cpu and self.cuda:
            raise SetupError("--cpu and --cuda exclude each other; give one")
        builds = "cuda" if self.cuda else "cpu" if self.cpu else before.builds
        return Parts(builds, self.numba_cuda or self.cuda or before.compiler, self.ray)

    @property
    def extras(self) -> tuple[str, ...]:
        """The optional dependencies in pyproject.toml that are asked for."""
        cuda = ("cuda",) if self.numba_cuda or self.cuda else ()
        return (*cuda, "ray") if self.ray else cuda


def find(options: Options, root: Path = ROOT) -> Path | None:
    """The Python that can run the course now; None if there is none yet."""
    venv = VirtualEnvironment(root, options.ray)
    here = Path(sys.executable)
    is_enough = options.parts(venv.parts) == venv.parts and venv.state() is State.FINISHED
    extras = options.extras
    if venv.is_running:
        made_by_hand = not venv.stamp.exists() and not unmet(root, extras)
        return here if made_by_hand or is_enough else None
    if not options.venv and not unmet(root, extras):
        return here
    return venv.python if is_enough else None


def finish(options: Options, root: Path = ROOT) -> Path:
    """Make or finish .venv and return its Python. Raises SetupError, if possible before an
    install."""
    venv = VirtualEnvironment(root, options.ray)
    parts = options.parts(venv.parts)
    for name in parts.locks:
        if not (root / LOCKS / name).is_file():
            raise SetupError(f"{LOCKS / name} is missing: {root} is not the whole course.")
    state = venv.state()
    if parts.builds == "cuda" and sys.platform == "darwin":
        raise SetupError("--cuda: there is no CUDA on macOS. Leave it out.")
    if not os.access(root, os.W_OK):
        raise SetupError(
            f"{root} cannot be written to, so no .venv can be made in it. Copy the folder to a "
            "place where you can write, or run this with a Python that already has the packages."
        )
    if state is State.MOVED and parts == venv.parts and venv.works():
        print(f"This folder was moved or renamed: writing the new path into {venv.folder.name}.")
        _install_package(venv)
        venv.mark_finished(parts)
        return venv.python
    sizes, install_bytes = _sizes(options.wheels, parts)
    print(f"Installing minibatch in {venv.folder}: {sizes}.")
    gpu = computer.gpu_name() if parts.builds == "cpu" else None
    if gpu and not options.cpu:
        print(f"There is an {gpu}. The lessons do not need it; to use it: setup --cuda")
        print(f"({CUDA_SIZES}).")
    already = venv.size_bytes() if venv.folder.is_dir() else 0
    looks = computer.looks(max(install_bytes - already, computer.GB // 2), root)
    for finding in looks:
        findings.show(finding)
    if findings.failed(looks):
        raise SetupError("Nothing was downloaded or changed.")

    if venv.is_running or venv.works():
        why = "adding what you requested" if state is State.FINISHED else state
        print(f"[1/4] {venv.folder.name} is there; {why}.", flush=True)
    else:
        print(f"[1/4] Making {venv.folder.name}.", flush=True)
        venv.make()
    venv.mark_unfinished(parts)
    _install(options.wheels, parts, venv)
    venv.mark_finished(parts)
    print("Set up.")
    return venv.python


def _install(wheels: Path | None, parts: Parts, venv: VirtualEnvironment) -> None:
    locks = [venv.root / LOCKS / name for name in parts.locks]
    torch, index = torch_of_its_own_index(parts, sys.platform)
    if wheels is not None:
        command = [venv.python, "-I", _WHEELHOUSE, wheels.resolve(), torch, *locks]
        if run(command) != 0:
            raise SetupError(
                f"{wheels} lacks the packages named above. With a network, this fills it: python "
                f"-m minibatch wheels DIR --python {sys.version.split()[0]}"
            )
    place = ["--no-index", "--find-links", wheels.resolve()] if wheels is not None else []
    print("[2/4] Installing the packages.", flush=True)
    if sys.platform == "linux" and parts.builds == "cuda" and "+cpu" in venv.torch():
        # pip treats 2.13.0+cpu as 2.13.0, and would keep it.
        _pip(venv, ["-y", "torch"], action="uninstall")
    named = [part for lock in locks for part in ("-r", lock)]
    _pip(venv, ["--require-hashes", "--no-deps", *place, *named])
    print("[3/4] Installing PyTorch." if torch else "[3/4] PyTorch is installed.", flush=True)
    if torch:
        if wheels is None:
            place = ["--retries", "2", "--extra-index-url", index]
        _pip(venv, ["--no-deps", *place, torch], f"pip looks for {torch} at {index}. ")
    print("[4/4] Installing minibatch itself.", flush=True)
    _install_package(venv)


def _install_package(venv: VirtualEnvironment) -> None:
    """Install the package as a path to this folder. setuptools is already in .venv, so this does
    not need a network."""
    _pip(venv, ["--no-index", "--no-build-isolation", "--no-deps", "-e", venv.root])


def _pip(
    venv: VirtualEnvironment,
    arguments: Sequence[str | Path],
    besides: str = "",
    action: str = "install",
) -> None:
    # -I: pip must not treat packages on PYTHONPATH or in the current folder as installed.
    pip = [venv.python, "-I", "-u", "-m", "pip", action, "--disable-pip-version-check"]

    locks = [part for part in arguments if isinstance(part, Path) and part.suffix == ".txt"]
    num_pins = sum(len(re.findall(r"^[\w.-]+==", lock.read_text("utf-8"), re.M)) for lock in locks)

    def progress() -> str:
        log = venv.log.read_text(encoding="utf-8", errors="replace")
        size = f"{venv.size_bytes() / computer.GB:.2f} GB in {venv.folder.name}"
        return f"{size}; {described(log, venv.folder, num_pins)}"

    status = watch([*pip, *arguments], venv.log, progress, cwd=venv.root)
    if status != 0:
        last = venv.log.read_text(encoding="utf-8", errors="replace").splitlines()[-12:]
        raise SetupError(
            "\n".join(
                [*last, "", f"pip stopped with status {status}; its whole output is in {venv.log}."]
            )
            + (f" {besides}" if besides else "")
            + " Run the same command again: it continues from here. Without a network: --wheels "
            "DIR."
        )


def torch_of_its_own_index(parts: Parts, platform: str) -> tuple[str, str]:
    """(PyTorch's requirement, index) if PyPI does not have this build; otherwise ("", "").

    The version names one build only: PyPI's own build for Linux needs gigabytes of CUDA.
    """
    if platform == "linux" and parts.builds == "cpu":
        return f"torch=={TORCH}+cpu", CPU_INDEX
    if platform == "win32" and parts.builds == "cuda":
        return f"torch=={TORCH}+cu130", CUDA_INDEX
    return "", ""


def _sizes(wheels: Path | None, parts: Parts) -> tuple[str, int]:
    """What the install needs, in words, and its bytes on the disk."""
    needed = computer.CUDA_INSTALL_BYTES if parts.builds == "cuda" else computer.CPU_INSTALL_BYTES
    needed += computer.RAY_INSTALL_BYTES if parts.ray else 0
    if wheels is None:
        builds = {"cpu": f"for the CPU, {CPU_SIZES}", "cuda": f"for CUDA, {CUDA_SIZES}"}
        return builds[parts.builds] + (RAY_SIZES if parts.ray else ""), needed
    folder = wheels.resolve()
    if not any(folder.glob("*.whl")):
        raise SetupError(f"--wheels {wheels}: there is no .whl file in {folder}.")
    return f"from {folder}", needed

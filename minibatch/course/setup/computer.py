"""Checks of this computer before any download: can the course be installed on it?"""

import os
import platform
import shutil
import socket
import subprocess
import sys
import sysconfig
from importlib.util import find_spec
from pathlib import Path

from minibatch.course.setup.findings import Finding, failure, fine, warning
from minibatch.memory.available import available_bytes

OLDEST_PYTHON = (3, 11)
NEWEST_PYTHON = (3, 14)  # the newest that torch 2.13 and numba 0.68 have wheels for

OLDEST_MACOS = 14  # of torch 2.13's wheels

GB = 10**9
CPU_INSTALL_BYTES = 1_700_000_000  # .venv, as set-up makes it on Linux
RAY_INSTALL_BYTES = 300_000_000  # what .venv-ray has besides
CUDA_INSTALL_BYTES = 6_200_000_000  # torch brings NVIDIA's libraries unless it is a CPU build
COMFORTABLE_MEMORY_BYTES = 2 * GB
JUPYTER_PORT = 8888

_GET_PYTHON = "Install one from https://www.python.org/downloads/ and use it."


def looks(install_bytes: int, folder: Path) -> list[Finding]:
    """System, Python, venv and disk, for an install that still needs `install_bytes`."""
    return [system(), python(), venv_module(), disk(folder, install_bytes)]


def system() -> Finding:
    """Whether the packages we need are published for this operating system and processor."""
    name, processor = platform.system(), platform.machine()
    seen = f"{platform.platform(terse=True)}, {processor}, {os.cpu_count()} CPU cores"
    if name == "Darwin" and processor == "x86_64":
        return failure(
            "system",
            f"{seen}; PyTorch is no longer published for Intel Macs",
            "On Apple silicon, use an arm64 Python; otherwise use Colab or another machine.",
        )
    if name == "Darwin" and int(platform.mac_ver()[0].partition(".")[0] or 99) < OLDEST_MACOS:
        return failure(
            "system",
            f"{seen}; PyTorch is published for macOS {OLDEST_MACOS} and newer",
            "Update macOS; otherwise use Colab or another machine.",
        )
    if name == "Windows" and processor.upper() == "ARM64":
        return failure(
            "system",
            f"{seen}; PyTorch and numba are not published for Windows on ARM",
            "Use the 64-bit Intel (x86-64) Python from python.org, which Windows emulates.",
        )
    if name == "Linux" and "musl" in (sysconfig.get_config_var("HOST_GNU_TYPE") or ""):
        return failure(
            "system",
            f"{seen}, musl libc; PyTorch is published for glibc only",
            "Use a glibc distribution or image, such as Debian, instead of Alpine.",
        )
    return fine("system", seen)


def python() -> Finding:
    """Whether the pinned packages have wheels for the running Python."""
    bits = 64 if sys.maxsize > 2**32 else 32
    seen = f"{platform.python_version()}, {bits}-bit, {sys.executable}"
    supported = f"{_dotted(OLDEST_PYTHON)} to {_dotted(NEWEST_PYTHON)}"
    if not OLDEST_PYTHON <= sys.version_info[:2] <= NEWEST_PYTHON:
        return failure("Python", f"{seen}; the packages need {supported}", _GET_PYTHON)
    if bits == 32:
        return failure("Python", f"{seen}; the packages need a 64-bit Python", _GET_PYTHON)
    return fine("Python", seen)


def venv_module() -> Finding:
    """Whether this Python can make virtual environments; Debian's default one cannot."""
    if find_spec("venv") and find_spec("ensurepip"):
        return fine("venv", "this Python can make virtual environments")
    version = _dotted(sys.version_info[:2])
    return failure(
        "venv",
        "this Python cannot make virtual environments (no ensurepip)",
        f"On Debian and Ubuntu: sudo apt install python{version}-venv. Then run this again.",
    )


def disk(folder: Path, install_bytes: int) -> Finding:
    """Whether `install_bytes` fit on the disk of `folder`."""
    free = shutil.disk_usage(folder).free
    seen = f"{_gb(free)} free"
    if free >= install_bytes:
        return fine("disk", f"{seen}, {_gb(install_bytes)} needed" if install_bytes else seen)
    return failure(
        "disk",
        f"{seen} at {folder}, {_gb(install_bytes)} needed: {_gb(install_bytes - free)} missing",
        "Free some space, or move this folder to a larger disk.",
    )


def memory() -> Finding:
    """Whether a lesson and JupyterLab fit into the free memory."""
    available = available_bytes()
    if available is None:
        return warning("memory", "cannot tell how much is free", "The lessons need about 2 GB.")
    if available < COMFORTABLE_MEMORY_BYTES:
        return warning(
            "memory",
            f"{_gb(available)} free; a lesson with JupyterLab needs about 2 GB",
            "Close other programs, and shut down notebooks you no longer use.",
        )
    return fine("memory", f"{_gb(available)} free")


def processors() -> Finding:
    """Whether other programs use the CPU. PyTorch's threads spin while they wait for each other, so
    one lost core stops them all: on two busy cores a step took 100 times as long."""
    cores = os.cpu_count() or 1
    try:
        busy = os.getloadavg()[0]  # processes that ran or waited for a core, over the last minute
    except (AttributeError, OSError):
        return fine("CPU", f"{cores} cores")
    if cores > 1 and busy > cores - 0.5:
        return warning(
            "CPU",
            f"{busy:.1f} processes on {cores} cores in the last minute",
            "If lessons are slow: close the other programs, or set OMP_NUM_THREADS=1.",
        )
    return fine("CPU", f"{cores} cores, {busy:.1f} of them busy in the last minute")


def port(number: int = JUPYTER_PORT) -> Finding:
    """Whether JupyterLab's default port is free, and programs on this computer can be reached."""
    with socket.socket() as asked:
        asked.settimeout(2)
        taken = asked.connect_ex(("127.0.0.1", number)) == 0
    try:
        with socket.create_server(("127.0.0.1", 0)):
            pass
    except OSError as error:
        return failure(
            "port",
            f"no program can be reached on this computer (127.0.0.1): {error.strerror}",
            "JupyterLab needs that: allow it in the firewall or the container.",
        )
    if taken:
        return fine("port", f"{number} is in use, perhaps by JupyterLab; `lab` uses the next port")
    return fine("port", f"{number} is free")


def gpu_name() -> str | None:
    """nvidia-smi's name of the first GPU; None if there is no nvidia-smi, or no answer."""
    return _nvidia_smi("name")


def driver_version() -> str | None:
    """The version of NVIDIA's driver, as "580.65.06"; None as for `gpu_name`."""
    return _nvidia_smi("driver_version")


def _nvidia_smi(field: str) -> str | None:
    program = shutil.which("nvidia-smi")
    if program is None:
        return None
    question = [program, f"--query-gpu={field}", "--format=csv,noheader"]
    try:
        answer = subprocess.run(question, capture_output=True, text=True, timeout=10, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    answers = answer.stdout.strip().splitlines()
    return answers[0] if answers else None


def _dotted(version: tuple[int, ...]) -> str:
    return ".".join(map(str, version))


def _gb(size: int) -> str:
    return f"{size / GB:.1f} GB"

"""The machine of a measurement: without it, a number of tokens per second has no meaning."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import time
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import numba
import psutil
import torch
import transformers

QUIET = 10.0  # percent of the CPU that an idle machine uses at most


@dataclass(frozen=True, slots=True)
class Machine:
    """busy_percent: CPU use by other programs, just before the measurement began."""

    date: str
    os: str
    cpu: str
    num_cores: int
    num_usable_cpus: int
    gpu: str | None
    torch_threads: int
    busy_percent: float
    python: str
    torch: str
    transformers: str
    numba: str

    @property
    def is_quiet(self) -> bool:
        return self.busy_percent <= QUIET


def look() -> Machine:
    """This machine with its present thread settings. Takes half a second."""
    return Machine(
        date=datetime.now().astimezone().isoformat(timespec="seconds"),
        os=platform.platform(terse=True),
        cpu=cpu_name(),
        num_cores=psutil.cpu_count(logical=False) or os.cpu_count() or 1,
        num_usable_cpus=usable_cpus(),
        gpu=torch.cuda.get_device_name() if torch.cuda.is_available() else None,
        torch_threads=torch.get_num_threads(),
        busy_percent=psutil.cpu_percent(interval=0.5),
        python=platform.python_version(),
        torch=torch.__version__,
        transformers=transformers.__version__,
        numba=numba.__version__,
    )


class OtherPrograms:
    """What other programs compute from now on."""

    def __init__(self) -> None:
        self._begun = self._seen()

    def share(self) -> float:
        """Share of all processor time of this computer that they took, from 0 to 1."""
        everything, idle, own = (a - b for a, b in zip(self._seen(), self._begun, strict=True))
        return min(1.0, max(0.0, (everything - idle - own) / max(everything, 1e-9)))

    @staticmethod
    def _seen() -> tuple[float, float, float]:
        times = psutil.cpu_times()
        idle = times.idle + getattr(times, "iowait", 0.0)
        return time.perf_counter() * (psutil.cpu_count() or 1), idle, time.process_time()


def usable_cpus() -> int:
    """Logical CPUs that this process may run on."""
    if hasattr(os, "sched_getaffinity"):  # Linux
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def cpu_name() -> str:
    """The processor's product name, where the system gives it."""
    try:
        if sys.platform == "linux":
            for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
                if line.startswith("model name"):
                    return line.partition(":")[2].strip()
        if sys.platform == "darwin":
            question = ["sysctl", "-n", "machdep.cpu.brand_string"]
            return subprocess.run(
                question, capture_output=True, text=True, check=True
            ).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        pass
    return platform.processor() or platform.machine()

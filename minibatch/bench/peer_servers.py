"""Servers that `bench peers` starts, stops, and takes the CPU time of."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
import psutil

from ..core.request import Request
from .gguf_file import write_gguf
from .replay_report import Replay
from .replay_url import replay

START_S = 180.0  # seconds that a server may take to answer
LOOK_S = 0.25
LLAMA_SERVER = "llama-server"
CONTEXT = 2048  # tokens that a request may have


@dataclass(frozen=True)
class Peer:
    """A server to measure. command: starts it, given a model's folder, a port, the most requests at
    a time, and a folder for files of its own. model: the name to ask for, given the first folder;
    None: the first that the server names. lacking: what it needs that is not installed, or "".
    version: of it, if it is no Python package."""

    name: str
    command: Callable[[Path, int, int, Path], list[str]]
    model: Callable[[Path], str | None]
    lacking: Callable[[], str]
    version: Callable[[], str] = str


@dataclass
class Running:
    """A server that runs. url, model: for requests. process: it, for its CPU time."""

    peer: Peer
    url: str
    model: str | None
    process: psutil.Process

    def cpu_s(self) -> float:
        """CPU seconds of its processes so far, those that have ended included."""
        times = [p.cpu_times() for p in [self.process, *self.process.children(recursive=True)]]
        return sum(t.user + t.system for t in times)

    def replay(self, requests: list[Request]) -> tuple[Replay, float]:
        """What the client saw, and the server's CPU seconds meanwhile."""
        begin = self.cpu_s()
        result = replay(self.url, requests, model=self.model, ignore_eos=False)
        return result, self.cpu_s() - begin


def _ours(folder: Path, port: int, most: int, home: Path) -> list[str]:
    return [sys.executable, "-m", "minibatch", "serve", "--model", str(folder), "--port", str(port),
            "--max-batch-size", str(most), "--log-level", "warning"]  # fmt: skip


def _transformers(folder: Path, port: int, most: int, home: Path) -> list[str]:
    code = "from transformers.cli.transformers import main; main()"
    return [sys.executable, "-c", code, "serve", str(folder), "--port", str(port),
            "--continuous-batching", "--device", "cpu", "--dtype", "float32"]  # fmt: skip


def _lacking_transformers() -> str:
    from transformers.utils.import_utils import is_serve_available

    return "" if is_serve_available() else "fastapi and others: pip install -e '.[peers]'"


def _llama_cpp(folder: Path, port: int, most: int, home: Path) -> list[str]:
    """Float32 throughout, and no cache of prompts between rounds, like the others."""
    write_gguf(folder, home / "model.gguf")
    return [LLAMA_SERVER, "--model", str(home / "model.gguf"), "--port", str(port), "--offline",
            "--parallel", str(most), "--ctx-size", str(most * CONTEXT), "--no-webui",
            "--cache-type-k", "f32", "--cache-type-v", "f32", "--no-cache-prompt",
            "--cache-ram", "0"]  # fmt: skip


def _lacking_llama_cpp() -> str:
    if not shutil.which(LLAMA_SERVER):
        return f"the program {LLAMA_SERVER} of llama.cpp on the PATH"
    return "" if importlib.util.find_spec("gguf") else "gguf: pip install -e '.[peers]'"


def _llama_cpp_version() -> str:
    said = subprocess.run([LLAMA_SERVER, "--version"], capture_output=True, text=True)
    found = re.search(r"version: (\S+)", said.stdout + said.stderr)
    return found[1] if found else ""


PEERS = {
    peer.name: peer
    for peer in (
        Peer("minibatch serve", _ours, lambda _: None, lambda: ""),
        Peer("transformers serve", _transformers, str, _lacking_transformers),
        Peer("llama.cpp", _llama_cpp, lambda _: None, _lacking_llama_cpp, _llama_cpp_version),
    )
}


@contextmanager
def running(peer: Peer, folder: Path, most: int, num_threads: int) -> Iterator[Running]:
    """The server, until the block ends. most: requests at a time. num_threads: that compute.
    Raises ChildProcessError, with the end of its output, if it does not start."""
    port = free_port()
    url, model = f"http://127.0.0.1:{port}", peer.model(folder)
    environment = os.environ | {
        "OMP_NUM_THREADS": str(num_threads),
        "LLAMA_ARG_THREADS": str(num_threads),
        "HF_HUB_OFFLINE": "1",
    }
    home = Path(tempfile.mkdtemp(prefix="peer-"))
    log = home / "output.txt"
    with log.open("wb") as output:
        server = subprocess.Popen(
            peer.command(folder, port, most, home), env=environment, stdout=output, stderr=output
        )
    try:
        process = psutil.Process(server.pid)
        _wait_until_it_answers(server, url, log, peer.name)
        yield Running(peer, url, model, process)
    finally:
        for child in psutil.Process(server.pid).children(recursive=True) if _runs(server) else []:
            child.kill()
        server.kill()
        server.wait()
        shutil.rmtree(home, ignore_errors=True)


def free_port() -> int:
    """A port that was free a moment ago: these servers cannot be told to choose one."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def _runs(server: subprocess.Popen) -> bool:
    return server.poll() is None


def _wait_until_it_answers(server: subprocess.Popen, url: str, log: Path, name: str) -> None:
    end = time.monotonic() + START_S
    while time.monotonic() < end:
        if not _runs(server):
            break
        try:
            answer = httpx.get(f"{url}/v1/models", timeout=START_S, trust_env=False)
        except httpx.TransportError:
            time.sleep(LOOK_S)
            continue
        if answer.status_code != httpx.codes.SERVICE_UNAVAILABLE:  # it loads the model
            return
        time.sleep(LOOK_S)
    said = log.read_text(encoding="utf-8", errors="replace")[-1_000:]
    raise ChildProcessError(f"{name} did not start within {START_S:g} s. Its output:\n{said}")

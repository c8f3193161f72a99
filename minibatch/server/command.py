"""`python -m minibatch serve`: flags to an engine, and the engine behind HTTP."""

from __future__ import annotations

import argparse
import importlib.util
import inspect
import logging
import signal
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Protocol

from .. import schedulers
from ..core.request import Request
from ..engine.engine import Engine
from ..engine.trace import Trace
from ..model.load import load_model
from ..schedulers import QueueLimits, Scheduler
from ..speculation import DraftModel, PromptLookup, Proposer
from .server import Server, check_arguments, listen

LEVELS = ("debug", "info", "warning", "error")
KEPT = 100  # steps and completions in the trace
FILES = 8192  # that may be open
SIZES = {"max_batch_size": 8, "max_batch_tokens": 256}  # of a make_policy without its own
GRACE = 30.0  # seconds for running requests after SIGTERM


def main(arguments: list[str], parser: argparse.ArgumentParser | None = None) -> int:
    """`serve [options]`: 0 after Ctrl-C or SIGTERM, 2 for a wrong option. parser: of more options
    than these, already looked at."""
    options = (parser or make_parser()).parse_args(arguments)
    logging.basicConfig(
        level=options.log_level.upper(), format="%(asctime)s %(levelname)s %(message)s"
    )
    raise_file_limit()
    try:
        check_arguments(options.host, options.port, options.api_key, options.deadline)
        listener = listen(options.host, options.port)  # before a model is loaded for nothing
        server = make_server(options).start(listener)
    except (ValueError, TypeError, OSError, ImportError) as error:
        print(getattr(error, "strerror", None) or error, file=sys.stderr)
        return 2
    stop = threading.Event()
    for name in ("SIGTERM", "SIGINT"):
        signal.signal(getattr(signal, name), lambda *_: stop.set())
    print(f"{server.name} is served at {server.url}/v1 (Ctrl-C ends the server)", flush=True)
    while not stop.wait(0.5):  # without a time, Windows would not see Ctrl-C
        if not server.is_running:
            print("the server has ended because of a fault; see its log", file=sys.stderr)
            return 1
    print(f"Stopping: running requests get up to {GRACE:g} s to end.", flush=True)
    server.stop()
    return 0


class EngineFlags(Protocol):
    """What the flags say of an engine."""

    model: str | None
    policy: str
    max_batch_size: int | None
    max_batch_tokens: int | None
    num_blocks: int | None
    prefix_caching: bool
    speculation: str | None
    max_queued: int
    max_queued_tokens: int | None


def make_engine(options: EngineFlags) -> Engine:
    """The engine that the flags describe, warmed up."""
    policy = make_policy(options)
    model = load_model(options.model)
    engine = Engine(
        model,
        policy,
        num_blocks=options.num_blocks,
        prefix_caching=options.prefix_caching,
        speculation=make_proposer(options.speculation),
        trace=Trace(keep=KEPT, latencies=False),
    )
    warm_up(engine)
    return engine


def make_server(options: argparse.Namespace) -> Server:
    """The engine and the server that the flags describe; not started."""
    return Server(
        make_engine(options),
        host=options.host,
        port=options.port,
        api_key=options.api_key,
        name=options.model or "wayfarer",
        deadline=options.deadline,
        grace=GRACE,
        log_level=options.log_level,
    )


def raise_file_limit() -> None:
    """Allow this process more open files, of which each connection is one. Where the system does
    not, connections end sooner (`connection.MOST_CONNECTIONS`)."""
    with suppress(ImportError, ValueError, OSError):  # Windows has no such limit
        import resource

        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        wanted = FILES if hard == resource.RLIM_INFINITY else min(FILES, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, wanted), hard))


def warm_up(engine: Engine) -> None:
    """Compile what compiles at its first use, before a client waits for it."""
    engine.run([Request([0, 0], max_tokens=2, ignore_eos=True)])
    engine.reset()


def make_policy(options: EngineFlags) -> Scheduler:
    """The policy of this name, or the one in a learner's file, with the sizes that were given."""
    name = options.policy
    shipped = {each.lower(): getattr(schedulers, each) for each in schedulers.POLICIES}
    kind = from_file(Path(name)) if name.endswith(".py") else shipped.get(name.lower())
    if kind is None:
        names = ", ".join(shipped)
        raise ValueError(
            f"--policy {name} does not exist; choose from {names}, or give a file that ends in .py"
        )
    sizes = {
        "max_batch_size": options.max_batch_size,
        "max_batch_tokens": options.max_batch_tokens,
    }
    given = {key: value for key, value in sizes.items() if value is not None}
    taken = inspect.signature(kind).parameters
    for key in given.keys() - taken.keys():
        flag = key.replace("_", "-")
        raise ValueError(f"--{flag}: the policy {kind.__name__} has no such setting")
    needed = {key for key, each in taken.items() if each.default is each.empty}
    policy = kind(**{key: SIZES[key] for key in SIZES.keys() & needed} | given)
    if policy.limits is None:  # those of a learner's file stay
        policy.limits = QueueLimits(options.max_queued, options.max_queued_tokens)
    return policy


def from_file(path: Path) -> Callable[..., Scheduler]:
    """The `make_policy` of a file (lesson 14), or else the one policy that it defines. Raises
    ValueError if there is neither, or several policies."""
    if not path.is_file():
        raise ValueError(f"--policy {path}: there is no such file")
    spec = importlib.util.spec_from_file_location("policy_of_yours", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    if callable(made := getattr(module, "make_policy", None)):
        return made
    found = [
        value
        for value in vars(module).values()
        if isinstance(value, type)
        and issubclass(value, Scheduler)
        and value.__module__ == module.__name__
    ]
    if len(found) != 1:
        names = ", ".join(kind.__name__ for kind in found) or "none"
        raise ValueError(
            f"--policy {path}: the file must define make_policy or one Scheduler; it has {names}"
        )
    return found[0]


def make_proposer(name: str | None) -> Proposer | None:
    """What proposes draft tokens: "prompt-lookup", or a smaller model by its name."""
    if name is None:
        return None
    return PromptLookup() if name == "prompt-lookup" else DraftModel(load_model(name))


def make_parser() -> argparse.ArgumentParser:
    """All flags."""
    parser = argparse.ArgumentParser(
        prog="python -m minibatch serve",
        description="Serve a model by OpenAI's HTTP API.",
    )
    add = parser.add_argument
    add("--model", metavar="NAME", help="hub id or folder; default: Wayfarer")
    add("--policy", default="continuous", help="a name, or your file; default: continuous")
    add("--max-batch-size", type=int, metavar="N", help="most requests in a step; default: 8")
    add("--max-batch-tokens", type=int, metavar="N", help="most tokens in a step")
    add("--num-blocks", type=int, metavar="N", help="KV blocks of 16 tokens")
    add("--prefix-caching", action="store_true", help="requests that begin alike share K and V")
    add("--speculation", metavar="NAME", help="prompt-lookup, or a smaller model's name")
    add("--max-queued", type=int, default=256, metavar="N", help="most requests; default: 256")
    add("--max-queued-tokens", type=int, metavar="N", help="most prompt tokens in the queue")
    add("--deadline", type=float, metavar="S", help="seconds a request may wait; default: no limit")
    add("--host", default="127.0.0.1", help="an address other than 127.0.0.1 needs --api-key")
    add("--port", type=int, default=8000, help="default: 8000; 0: any free port")
    add("--api-key", metavar="KEY", help="the key that clients must send")
    add("--log-level", choices=LEVELS, default="info", help="default: info")
    return parser

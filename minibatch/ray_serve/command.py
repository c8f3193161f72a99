"""`python -m minibatch serve`: one engine in this process, or --replicas of it, on Ray Serve."""

from __future__ import annotations

import argparse
import signal
import sys
import threading

from ..server import command
from .settings import EngineSettings

NO_RAY = "--replicas needs Ray, which is not installed here: python -m minibatch setup --ray"


def main(arguments: list[str]) -> int:
    """`serve [options]`: 0 after Ctrl-C or SIGTERM, 2 for a wrong option, 1 if Ray failed."""
    parser = make_parser()
    options = parser.parse_args(arguments)
    if options.replicas is None:
        return command.main(arguments, parser)
    try:
        from .cluster import RayFailed
        from .ray_server import RayServer
    except ImportError as error:
        print(f"{NO_RAY} ({error})", file=sys.stderr)
        return 2
    stop = threading.Event()
    print("Starting Ray and the replicas: about a minute on two cores.", flush=True)
    try:
        with RayServer(
            deployment(options),
            host=options.host,
            port=options.port,
            seconds=options.start_seconds,
        ) as server:
            for name in ("SIGTERM", "SIGINT"):  # after Ray has set its own
                signal.signal(getattr(signal, name), lambda *_: stop.set())
            for name, process in server.replicas().items():
                print(f"replica {name}: process {process}")
            model = options.model or "wayfarer"
            print(f"{model} is served at {server.url}/v1 (Ctrl-C ends it)", flush=True)
            while not stop.wait(0.5):
                pass
            print("Stopping.", flush=True)
    except RayFailed as error:
        print(error, file=sys.stderr)
        return 1
    except ValueError as error:
        print(error, file=sys.stderr)
        return 2
    return 0


def deployment(options: argparse.Namespace):
    """What the flags describe."""
    from .deploy import Deployment

    return Deployment(
        engine=EngineSettings.of(options),
        replicas=options.replicas,
        most_replicas=options.most_replicas,
        router=options.router,
        num_gpus=options.gpus_per_replica,
        api_key=options.api_key,
        deadline=options.deadline,
    )


def make_parser() -> argparse.ArgumentParser:
    """All flags: those of one engine, and of replicas."""
    parser = command.make_parser()
    group = parser.add_argument_group("several engines, on Ray Serve (setup --ray)")
    add = group.add_argument
    add("--replicas", type=int, metavar="N", help="number of engines, each in its own process")
    add("--most-replicas", type=int, metavar="N", help="most replicas; Ray adds some under load")
    add(
        "--router",
        default="LeastRequests",
        metavar="NAME",
        help="a router of mb.routers, or m:Class",
    )
    add(
        "--gpus-per-replica",
        type=float,
        metavar="N",
        help="default: an equal share of this computer's GPUs",
    )
    add(
        "--start-seconds",
        type=float,
        default=90,
        metavar="S",
        help="time allowed for the start; default: 90",
    )
    return parser

"""`python -m minibatch replay URL`: a workload against any OpenAI-compatible server."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from ..simulator.slo import SLO
from . import null_server
from .openai_client import base_url
from .replay_url import MOST_CONNECTIONS, TIMEOUT_S, replay
from .replay_workloads import NAMES, NUM_REQUESTS, workload

EPILOG = """\
Each request is sent when it is due, even if the server is late; its latency counts from this time.
A request that fails counts in every percentile as infinitely late, and misses the SLO.

  python -m minibatch replay http://127.0.0.1:8000 --workload agents --scale 0.1 --rate 4
  python -m minibatch replay localhost:8000 --workload azure-code --rate 2 --slo-ttft 1
  python -m minibatch replay http://gpu:30000/v1 --workload trace.csv --num-requests 500
"""


def main(argv: Sequence[str]) -> int:
    """Send, print, and return 0; 1 if no request was served, 2 if nothing could be sent."""
    parser = _parser()
    options = parser.parse_args(argv)
    try:
        base_url(options.url)
        slo = None
        if options.slo_ttft is not None or options.slo_tpot is not None:
            slo = SLO(ttft=options.slo_ttft, tpot=options.slo_tpot)
        if options.save and not options.save.parent.is_dir():
            raise ValueError(f"--save: there is no folder {options.save.parent}")
        if options.max_concurrency < 1:
            raise ValueError(f"--max-concurrency is {options.max_concurrency}; give 1 or more")
        if options.chat and options.workload == "agents":
            raise ValueError(
                "the agents' prompts are already in Wayfarer's chat format, and --chat would "
                "apply another format; leave --chat out"
            )
        requests = workload(
            options.workload,
            num_requests=options.num_requests,
            rate=options.rate,
            seed=options.seed,
            scale=options.scale,
            text=options.text or options.chat,
        )
        result = replay(
            options.url,
            requests,
            model=options.model,
            api_key=options.api_key,
            chat=options.chat,
            max_concurrency=options.max_concurrency,
            timeout_s=options.timeout,
            slo=slo,
            ignore_eos=not options.no_ignore_eos,
            extra_body=options.extra_body,
        )
    except (OSError, ValueError) as error:
        print(f"python -m minibatch replay: {error}", file=sys.stderr)
        return 2
    print(result)
    if options.save:
        result.save(options.save)
    if options.check_client:
        print(null_server.client_limit(min(options.max_concurrency, len(requests))))
    return int(not result.count("served"))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m minibatch replay",
        description="Send a workload to any OpenAI-compatible server, and measure at the client.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("url", metavar="URL", help="the server, with or without /v1")
    add(
        "--workload",
        default="agents",
        metavar="NAME",
        help=f"{', '.join(NAMES)}, or a trace: FILE.csv (Azure's columns), FILE.jsonl (Mooncake's)",
    )
    add("--num-requests", type=int, metavar="N", help=f"default: {NUM_REQUESTS}; all of a file")
    add(
        "--rate",
        type=float,
        metavar="R",
        help="requests a second; default: all at once; a file's own times",
    )
    add("--seed", type=int, default=0, metavar="N", help="seed of arrivals, lengths and prompts")
    add(
        "--scale",
        type=float,
        default=1.0,
        metavar="F",
        help="factor for all lengths; for the agents, only of prompts, and at most 1",
    )
    add(
        "--max-concurrency",
        type=int,
        default=MOST_CONNECTIONS,
        metavar="N",
        help=f"most connections; default: {MOST_CONNECTIONS:,}",
    )
    add(
        "--timeout",
        type=float,
        default=TIMEOUT_S,
        metavar="S",
        help=f"cancel a request this many seconds after it was due; default: {TIMEOUT_S:g}",
    )
    add("--slo-ttft", type=float, metavar="S", help="for goodput: most seconds to the first token")
    add("--slo-tpot", type=float, metavar="S", help="for goodput: most mean seconds between tokens")
    add("--model", metavar="NAME", help="default: the server's first model")
    add(
        "--api-key",
        metavar="KEY",
        default=os.environ.get("OPENAI_API_KEY"),
        help="default: the environment variable OPENAI_API_KEY",
    )
    add("--chat", action="store_true", help="use /v1/chat/completions; prompts are text")
    add(
        "--text",
        action="store_true",
        help="prompts are words, not token ids: for TGI and transformers serve",
    )
    add(
        "--no-ignore-eos",
        action="store_true",
        help="leave out vLLM's field ignore_eos: some servers refuse it",
    )
    add("--extra-body", type=_json_object, metavar="JSON", help="fields to add to every request")
    add(
        "--check-client",
        action="store_true",
        help="afterwards measure the client's own limit, against a server without a model",
    )
    add("--save", type=Path, metavar="FILE", help="write a line of JSON for each request")
    return parser  # fmt: skip


def _json_object(text: str) -> dict[str, object]:
    try:
        content = json.loads(text)
    except ValueError:
        content = None
    if not isinstance(content, dict):
        raise argparse.ArgumentTypeError(f"{text!r} is not a JSON object")
    return content

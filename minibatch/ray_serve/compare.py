"""Ray's own prefix router against ours: one long prompt in common, and who serves it.

    python -m minibatch.ray_serve.compare     # in .venv-ray; writes compared.json beside this file

Ray's has `imbalanced_threshold`, from which on it looks at load; its default is infinity (2.60). So
it sends all requests that begin alike to one replica, however many are there.
"""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path

import openai

from .deploy import Deployment
from .ray_server import RayServer
from .record import CITIES, machine
from .settings import EngineSettings

COMPARED = Path(__file__).with_name("compared.json")
RAYS = "ray.llm._internal.serve.routing_policies.prefix_aware.prefix_aware_router"
ROUTERS = {  # a name for the table: router, options
    "Ray's PrefixCacheAffinityRouter": (f"{RAYS}:PrefixCacheAffinityRouter", {}),
    "the same, imbalanced_threshold=4": (
        f"{RAYS}:PrefixCacheAffinityRouter",
        {"imbalanced_threshold": 4},
    ),
    "our PrefixAffinity": ("PrefixAffinity", {}),
    "our StickyUntilSaturated": ("StickyUntilSaturated", {}),
}
MANUAL = "You help travel agents. " * 40  # about 200 tokens that all requests begin with
AT_ONCE, EACH = 16, 3  # clients, and requests of each


def main() -> int:
    """Serve with one router after the other, and count."""
    engine = EngineSettings(num_blocks=1024, prefix_caching=True)
    first, *others = (
        Deployment(engine=engine, replicas=2, router=router, router_options=options)
        for router, options in ROUTERS.values()
    )
    results = {}
    with RayServer(first) as server:
        for name, deployment in zip(ROUTERS, [first, *others], strict=True):
            if deployment is not first:
                server.update(replace(deployment, local_only=True))
            results[name] = served(server)
            print(name, results[name], flush=True)
    content = {
        "what": f"{AT_ONCE} clients, {EACH} requests each, all with the same long beginning",
        "command": "python -m minibatch.ray_serve.compare",
        "ray": version("ray"),
        "machine": machine(),
        "requests of each replica, by router": results,
    }
    text = re.sub(r"\[\s+(\d+),\s+(\d+)\s+\]", r"[\1, \2]", json.dumps(content, indent=1))
    COMPARED.write_text(text + "\n", encoding="utf-8")
    return 0


def served(server: RayServer) -> list[int]:
    """How many requests each replica has answered, the most first. Seconds are not compared: the
    replicas, the clients and Ray share the cores of one computer."""
    client = openai.OpenAI(base_url=f"{server.url}/v1", api_key="none", max_retries=0)

    def ask(number: int) -> str:
        messages = [
            {"role": "system", "content": MANUAL},
            {"role": "user", "content": f"Plan 3 days in {CITIES[number % len(CITIES)]}."},
        ]
        raw = client.chat.completions.with_raw_response.create(
            model="wayfarer", messages=messages, temperature=0, max_tokens=40
        )
        return raw.headers["x-replica"]

    ask(0)  # whose replica has the beginning in its cache
    with ThreadPoolExecutor(AT_ONCE) as pool:
        counts = Counter(pool.map(ask, range(AT_ONCE * EACH)))
    return sorted((counts[name] for name in server.replicas()), reverse=True)


if __name__ == "__main__":
    sys.exit(main())

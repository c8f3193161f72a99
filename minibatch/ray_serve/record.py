"""Two replicas under steady traffic, one of them killed: what a client sees of it, as JSON.

    python -m minibatch.ray_serve.record [FILE]     # in .venv-ray; or recorded.json here

The lesson shows the committed one, so that it reads without Ray. A token's time is not kept: a
request's first and last are, at the client.
"""

from __future__ import annotations

import json
import os
import platform
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import date
from importlib.metadata import version
from pathlib import Path

import openai

from .deploy import Deployment
from .ray_server import RayServer
from .settings import EngineSettings

RECORDED = Path(__file__).with_name("recorded.json")
CITIES = ("Lisbon", "Rome", "Paris", "Tokyo", "Oslo", "Cairo", "Berlin", "Lima")
EVERY = 0.5  # seconds from one request to the next
KILL_AT = 10.0  # seconds after the first request
LATEST = 120.0  # seconds until the traffic ends, even if no new replica has answered
AFTER = 10.0  # seconds of traffic after the new replica's first answer


class Recording:
    """What happened, in seconds since the first request."""

    def __init__(self, server: RayServer) -> None:
        self.server, self.start = server, time.perf_counter()
        self.requests: list[dict[str, object]] = []
        self.client = openai.OpenAI(base_url=f"{server.url}/v1", api_key="none", max_retries=0)
        self.kill: dict[str, object] = {}

    def now(self) -> float:
        return round(time.perf_counter() - self.start, 3)

    def ask(self, number: int) -> None:
        """One request, streamed to its end."""
        question = f"Plan {3 + number % 5} days in {CITIES[number % len(CITIES)]}."
        entry = {"question": question, "sent_s": self.now(), "end": "whole", "pieces": 0}
        self.requests.append(entry)
        try:
            raw = self.client.chat.completions.with_raw_response.create(
                model="wayfarer",
                messages=[{"role": "user", "content": question}],
                temperature=0,
                stream=True,
            )
            entry |= {"replica": raw.headers["x-replica"], "tries": int(raw.headers["x-tries"])}
            for chunk in raw.parse():
                entry.setdefault("first_s", self.now())
                entry["pieces"] += bool(chunk.choices[0].delta.content)
        except openai.APIError as error:
            entry["end"] = str(error)
        entry["last_s"] = self.now()

    def run(self) -> None:
        """Requests at even intervals, and the kill."""
        before, number, until = set(self.server.replicas()), 0, LATEST
        killer = threading.Timer(KILL_AT, self.strike)
        killer.start()
        with ThreadPoolExecutor(64) as pool:
            while (due := number * EVERY) < until:
                time.sleep(max(0.0, due - self.now()))
                pool.submit(self.ask, number)
                number += 1
                new = [r["last_s"] for r in self.requests if r.get("replica") not in before | {None}
                       and "last_s" in r]  # fmt: skip
                until = min(until, new[0] + AFTER) if new else until
        killer.join()

    def strike(self) -> None:
        """Kill the replica that answers the newest request."""
        name = next(r["replica"] for r in reversed(self.requests) if "replica" in r)
        self.server.kill(name)
        self.kill = {"at_s": self.now(), "replica": name}


def machine() -> str:
    """This computer, and how busy it is."""
    load = f"{os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else "unknown"
    return f"{platform.machine()}, {os.cpu_count()} cores, load {load}"


def main(arguments: list[str]) -> int:
    """Record, and write the file."""
    file = Path(arguments[0]) if arguments else RECORDED
    busy = machine()
    begun = time.perf_counter()
    deployment = Deployment(engine=EngineSettings(num_blocks=512), replicas=2)
    with RayServer(deployment) as server:
        started_s = round(time.perf_counter() - begun, 1)
        recording = Recording(server)
        recording.run()
    content = {
        "what": "two replicas of Wayfarer on Ray Serve; one is killed under traffic",
        "command": "python -m minibatch.ray_serve.record",
        "date": date.today().isoformat(),
        "machine": f"{busy} before the start",
        "ray": version("ray"),
        "router": deployment.router,
        "started_s": started_s,
        "kill": recording.kill,
        "requests": recording.requests,
    }
    rows = ",\n".join(json.dumps(each) for each in content.pop("requests"))
    head = json.dumps(content, indent=1)[:-2]
    file.write_text(f'{head},\n "requests": [\n{rows}\n]}}\n', encoding="utf-8")
    print(f"{len(recording.requests)} requests; wrote {file}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""Prometheus metrics. Names are vLLM's, after `minibatch:` in place of `vllm:`.

Latencies are measured twice. `time_to_first_token_seconds` and its like are measured at the socket,
from the request's arrival to the write of its tokens: what clients see. `engine_…` are what the
engine's clock says. Where the two differ, tokens wait for the event loop.
"""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from ..core.records import StepRecord, num_accepted
from ..core.request import Sequence
from ..engine.engine import Engine

PREFIX = "minibatch:"
FIRST_TOKEN = (0.001, 0.005, 0.01, 0.02, 0.04, 0.08, 0.15, 0.3, 0.5, 1, 2.5, 5, 10, 20, 40, 80)
BETWEEN_TOKENS = (0.001, 0.0025, 0.005, 0.01, 0.02, 0.04, 0.08, 0.16, 0.3, 0.5, 1, 2.5, 5, 10)
WHOLE = (0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 40, 80, 160, 320, 640)
TOKENS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096)


class Metrics:
    """model: the name that every metric has as its label `model_name`."""

    def __init__(self, engine: Engine, model: str) -> None:
        self.registry, self._model = CollectorRegistry(), model
        scheduler, pool = engine.scheduler, engine.pool
        self._gauge(
            "num_requests_running", "Requests in the batch.", lambda: len(scheduler.running)
        )
        self._gauge(
            "num_requests_waiting", "Requests in the queue.", lambda: len(scheduler.waiting)
        )
        self._gauge(
            "kv_cache_usage_perc",
            "Share of KV blocks in use, 0 to 1.",
            lambda: 1 - pool.num_free / pool.num_blocks,
        )
        self.prompt_tokens = self._counter("prompt_tokens", "Tokens of computed prompts.")
        self.output_tokens = self._counter("generation_tokens", "Generated tokens.")
        self.preemptions = self._counter("num_preemptions", "Preempted requests.")
        self.queries = self._counter("prefix_cache_queries", "Tokens looked up in the cache.")
        self.hits = self._counter("prefix_cache_hits", "Tokens found in the prefix cache.")
        self.drafted = self._counter("spec_decode_num_draft_tokens", "Draft tokens.")
        self.accepted = self._counter("spec_decode_num_accepted_tokens", "Accepted draft tokens.")
        self._endings = Counter(
            f"{PREFIX}request_success",
            "Requests that have ended, by reason.",
            ["model_name", "finished_reason"],
            registry=self.registry,
        )
        self.step_tokens = self._histogram("iteration_tokens_total", "Tokens of a step.", TOKENS)
        self.queue_time = self._seconds("request_queue_time", "Until admission.", FIRST_TOKEN)
        self.engine_ttft = self._seconds(
            "engine_time_to_first_token", "Until the first token, in the engine.", FIRST_TOKEN
        )
        self.engine_itl = self._seconds(
            "engine_inter_token_latency", "From token to token, in the engine.", BETWEEN_TOKENS
        )
        self.engine_e2e = self._seconds(
            "engine_e2e_request_latency", "Until the last token, in the engine.", WHOLE
        )
        self.ttft = self._seconds(
            "time_to_first_token", "Until the first token is at the socket.", FIRST_TOKEN
        )
        self.itl = self._seconds(
            "inter_token_latency", "From token to token, at the socket.", BETWEEN_TOKENS
        )
        self.e2e = self._seconds(
            "e2e_request_latency", "Until the last token is at the socket.", WHOLE
        )

    def text(self) -> bytes:
        """All of them, in Prometheus' text format."""
        return generate_latest(self.registry)

    # Called by the engine thread ------------------------------------------------------------------

    def step(self, record: StepRecord) -> None:
        """One step of the engine."""
        self.preemptions.inc(len(record.preempted))
        self.step_tokens.observe(sum(row[3] for row in record.row_values))
        if record.sharing is not None:
            for lookup in record.sharing.lookups:
                self.queries.inc(lookup.num_tokens)
                self.hits.inc(lookup.num_hits)
        for *_, token_ids, draft in record.row_values:
            if draft:
                self.drafted.inc(len(draft))
                self.accepted.inc(num_accepted(draft, token_ids))

    def engine_tokens(self, sequence: Sequence, last: float | None, n: int, now: float) -> None:
        """A step has generated n tokens of a request. last: when its tokens before came."""
        self.output_tokens.inc(n)
        if last is not None:
            self.engine_itl.observe(now - last)
            return
        self.prompt_tokens.inc(sequence.num_prompt_tokens)
        self.engine_ttft.observe(now - sequence.arrival_time)
        if sequence.first_scheduled_time is not None:
            self.queue_time.observe(sequence.first_scheduled_time - sequence.arrival_time)

    def ended(self, sequence: Sequence) -> None:
        """A request has ended."""
        reason = sequence.finish_reason
        self._endings.labels(self._model, reason).inc()
        if reason in ("stop", "length") and sequence.finish_time is not None:
            self.engine_e2e.observe(sequence.finish_time - sequence.arrival_time)

    # --------------------------------------------------------------------------------------------

    def _gauge(self, name: str, what: str, value) -> None:
        gauge = Gauge(PREFIX + name, what, ["model_name"], registry=self.registry)
        gauge.labels(self._model).set_function(value)

    def _counter(self, name: str, what: str) -> Counter:
        counter = Counter(PREFIX + name, what, ["model_name"], registry=self.registry)
        return counter.labels(self._model)

    def _seconds(self, name: str, what: str, buckets: tuple[float, ...]) -> Histogram:
        return self._histogram(f"{name}_seconds", what, buckets)

    def _histogram(self, name: str, what: str, buckets: tuple[float, ...]) -> Histogram:
        arguments = PREFIX + name, what, ["model_name"]
        return Histogram(*arguments, registry=self.registry, buckets=buckets).labels(self._model)


def merged(texts: dict[str, bytes]) -> bytes:
    """The texts of several replicas as one: each metric's lines together, each with its replica."""
    metrics: dict[str, list[str]] = {}
    for name, text in texts.items():
        lines: list[str] = []
        for line in text.decode().splitlines():
            if line.startswith("# HELP"):
                lines = metrics.setdefault(line, [])
            elif not line.startswith("#"):
                lines.append(line.replace("{", f'{{replica="{name}",', 1))
            elif line not in lines:
                lines.append(line)
    return ("\n".join(sum(([head, *lines] for head, lines in metrics.items()), [])) + "\n").encode()

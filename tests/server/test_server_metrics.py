"""`/metrics`, by vLLM's names, and the dashboard that draws them."""

import json
import re
from pathlib import Path
from time import perf_counter

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families
from scripted import make_engine, serving, wait_until_idle

import minibatch as mb
from minibatch.server import server as home
from minibatch.server.exchange import Exchange
from minibatch.server.metrics import Metrics, merged


def scrape(server):
    """Every sample: its name and labels without the model's, and its value."""
    families = text_string_to_metric_families(httpx.get(f"{server.url}/metrics").text)
    return {
        (sample.name, *(v for k, v in sorted(sample.labels.items()) if k != "model_name")): value
        for family in families
        for sample in family.samples
        for value in [sample.value]
    }


def post(server, **fields):
    body = {"model": "scripted", "prompt": [5] * 40, "max_tokens": 10} | fields
    return httpx.post(f"{server.url}/v1/completions", json=body, timeout=60)


@pytest.fixture(scope="module")
def samples():
    """After one whole and one streamed answer of 10 tokens, and the same with drafts."""
    options = {"prefix_caching": True, "speculation": mb.PromptLookup()}
    with serving(**options) as server:
        post(server)
        post(server, stream=True, max_tokens=120)
        wait_until_idle(server)
        yield scrape(server), server.engine.trace.summary()


def test_counters_are_what_the_engine_has_counted(samples):
    values, summary = samples
    assert values["minibatch:generation_tokens_total",] == 130
    assert values["minibatch:prompt_tokens_total",] == 80
    assert values["minibatch:request_success_total", "length"] == 2
    assert values["minibatch:prefix_cache_queries_total",] == 80
    assert values["minibatch:prefix_cache_hits_total",] == 32
    assert values["minibatch:spec_decode_num_draft_tokens_total",] == summary["num_drafted"] > 0
    accepted = values["minibatch:spec_decode_num_accepted_tokens_total",]
    assert accepted == summary["num_accepted"] > 0
    assert values["minibatch:num_requests_running",] == 0
    assert values["minibatch:kv_cache_usage_perc",] == 0
    assert values["minibatch:iteration_tokens_total_count",] == summary["num_steps"]


def test_latencies_are_measured_in_the_engine_and_at_the_socket(samples):
    values, summary = samples
    assert values["minibatch:engine_time_to_first_token_seconds_count",] == 2
    assert values["minibatch:time_to_first_token_seconds_count",] == 1  # of the streamed one
    assert values["minibatch:engine_e2e_request_latency_seconds_count",] == 2
    assert values["minibatch:e2e_request_latency_seconds_count",] == 2
    inside = values["minibatch:engine_e2e_request_latency_seconds_sum",]
    assert inside == pytest.approx(2 * summary["e2e_mean_s"])
    assert values["minibatch:e2e_request_latency_seconds_sum",] >= inside


def test_each_token_has_the_time_of_its_write():
    with serving() as server:
        for stream in (True, False):
            post(server, prompt=[5], max_tokens=9, stream=stream)
    assert [len(each.times) for each in server.written] == [9, 9]


@pytest.mark.parametrize("stream", [True, False])
def test_the_time_of_a_write_is_taken_before_the_client_can_have_the_token(monkeypatch, stream):
    handed_over, exchange = [], Exchange.__call__

    async def noted(self, scope, receive, send):
        async def noted_send(message):
            if message.get("body"):
                handed_over.append(perf_counter())
            await send(message)

        await exchange(self, scope, receive, noted_send)

    monkeypatch.setattr(Exchange, "__call__", noted)
    with serving() as server:
        post(server, prompt=[5], max_tokens=1, stream=stream)
    (written,) = server.engine_thread.written
    assert written.times[0] <= handed_over[0]


def test_a_preemption_and_an_abort_are_counted():
    with serving(num_blocks=8) as server:
        post(server, prompt=[[5] * 40, [6] * 40], max_tokens=80)
        assert scrape(server)["minibatch:num_preemptions_total",] >= 1


def test_the_dashboard_draws_metrics_that_there_are(samples):
    path = Path(home.__file__).parent / "grafana.json"
    board = json.loads(path.read_text(encoding="utf-8"))
    expressions = [t["expr"] for panel in board["panels"] for t in panel["targets"]]
    drawn = {name for each in expressions for name in re.findall(r"minibatch:\w+", each)}
    assert len(drawn) > 15
    assert drawn - {name for name, *_ in samples[0]} == set()


def test_the_metrics_of_replicas_are_one_text_with_each_metrics_lines_together():
    texts = {}
    for name in ("a", "b"):
        metrics = Metrics(make_engine(), "scripted")
        metrics.output_tokens.inc(3)
        texts[name] = metrics.text()
    whole = merged(texts).decode()
    families = {each.name: each for each in text_string_to_metric_families(whole)}
    alone = {each.name for each in text_string_to_metric_families(texts["a"].decode())}
    assert families.keys() == alone
    counted = [
        each for each in families["minibatch:generation_tokens"].samples if "total" in each[0]
    ]
    assert {each.labels["replica"]: each.value for each in counted} == {"a": 3, "b": 3}
    assert whole.count("# HELP minibatch:generation_tokens_total") == 1

"""A replay against a server: every request is a row, with the tokens and times the client saw."""

import asyncio
import json
import math
import threading

import matplotlib.pyplot as plt
import pytest
from scripted_server import END, SSE, chunked, event, json_answer, serving, stream, text, words

import minibatch as mb
from minibatch.bench.client_load import ClientLoad
from minibatch.bench.load_report import Row
from minibatch.bench.openai_client import base_url
from minibatch.bench.replay_url import in_own_thread


def requests(number, tokens=3, **options):
    return [mb.Request([5, 6], max_tokens=tokens, **options) for _ in range(number)]


def echo(body):
    return words(body["max_tokens"])


def test_a_replay_has_the_tokens_of_every_request():
    with serving(echo) as server:
        result = mb.replay(server.url, [*requests(3), *requests(1, tokens=7)])
    assert sorted(len(c.token_ids) for c in result.completions) == [3, 3, 3, 7]
    assert all(c.was_served and c.finish_reason == "length" for c in result.completions)
    assert {c.request_id for c in result.completions} == {"0", "1", "2", "3"}
    assert [len(c.prompt_token_ids) for c in result.completions] == [2] * 4
    assert result.model == "scripted"
    assert all(c.token_times == sorted(c.token_times) for c in result.completions)
    assert all(row.due <= row.ready <= row.sent <= row.first_token for row in result.rows)


@pytest.mark.parametrize(
    "suffix", ["", "/", "/v1", "/v1/", "/v1/completions", "/v1/chat/completions"]
)
def test_a_url_may_have_any_form(suffix):
    assert base_url("http://gpu:8000" + suffix) == "http://gpu:8000/v1"
    assert base_url("gpu:8000" + suffix) == "http://gpu:8000/v1"


@pytest.mark.parametrize("url", ["ftp://gpu", "http://", "http:///v1"])
def test_a_url_that_is_none_is_refused(url):
    with pytest.raises(ValueError, match="give an address such as"):
        base_url(url)


def test_the_body_has_openais_fields_and_those_that_are_asked_for():
    plain = mb.Request([5, 6], max_tokens=3)
    rich = mb.Request("hello", max_tokens=3, temperature=0.5, top_p=0.9, top_k=4, seed=1,
                      ignore_eos=True, client="ada", priority=2, stop_token_ids=[9])  # fmt: skip
    with serving(echo) as server:
        mb.replay(server.url, [plain, rich], model="m", max_concurrency=1)
        mb.replay(server.url, [rich], ignore_eos=False, extra_body={"seed": None, "n": 1})
    first, second, third = server.bodies
    common = {"max_tokens": 3, "stream": True, "stream_options": {"include_usage": True}}
    assert first == common | {"model": "m", "prompt": [5, 6], "temperature": 0.0}
    extensions = {"top_k": 4, "stop_token_ids": [9], "priority": 2, "user": "ada", "top_p": 0.9}
    rest = {"model": "m", "prompt": "hello", "temperature": 0.5, "seed": 1, "ignore_eos": True}
    assert second == common | extensions | rest
    assert {"ignore_eos", "seed"}.isdisjoint(third)
    assert third["n"] == 1


def test_a_key_is_sent_and_a_chat_goes_to_its_route():
    with serving(echo) as server:
        mb.replay(server.url, [mb.Request("hello")], api_key="sk-1", chat=True)
    assert server.heads[0].startswith("POST /v1/chat/completions ")
    assert "authorization: bearer sk-1" in server.heads[0].lower()
    assert server.bodies[0]["messages"] == [{"role": "user", "content": "hello"}]


def test_a_chat_of_token_ids_is_refused_before_anything_is_sent():
    with serving(echo) as server, pytest.raises(ValueError, match="a chat takes text only"):
        mb.replay(server.url, requests(1), chat=True)
    assert server.bodies == []


BREAKS = {
    "HTTP 503: the queue is full": json_answer(503, {"error": {"message": "the queue is full"}}),
    "HTTP 422: Unexpected fields": json_answer(422, {"detail": "Unexpected fields"}),
    "not a stream of events but application/json": json_answer(200, {"choices": []}),
    "no memory": stream(text("a"), event(error={"message": "no memory"})),
    "without a finish_reason": stream(text("a"), text("b")),
    'the server ended the answer: "abort"': stream(text("a"), text("", "abort")),
    "incomplete": SSE + chunked(text("a")),
    "not JSON": stream(b'data: {"choices": [\n\n'),
    "HTTP 500": json_answer(500, "<html>"),
}


@pytest.mark.parametrize("message", BREAKS)
def test_a_broken_answer_is_a_failed_row_and_the_others_go_on(message):
    def answer(body):
        return BREAKS[message] if body["max_tokens"] == 4 else echo(body)

    some = [*requests(2), *requests(1, tokens=4), *requests(2)]
    with serving(answer) as server:
        result = mb.replay(server.url, some, slo=mb.SLO(ttft=60), max_concurrency=1)
    assert [row.outcome for row in result.rows] == [*["served"] * 2, "failed", *["served"] * 2]
    assert message in result.rows[2].error
    assert message in str(result)
    assert result.attainment().num_met == 4
    assert result.attainment().num_requests == 5
    assert max(result.latencies()["TTFT"]) == max(result.latencies()["TPOT"]) == math.inf


def test_every_request_may_fail():
    refuse = json_answer(429, {"error": {"message": "slow down"}})
    with serving(lambda body: refuse) as server:
        result = mb.replay(server.url, requests(3), slo=mb.SLO(ttft=1))
    assert result.count("failed") == 3
    assert "goodput: 0 requests/s: none of 3 was served" in str(result)
    assert [c.finish_reason for c in result.completions] == ["refused"] * 3


def test_a_server_that_does_not_answer_is_an_error_not_a_row():
    with serving(echo) as server:
        url = server.url
    with pytest.raises(ConnectionError, match="no server answers at http"):
        mb.replay(url, requests(1))


def test_a_server_that_names_no_model_needs_one():
    none = json_answer(500, {"detail": "no cache"})
    with serving(echo, models=none) as server:
        with pytest.raises(ValueError, match="HTTP 500.*model=… or --model"):
            mb.replay(server.url, requests(1))
        assert mb.replay(server.url, requests(1), model="m").count("served") == 1


def test_an_answer_that_never_ends_is_given_up():
    async def hang(body):
        await asyncio.Event().wait()

    with serving(hang) as server:
        result = mb.replay(server.url, requests(2), timeout_s=0.2)
    assert [row.outcome for row in result.rows] == ["cancelled"] * 2
    assert "no complete answer within 0.2 s" in str(result)


def test_more_connections_than_httpx_allows_by_itself():
    """300 requests, of which none is answered before all are there."""
    arrived = []

    async def answer(body):
        arrived.append(body)
        while len(arrived) < 300:
            await asyncio.sleep(0.01)
        return echo(body)

    with serving(answer) as server:
        result = mb.replay(server.url, requests(300))
    assert result.count("served") == 300
    assert server.most_open >= 300


def test_a_connection_is_used_again():
    with serving(echo) as server:
        mb.replay(server.url, requests(20), max_concurrency=2)
    assert server.num_connections <= 2


def test_after_a_broken_connection_another_is_made():
    answers = iter([SSE + chunked(text("a")), *[words(3)] * 3])
    with serving(lambda body: next(answers)) as server:
        result = mb.replay(server.url, requests(4), max_concurrency=1)
    assert [row.outcome for row in result.rows] == ["failed", *["served"] * 3]


def test_bytes_may_come_one_at_a_time_and_cut_characters():
    whole = text("São ") + text("Tomé", "stop")
    raw = whole.replace(b"\\u00e3", "ã".encode()).replace(b"\\u00e9", "é".encode())
    single = SSE + b"".join(chunked(raw[i : i + 1]) for i in range(len(raw))) + END
    with serving(lambda body: single) as server:
        (completion,) = mb.replay(server.url, requests(1)).completions
    assert completion.text == "São Tomé"
    assert completion.finish_reason == "stop"


def test_the_file_has_a_line_for_each_request(tmp_path):
    refuse = json_answer(503, {"error": {"message": "full"}})
    with serving(lambda body: refuse if body["max_tokens"] == 4 else echo(body)) as server:
        result = mb.replay(server.url, [*requests(1), *requests(1, tokens=4)])
    result.save(tmp_path / "rows.jsonl")
    good, bad = map(json.loads, (tmp_path / "rows.jsonl").read_text("utf-8").splitlines())
    assert (good["outcome"], good["num_tokens"], good["text"]) == ("served", 3, "aaa")
    assert (good["num_prompt_tokens"], len(good["token_times"])) == (2, 3)
    assert (bad["outcome"], bad["error"]) == ("failed", "HTTP 503: full")


def test_answers_shorter_than_asked_are_told():
    with serving(lambda body: words(2)) as server:
        result = mb.replay(server.url, requests(3, tokens=5, ignore_eos=True))
    assert any("3 of 3 answers ended before the requested length" in w for w in result.warnings)


def test_other_prompt_counts_are_told():
    with serving(echo) as server:
        result = mb.replay(server.url, [mb.Request([1] * 50, max_tokens=2)])
    assert any("the server counts 2 prompt tokens; 50 were sent" in w for w in result.warnings)


def test_the_table_leaves_out_percentiles_of_too_few_requests():
    with serving(echo) as server:
        few, many = (mb.replay(server.url, requests(n)) for n in (19, 20))
    rows = [
        next(x for x in str(r).splitlines() if x.startswith("e2e")).split() for r in (few, many)
    ]
    assert rows[0][1:4] == ["–", "–", "–"]
    assert rows[1][1] != "–"


# The client itself --------------------------------------------------------------------------------


def load(cpu_s=0.0, lags=()):
    return ClientLoad(cpu_s=cpu_s, wall_s=1.0, lags=list(lags))


def test_a_client_at_its_limit_says_so():
    on_time = [Row(i, 0.0, ready=0.001) for i in range(10)]
    assert load(0.5, [0.001] * 100).warnings(on_time) == []
    (warning,) = load(0.95).warnings(on_time)
    assert "95% of one core" in warning


def test_a_client_that_sends_late_says_so():
    late = [Row(i, 0.0, ready=0.3) for i in range(10)]
    (warning,) = load().warnings(late)
    assert "300 ms after they were due (10 of 10 more than 20 ms)" in warning


def test_a_client_that_reads_late_says_so():
    (warning,) = load(lags=[0.05] * 100).warnings([])
    assert "50 ms late" in warning


def test_the_load_is_of_the_clients_own_thread():
    async def busy():
        async with ClientLoad() as measured:
            await asyncio.sleep(0.1)
        return measured

    stop = threading.Event()
    other = threading.Thread(target=lambda: [None for _ in iter(stop.is_set, True)])
    other.start()
    try:
        measured = in_own_thread(busy)
    finally:
        stop.set()
        other.join()
    assert measured.cpu_share < 0.5
    assert measured.lags


def test_an_error_in_the_other_thread_is_raised_here():
    async def wrong():
        raise LookupError("no such thing")

    with pytest.raises(LookupError, match="no such thing"):
        in_own_thread(wrong)


def test_a_replay_may_be_called_where_a_loop_runs():
    async def notebook():
        return mb.replay(server.url, requests(1))

    with serving(echo) as server:
        assert asyncio.run(notebook()).count("served") == 1


# Pictures -----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def replayed():
    with serving(echo) as server:
        some = [
            mb.Request([1], max_tokens=4, arrival_time=0.01 * i, request_id="ABC"[i])
            for i in range(3)
        ]
        return mb.replay(server.url, some)


def test_the_trace_has_a_summary(replayed):
    summary = replayed.trace.summary()
    assert summary["output_tokens"] == 12
    assert summary["ttft_p50_s"] > 0
    assert summary["output_tokens_per_s"] == pytest.approx(replayed.output_tokens_per_s)


@pytest.mark.parametrize(
    "draw",
    [
        lambda r: mb.plots.waits(r.trace),
        lambda r: mb.plots.waits_by_arrival(r.trace),
        lambda r: mb.plots.seismograph(r.trace, joining=()),
        lambda r: mb.plots.request_times(r.completions[0]),
        lambda r: mb.plots.two_clocks(
            *([getattr(row, name) for row in r.rows] for name in ("due", "sent", "first_token"))
        ),
    ],
)
def test_the_courses_pictures_draw_a_replay(replayed, draw):
    figure = draw(replayed)
    assert figure.axes[0].has_data()
    plt.close(figure)

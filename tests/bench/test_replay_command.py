"""`python -m minibatch replay`: workloads by name and by file, and what is printed."""

import json

import pytest
from scripted_server import json_answer, serving, words

import minibatch as mb
from minibatch.bench import replay_workloads
from minibatch.bench.null_server import client_limit
from minibatch.bench.replay_command import main
from minibatch.bench.replay_workloads import FIRST_ID, LAST_ID, workload

CSV = """TIMESTAMP,ContextTokens,GeneratedTokens
2023-11-16 18:15:00.0000000,100,10
2023-11-16 18:15:02.0000000,50,4
2023-11-16 18:15:04.0000000,10,1
"""


@pytest.fixture
def trace(tmp_path):
    path = tmp_path / "trace.csv"
    path.write_text(CSV, encoding="utf-8")
    return str(path)


def lengths(requests):
    return [(len(r.prompt), r.max_tokens) for r in requests]


def arrivals(requests):
    return [r.arrival_time for r in requests]


def test_a_file_gives_arrivals_and_lengths(trace):
    requests = workload(trace)
    assert arrivals(requests) == [0, 2, 4]
    assert lengths(requests) == [(100, 10), (50, 4), (10, 1)]
    assert all(r.ignore_eos for r in requests)
    assert all(FIRST_ID <= i <= LAST_ID for r in requests for i in r.prompt)


def test_mooncakes_file_gives_the_same(tmp_path):
    lines = [{"timestamp": 2000 * i, "input_length": 9, "output_length": 2} for i in range(2)]
    path = tmp_path / "trace.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    assert arrivals(workload(str(path))) == [0, 2]


def test_a_file_is_cut_scaled_and_made_quicker(trace):
    requests = workload(trace, num_requests=2, rate=5.0, scale=0.1)
    assert arrivals(requests) == [0, pytest.approx(0.2)]
    assert lengths(requests) == [(10, 1), (5, 1)]


def test_a_name_draws_from_a_public_trace():
    all_at_once = workload("azure-code", num_requests=30)
    later = workload("azure-code", num_requests=30, rate=10.0)
    assert set(arrivals(all_at_once)) == {0}
    assert arrivals(later) == sorted(arrivals(later))
    assert 1 < arrivals(later)[-1] < 10
    traffic = mb.traffic.poisson(10.0, 30, mb.traffic.AZURE_CODE)
    assert [n for n, _ in lengths(later)] == traffic.prompt.tolist()


def test_a_seed_repeats_a_workload_and_another_changes_it():
    one, same, other = (workload("azure-code", num_requests=5, seed=s) for s in (1, 1, 2))
    assert [r.prompt for r in one] == [r.prompt for r in same]
    assert [r.prompt for r in one] != [r.prompt for r in other]


def test_text_prompts_have_a_word_for_each_token(trace):
    assert [len(r.prompt.split()) for r in workload(trace, text=True)] == [100, 50, 10]


def test_the_agents_are_the_courses(monkeypatch):
    monkeypatch.setattr("minibatch.model.load.load_model", mb.PretendModel)
    requests = workload("agents", num_requests=9, scale=0.1, rate=4.0)
    assert [r.request_id for r in requests][-2:] == ["H", "A2"]
    assert arrivals(requests) == sorted(arrivals(requests))


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("shakespeare", {}, "choose agents, azure-conversation, azure-code, or a file"),
        ("gone.csv", {}, "there is no file gone.csv"),
        ("agents", {"num_requests": 0}, "num_requests is 0; give 1 or more"),
        ("agents", {"rate": -1.0}, "rate is -1.0; give requests per second, above 0"),
        ("azure-code", {"scale": 0.0}, "scale is 0.0; give a factor above 0"),
    ],
)
def test_what_does_not_exist_is_refused(name, options, message):
    with pytest.raises(ValueError, match=message):
        workload(name, **options)


def test_a_file_without_the_columns_is_refused(tmp_path):
    path = tmp_path / "other.csv"
    path.write_text("when,what\n1,2\n", encoding="utf-8")
    with pytest.raises(ValueError, match="has no column 'TIMESTAMP'"):
        workload(str(path))


def test_one_request_has_no_rate(trace):
    with pytest.raises(ValueError, match="no gaps to scale"):
        workload(trace, num_requests=1, rate=2.0)


def test_every_name_is_a_workload(monkeypatch):
    monkeypatch.setattr("minibatch.model.load.load_model", mb.PretendModel)
    for name in replay_workloads.NAMES:
        assert len(workload(name, num_requests=3, scale=0.1)) == 3


# The command --------------------------------------------------------------------------------------


def echo(body):
    return words(body["max_tokens"])


def test_the_command_prints_a_table_and_saves_rows(trace, tmp_path, capsys):
    rows = tmp_path / "rows.jsonl"
    with serving(echo) as server:
        status = main([server.url, "--workload", trace, "--rate", "50", "--slo-ttft", "30",
                       "--slo-tpot", "5", "--seed", "3", "--save", str(rows)])  # fmt: skip
    out = capsys.readouterr().out
    assert status == 0
    assert "3 requests in" in out
    assert "3 served, 0 failed, 0 cancelled" in out
    assert "3 of 3 met TTFT ≤ 30 s, TPOT ≤ 5 s" in out
    assert len(rows.read_text("utf-8").splitlines()) == 3
    assert server.bodies[0]["ignore_eos"] is True


def test_options_reach_the_server(trace):
    with serving(echo) as server:
        main([server.url, "--workload", trace, "--num-requests", "1", "--model", "m", "--text",
              "--api-key", "k", "--no-ignore-eos", "--extra-body", '{"n": 1}'])  # fmt: skip
    (body,) = server.bodies
    assert (body["model"], body["n"]) == ("m", 1)
    assert "ignore_eos" not in body
    assert isinstance(body["prompt"], str)
    assert "bearer k" in server.heads[0].lower()


def test_no_answer_at_all_is_a_failure(trace, capsys):
    refuse = json_answer(503, {"error": {"message": "the queue is full"}})
    with serving(lambda body: refuse) as server:
        assert main([server.url, "--workload", trace, "--rate", "50"]) == 1
    assert "3 × HTTP 503: the queue is full" in capsys.readouterr().out


def test_no_server_is_a_sentence(trace, capsys):
    with serving(echo) as server:
        url = server.url
    assert main([url, "--workload", trace]) == 2
    assert capsys.readouterr().err.startswith("python -m minibatch replay: no server answers at")


@pytest.mark.parametrize(
    "arguments",
    [
        ["--save", "no/such/folder/x"],
        ["--max-concurrency", "0"],
        ["--slo-ttft", "0"],
        ["--workload", "agents", "--chat"],
    ],
)
def test_wrong_options_are_told_before_anything_is_sent(arguments, capsys):
    assert main(["http://127.0.0.1:9", *arguments]) == 2
    assert "no server answers" not in capsys.readouterr().err


def test_an_extra_body_must_be_an_object(capsys):
    with pytest.raises(SystemExit):
        main(["localhost", "--extra-body", "[1]"])
    assert "is not a JSON object" in capsys.readouterr().err


def test_the_client_can_be_measured_alone():
    sentence = client_limit(3)
    assert "of 3 streams" in sentence
    assert "µs of CPU time a token" in sentence

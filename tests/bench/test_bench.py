import json
from contextlib import contextmanager

import pytest
import release_goals
import torch

from minibatch.bench import agreement, bench_report, rounds
from minibatch.bench import command as bench
from minibatch.bench.contenders import CONTENDERS, NotAvailableError
from minibatch.bench.stopwatch import Stopwatch

NUM_AGENTS, NUM_ROUNDS = 2, 2


@pytest.fixture(scope="module", autouse=True)
def _one_thread():
    """Nothing here is timed, and one thread does not mind what else the machine does."""
    before = torch.get_num_threads()
    bench._set_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def folder(tiny_model, tmp_path_factory):
    """A saved model of 2 layers, for `--model`."""
    folder = tmp_path_factory.mktemp("tiny")
    tiny_model.hf.save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def measured(folder):
    """(exit status, what was written as JSON, what was printed) of a whole small run."""
    arguments = [
        "--agents",
        str(NUM_AGENTS),
        "--rounds",
        str(NUM_ROUNDS),
        "--scale",
        "0.02",
        "--threads",
        "1",
    ]
    with pytest.MonkeyPatch.context() as patch:
        printed = []
        patch.setattr("builtins.print", lambda *parts, **_: printed.append(" ".join(parts)))
        file = folder / "bench.json"
        status = bench.main([*arguments, "--model", str(folder), "--json", str(file)])
    return status, json.loads(file.read_text(encoding="utf-8")), "\n".join(printed)


def run(contender="continuous", round=1, seconds=1.0, forward_seconds=0.95, differences=()):
    return rounds.Run(
        workload="short prompts",
        contender=contender,
        round=round,
        seconds=seconds,
        forward_seconds=forward_seconds,
        steps=10,
        output_tokens=100,
        differences=list(differences),
    )


def test_everyone_runs_in_every_round(measured):
    status, written, _ = measured
    assert status == 0
    assert written["not_available"] == {}
    assert sorted((r["contender"], r["round"]) for r in written["runs"]) == sorted(
        (name, round) for name in CONTENDERS for round in range(1, NUM_ROUNDS + 1)
    )


def test_each_round_begins_with_another_contender(measured):
    order = [r["contender"] for r in measured[1]["runs"]]
    names = list(CONTENDERS)
    assert order == names + names[3:] + names[:3]


def test_everyone_gives_the_tokens_of_generate(measured):
    """Or a tie: which of two equal logits wins may depend on the order of summation."""
    differences = [d for r in measured[1]["runs"] for d in r["differences"]]
    assert all(abs(d["gap"]) < agreement.TIE for d in differences)


def test_steps_are_the_forward_passes_that_each_policy_needs(measured):
    lengths = measured[1]["workloads"][0]["output_tokens"]
    steps = {r["contender"]: r["steps"] for r in measured[1]["runs"]}
    assert lengths == [20, 45]
    assert steps["generate"] == steps["sequential"] == sum(lengths)
    assert steps["generate-static"] == steps["static"] == steps["dynamic"] == max(lengths)
    assert steps["continuous"] == max(lengths)
    assert steps["transformers-cb"] >= max(lengths)


def test_time_in_the_forward_pass_is_part_of_the_time(measured):
    assert all(0 < r["forward_seconds"] < r["seconds"] for r in measured[1]["runs"])


def test_the_report_names_everyone_the_machine_and_the_limits(measured):
    _, written, printed = measured
    for contender in CONTENDERS.values():
        assert contender.title in printed
    assert written["machine"]["cpu"] in printed
    assert f"transformers {written['machine']['transformers']}" in printed
    assert "What these numbers do not show" in printed


def test_a_workload_past_the_models_context_is_left_out_with_the_numbers(folder, capsys):
    assert bench.main(["--agents", "8", "--model", str(folder), "--only", "continuous"]) == 0
    printed = capsys.readouterr().out
    assert "published prompts: left out; its requests need 1,500 tokens" in printed
    assert "short prompts: left out; its requests need 330 tokens" in printed
    assert "Nothing was measured" in printed


def test_an_interrupted_run_prints_what_it_has(folder, capsys, monkeypatch):
    serve, calls = rounds.serve, []

    def interrupted(*arguments):
        calls.append(arguments)
        if len(calls) == 4:  # two to warm up, one measured, and then
            raise KeyboardInterrupt
        return serve(*arguments)

    monkeypatch.setattr(rounds, "serve", interrupted)
    arguments = ["--agents", "1", "--scale", "0.02", "--only", "static,continuous"]
    assert bench.main([*arguments, "--model", str(folder)]) == bench.INTERRUPTED
    printed = capsys.readouterr().out
    assert "Interrupted" in printed
    assert "minibatch Static(8)" in printed
    assert "minibatch Continuous(8)  " not in printed


def test_a_contender_that_cannot_run_is_named_with_the_reason(folder, capsys, monkeypatch):
    monkeypatch.setattr("transformers.ContinuousBatchingConfig", None)
    arguments = ["--agents", "1", "--scale", "0.02", "--only", "transformers-cb,continuous"]
    assert bench.main([*arguments, "--model", str(folder), "--rounds", "1"]) == 0
    printed = capsys.readouterr().out
    assert "transformers continuous: not available: TypeError" in printed
    assert "minibatch Continuous(8)  " in printed


def test_a_contender_that_does_less_work_is_left_out(tiny_model):
    requests = rounds.agents_workload(tiny_model, "short", 1, 0.02).requests

    @contextmanager
    def prepare(model, requests):
        with CONTENDERS["continuous"].prepare(model, requests) as answer_all:
            yield lambda: [answer[:-1] for answer in answer_all()]

    contender = rounds.Contender("lazy", "lazy", prepare)
    watch = Stopwatch(tiny_model.device)
    with pytest.raises(NotAvailableError, match="'A' with 19 tokens, not 20"):
        rounds.serve(tiny_model, requests, contender, watch)


def test_a_wrong_token_is_no_tie_and_fails_the_run(tiny_model):
    requests = rounds.agents_workload(tiny_model, "short", 1, 0.02).requests
    judge = agreement.Agreement(tiny_model, requests)
    with CONTENDERS["generate"].prepare(tiny_model, requests) as answer_all:
        expected = answer_all()
    assert judge.compare("continuous", expected) is None  # nothing to compare with yet
    assert judge.compare("generate", expected) == []
    wrong = [expected[0][:7] + [(expected[0][7] + 1) % 128] + expected[0][8:]]
    (difference,) = judge.compare("continuous", wrong)
    assert (difference.request_id, difference.position) == ("A", 7)
    assert not difference.is_tie
    assert bench_report.wrong_answers(rounds.Results([run(differences=[difference])]))
    assert not bench_report.wrong_answers(rounds.Results([run("generate-static", 1, 1, 1)]))


def test_ratios_are_taken_within_a_round():
    own = [run(round=1, seconds=1.0), run(round=2, seconds=2.0)]
    rival = [run(round=2, seconds=6.0), run(round=1, seconds=2.0)]
    assert bench_report.ratios_of(own, rival) == [2.0, 3.0]
    assert bench_report.ratios_of(own[:1], rival[:1]) == []


@pytest.mark.parametrize(
    ("is_met", "reached", "words"),
    [
        (True, [True], "met, in the one round"),
        (False, [False], "missed, in the one round"),
        (True, [True, True, True], "met in all 3 rounds"),
        (False, [False, False, False], "missed in all 3 rounds"),
        (True, [True, False, True], "met by the median, reached in 2 of 3 rounds"),
        (False, [True, False, False], "missed by the median, reached in 1 of 3 rounds"),
        (True, [True, False], "met by the median, reached in 1 of 2 rounds"),
    ],
)
def test_the_verdict_follows_from_the_median_and_the_rounds(is_met, reached, words):
    assert release_goals.verdict(is_met, reached) == words


def test_the_goals_of_a_release_are_judged_from_the_written_results(measured):
    results = {**measured[1], "workloads": [{"name": "short prompts", "prompt_tokens": [1, 2]}]}
    own = {"workload": "short prompts", "round": 1, "output_tokens": 100, "seconds": 1.0}
    results["runs"] = [
        {**own, "contender": "continuous", "forward_seconds": 0.95},
        {**own, "contender": "generate", "seconds": 4.5},
        {**own, "contender": "generate-static", "seconds": 1.5},
    ]
    (first, second, outside, conditions), all_met = release_goals.judge(results)
    assert "4.50 times as fast as generate; goal 4.3 or more: met" in first
    assert "1.50 times as fast as generate-static; goal 2.0 or more: missed" in second
    assert "5.0% of its time outside the forward pass; goal 10% or less: met" in outside
    assert f"{NUM_AGENTS} agents, not 50" in conditions
    assert not all_met


def test_a_policy_of_ours_that_does_other_work_fails_the_run():
    assert bench_report.wrong_answers(rounds.Results(not_available={"continuous": "19 tokens"}))
    assert not bench_report.wrong_answers(rounds.Results(not_available={"transformers-cb": "old"}))


def test_everyone_takes_a_turn_in_every_round_and_nobody_is_always_last(tiny_model):
    workload = rounds.agents_workload(tiny_model, "short", 1, 0.02)
    found = list(rounds.turns([workload], list("abc"), 3))
    orders = [[name for n, _, name in found if n == round] for round in range(4)]
    assert all(sorted(order) == ["a", "b", "c"] for order in orders)
    assert len({order[-1] for order in orders[1:]}) == 3  # nobody is always the last


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--only", "vllm"], "there is no 'vllm'"),
        (["--rounds", "0"], "'0' is not a whole number of 1 or more"),
        (["--threads", "4096"], "may run on"),
        (["--json", "no/such/folder/bench.json"], "there is no folder"),
        (["--model", "/no/such/model"], "cannot load"),
    ],
)
def test_a_bad_argument_is_refused_before_anything_is_measured(arguments, message, capsys):
    with pytest.raises(SystemExit):
        bench.main(arguments)
    assert message in capsys.readouterr().err

"""The checks of `python -m minibatch gpu`, on a CPU: the kernels in the lab, and a stand-in for
graphs."""

import json
from types import SimpleNamespace

import pytest
import torch
from stand_in_gpu import Launcher, StandInCUDA
from tiny import make_tiny_llama
from transformers import LlamaConfig, LlamaForCausalLM

import minibatch as mb
from minibatch.attention.cuda.paged_attention import PagedAttention
from minibatch.bench import gpu_checks
from minibatch.bench.kernels import Case
from minibatch.model.graphs import DecodeGraphs

CPU = torch.device("cpu")
SMALL = Case(batch=1, context=5, head_dim=16, group=1, longest=18)


@pytest.fixture
def model(monkeypatch):
    """A tiny one, in the place of each that is loaded, with a stand-in for a GPU's graphs."""
    attention = PagedAttention("auto", Launcher(StandInCUDA(monkeypatch)))
    monkeypatch.setattr("minibatch.model.load.choose", lambda *given: attention)
    monkeypatch.setattr("minibatch.model.graphs.recorded", DecodeGraphs)
    hf = make_tiny_llama(hidden_size=64, max_position_embeddings=512, vocab_size=1024)
    model = mb.Model(hf)
    monkeypatch.setattr(gpu_checks, "load_model", lambda *name, **options: model)
    return model


@pytest.mark.filterwarnings("ignore:No GPU runs these kernels")
def test_kernels_are_held_against_float64():
    rows = list(gpu_checks.kernels(CPU, ("simple", "tiled"), SMALL))
    names = [(row["kernel"], row["dtype"]) for row in rows]
    kernels = ("simple", "tiled", "write_kv")
    assert names == [(name, dtype) for dtype in ("float32", "bfloat16") for name in kernels]
    assert all(row["largest_error"] < 1e-2 for row in rows)
    assert rows[0]["largest_error"] < 2e-5
    assert [row["fault"] for row in rows if "fault" in row] == []


@pytest.mark.parametrize("wrong", [1e-3, float("nan")])
def test_a_wrong_kernel_and_one_that_fails_are_faults(monkeypatch, wrong):
    def choose(name, device):
        right = mb.attention.reference_attention
        return None if name == "fails" else lambda *given: right(*given) + wrong

    monkeypatch.setattr(gpu_checks, "choose", choose)
    wrong, fails, writes, *_ = gpu_checks.kernels(CPU, ("wrong", "fails"), SMALL)
    assert "2.0e-05" in wrong["fault"]
    assert "TypeError" in fails["fault"]
    assert "AttributeError" in writes["fault"]


def test_a_write_of_other_numbers_is_a_fault(monkeypatch):
    class Forgets:
        def write_kv(self, *arguments):
            pass

    monkeypatch.setattr(gpu_checks, "choose", lambda *given: Forgets())
    *_, writes = gpu_checks.kernels(CPU, ("any",), SMALL)
    assert (writes["kernel"], "0.0e+00" in writes["fault"]) == ("write_kv", True)


def test_tokens_are_those_of_the_cpu(model):
    rows = list(gpu_checks.tokens(CPU, num_agents=2))
    assert [row["same"] for row in rows] == [2, 2]
    assert not any("fault" in row for row in rows)


def test_other_tokens_are_a_fault_unless_they_are_a_tie(model, monkeypatch):
    answers = gpu_checks._answers

    def other(model, requests, graphs=False):
        first, *rest = answers(model, requests)
        return [[first[0] ^ graphs, *first[1:]], *rest]

    monkeypatch.setattr(gpu_checks, "_answers", other)
    same, differs = gpu_checks.tokens(CPU, num_agents=2)
    assert "fault" not in same
    assert (differs["same"], "fault" in differs) == (1, True)


def test_each_way_serves_the_same_tokens(model):
    requests = gpu_checks.fixed_lengths(5, 4, (2, 3))
    rows = list(gpu_checks.served("tiny", model, requests, batch_size=4))
    assert [row.get("fault") for row in rows] == [None] * 6
    assert {row["same"] for row in rows} == {"5/5"}
    assert {row["tokens"] for row in rows} == {12}
    assert all(row["tokens_per_s"] == row["tokens"] / row["seconds"] for row in rows)


def test_a_way_that_fails_does_not_stop_the_others(model, monkeypatch):
    monkeypatch.setattr("minibatch.model.graphs.recorded", None)
    rows = list(gpu_checks.served("tiny", model, gpu_checks.fixed_lengths(1, 2, (2,)), 4))
    assert ["fault" in row for row in rows] == [False, False, False, True, False, True]


def test_the_random_llama_has_its_size_and_dtype():
    with torch.device("meta"):
        llama = LlamaForCausalLM(LlamaConfig(**gpu_checks.LLAMA_1B))
    assert llama.num_parameters() == pytest.approx(1.24e9, rel=0.01)
    small = {"hidden_size": 64, "num_attention_heads": 4, "num_hidden_layers": 1}
    model = gpu_checks.random_llama(CPU, **small, vocab_size=64, intermediate_size=64)
    assert (model.dtype, model.hf.config.hidden_size) == (torch.bfloat16, 64)


@pytest.mark.parametrize(("ours", "is_fault"), [(1e-3, False), ("OutOfMemoryError: no", True)])
def test_a_shape_that_our_kernel_cannot_do_is_a_fault(monkeypatch, ours, is_fault):
    took = {"ours": ours, "sdpa": 2e-3, "flex": "ImportError: no flex"}
    monkeypatch.setattr(gpu_checks.bench_kernels, "copy_bandwidth", lambda: 3e12)
    monkeypatch.setattr(gpu_checks.bench_kernels, "cases", lambda quick: [SMALL])
    monkeypatch.setattr(gpu_checks.bench_kernels, "seconds_of_each", lambda case: took)
    copy, row = gpu_checks.bench(CPU)
    assert copy["ours"] == "3.00 TB/s"
    assert ("2,000 µs" in row["sdpa"], row["flex"]) == (True, "ImportError")
    assert ("fault" in row) == is_fault


def test_the_doctors_troubles_are_rows_and_a_missing_driver_is_a_fault(monkeypatch):
    found = [{"topic": "CPU", "status": "warning", "seen": "busy"}, {"status": "OK"}]
    done = SimpleNamespace(stdout=json.dumps(found))
    monkeypatch.setattr(gpu_checks.subprocess, "run", lambda *command, **options: done)
    monkeypatch.setattr("minibatch.attention.cuda.gpu.cuda.is_available", lambda: False)
    monkeypatch.setattr("minibatch.attention.cuda.gpu.cuda.cuda_error", lambda: "no libcuda.")
    _, numba, doctor = gpu_checks.driver(CPU)
    assert "no libcuda" in numba["fault"]
    assert doctor == {"what": "doctor: CPU", "found": "busy"}


@pytest.mark.parametrize(
    ("rows", "status", "last"),
    [([{"a": 1}], 0, "1 results"), ([{"a": 1}, {"fault": "bad"}], 1, "1 of 2 failed: bad")],
)
def test_rows_go_to_the_file_and_a_fault_to_the_status(
    monkeypatch, tmp_path, capsys, rows, status, last
):
    monkeypatch.setitem(gpu_checks.CHECKS, "kernels", lambda device: iter(rows))
    assert gpu_checks.main(["kernels", str(tmp_path / "rows")]) == status
    lines = (tmp_path / "rows").read_text("utf-8").splitlines()
    assert [json.loads(line) for line in lines] == rows
    assert capsys.readouterr().out.strip() == last

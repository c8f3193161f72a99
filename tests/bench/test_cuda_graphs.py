"""`bench graphs`: its table, through a stand-in for a GPU; without one, a sentence."""

import torch
from stand_in_gpu import Launcher, StandInCUDA
from tiny import make_tiny_llama

import minibatch as mb
from minibatch.attention.cuda.paged_attention import PagedAttention
from minibatch.bench import command, cuda_graphs
from minibatch.model.graphs import DecodeGraphs


def test_without_a_gpu_it_says_so(capsys, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert command.main(["graphs"]) == 2
    assert "an NVIDIA GPU, and torch sees none" in capsys.readouterr().err


def test_both_serve_the_same_and_every_batch_size_has_a_line(monkeypatch):
    cuda, used = StandInCUDA(monkeypatch), []

    def recorded(runner, *most):
        used.append(most[0])
        return DecodeGraphs(runner, *most)

    attention = PagedAttention("auto", Launcher(cuda))
    monkeypatch.setattr("minibatch.model.load.choose", lambda *given: attention)
    monkeypatch.setattr("minibatch.model.graphs.recorded", recorded)
    model = mb.Model(make_tiny_llama(hidden_size=64, max_position_embeddings=512))
    lines = list(cuda_graphs.table(model, (1, 2), num_agents=2, rounds=1))
    assert [line.split()[0] for line in lines] == ["batch", "1", "2"]
    assert used == [1, 2]
    assert cuda.num_replays > 0

"""Our own forward pass of a Llama says what transformers' says, and is used for nothing else."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from ragged import plan_of
from tiny import VOCAB_SIZE, make_tiny_llama
from transformers.models.llama import modeling_llama

import minibatch as mb
from minibatch.attention.cpu_decode import cpu_attention
from minibatch.attention.reference import reference_attention
from minibatch.model import llama
from minibatch.model import runner as runners
from minibatch.model.runner import ModelRunner

ROWS = st.tuples(st.integers(0, 40), st.integers(0, 9), st.integers(0, 4)).filter(
    lambda row: row[1] or (row[0] and row[2])
)


def own_and_transformers(model, plan, block_size, num_blocks, seed):
    """Logits of one pass over the same cache: by our own forward pass, and by transformers'."""
    logits = []
    for is_own in (True, False):
        runner = ModelRunner(model.hf, model.kv_shapes, num_blocks, block_size, cpu_attention)
        assert runner.llama is llama
        if not is_own:
            runner.llama = None
        generator = torch.Generator().manual_seed(seed)
        for cache in runner.kv_cache.keys + runner.kv_cache.values:
            cache.normal_(generator=generator)
        for row in plan.rows:
            row.sequence.token_ids[:] = [token % VOCAB_SIZE for token in row.sequence.token_ids]
        logits.append(runner.forward(plan))
    return logits


@settings(max_examples=40)
@given(st.lists(ROWS, min_size=1, max_size=5), st.sampled_from([1, 4, 16]), st.integers(0, 999))
def test_the_logits_are_transformers_own(tiny_model, rows, block_size, seed):
    own, expected = own_and_transformers(tiny_model, *plan_of(rows, block_size, seed), seed)
    torch.testing.assert_close(own, expected, rtol=1e-4, atol=1e-3)


def test_a_long_pass_is_the_same(long_tiny_model):
    rows = [(0, 400, 0), (700, 1, 0), (30, 1, 0)]
    own, expected = own_and_transformers(long_tiny_model, *plan_of(rows, 16, 1), 1)
    torch.testing.assert_close(own, expected, rtol=1e-4, atol=1e-3)


def test_biases_are_added():
    hf = make_tiny_llama()
    for layer in hf.model.layers:
        for linear in (layer.self_attn.q_proj, layer.self_attn.o_proj, layer.mlp.up_proj):
            linear.bias = torch.nn.Parameter(torch.randn(linear.out_features))
    own, expected = own_and_transformers(mb.Model(hf), *plan_of([(0, 5, 0), (9, 1, 0)], 4, 2), 2)
    torch.testing.assert_close(own, expected, rtol=1e-4, atol=1e-3)


class OtherMLP(modeling_llama.LlamaMLP):
    """Computes something of its own."""


@pytest.mark.parametrize("change", ["an MLP", "a norm", "a layer", "another dtype", "another gate"])
def test_a_llama_with_a_part_of_its_own_is_left_to_transformers(change):
    hf = make_tiny_llama()
    assert llama.fits(hf)
    if change == "an MLP":
        hf.model.layers[1].mlp = OtherMLP(hf.config)
    elif change == "a norm":
        hf.model.layers[0].input_layernorm = torch.nn.LayerNorm(32)
    elif change == "a layer":
        hf.model.layers[1] = torch.nn.Sequential(hf.model.layers[1])
    elif change == "another dtype":
        hf.to(torch.bfloat16)
    else:
        hf.config.hidden_act = "gelu"
    assert not llama.fits(hf)


def test_an_attention_function_of_ones_own_runs_in_transformers_layers(tiny_model):
    def mine(*arguments):
        return reference_attention(*arguments)

    for attention in (mine, "reference", "gather"):
        engine = mb.Engine(tiny_model, mb.Sequential(), num_blocks=4, attention=attention)
        assert engine.runner.llama is None


def test_hooks_on_whatever_has_weights_still_run(tiny_model):
    called = []
    modules = [tiny_model.hf.get_input_embeddings(), tiny_model.hf.get_output_embeddings()]
    modules += [m for m in tiny_model.hf.model.modules() if isinstance(m, torch.nn.Linear)]
    hooks = [m.register_forward_hook(lambda module, *_: called.append(module)) for m in modules]
    try:
        engine = mb.Engine(tiny_model, mb.Sequential(), num_blocks=4)
        engine.run([mb.Request([5, 6, 7], max_tokens=1)])
    finally:
        for hook in hooks:
            hook.remove()
    assert sorted(map(id, called)) == sorted(map(id, modules))


@pytest.mark.parametrize("which", ["layers.1", "layers.0.self_attn", "layers.1.mlp", "norm"])
def test_a_hook_on_any_module_is_called(tiny_model, which):
    called = []
    module = tiny_model.hf.model.get_submodule(which)
    engine = mb.Engine(tiny_model, mb.Sequential(), num_blocks=4)
    hook = module.register_forward_hook(lambda *_: called.append(which))
    try:
        with_hook = engine.run([mb.Request([5, 6, 7], max_tokens=3)])
    finally:
        hook.remove()
    assert called == [which] * 3
    [without] = engine.run([mb.Request([5, 6, 7], max_tokens=3)])
    assert without.token_ids == with_hook[0].token_ids
    assert len(called) == 3


def test_a_small_step_gets_one_thread_and_a_large_one_all(tiny_model, monkeypatch):
    seen = []
    embedding = tiny_model.hf.get_input_embeddings()
    hook = embedding.register_forward_hook(lambda *_: seen.append(torch.get_num_threads()))
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    try:
        engine = mb.Engine(tiny_model, mb.Sequential(), num_blocks=8)
        monkeypatch.setattr(runners, "SMALL_STEP", 20 * engine.runner.num_parameters)
        engine.run([mb.Request([5] * n, max_tokens=2, ignore_eos=True) for n in (20, 21)])
        assert torch.get_num_threads() == 3
    finally:
        hook.remove()
        torch.set_num_threads(before)
    assert seen == [1, 1, 3, 1]

"""The same engine on an NVIDIA GPU: the same tokens in float32, half precision within tolerance."""

from __future__ import annotations

import pytest
import torch
from architectures import CONTEXT, build, served
from hypothesis import given, settings
from hypothesis import strategies as st
from many_policies import BLOCK_SIZES, LONGEST, POLICIES, requests
from oracle import assert_same_sample, assert_same_tokens
from ragged import plan_of, ragged_batches
from tiny import make_tiny_llama, make_tiny_model

import minibatch as mb
from minibatch.attention import reference_attention
from minibatch.attention.gather_sdpa import gather_sdpa_attention
from minibatch.attention.metadata import build_metadata
from minibatch.memory.kv_cache import KVCache

pytestmark = pytest.mark.gpu

CUDA = torch.device("cuda")
CASES = ["llama gqa tied", "qwen3 gqa wide heads", "phi3 gqa", "gpt2 tied", "opt tied", "mixtral"]


@pytest.fixture(scope="module", params=CASES, ids=lambda name: name.replace(" ", "-"))
def model(request) -> mb.Model:
    return mb.Model(served(request.param).to(CUDA))


@pytest.mark.parametrize("block_size", BLOCK_SIZES, ids=lambda size: f"blocks-of-{size}")
@pytest.mark.parametrize("policy", POLICIES, ids=lambda name: name.replace(" ", "-"))
def test_the_tokens_in_float32_are_those_of_generate(model, policy, block_size):
    tight = policy == "continuous in a tight pool"
    num_blocks = -(-LONGEST // block_size) if tight else None
    engine = mb.Engine(
        model,
        POLICIES[policy](),
        num_blocks=num_blocks,
        block_size=block_size,
        clock=mb.VirtualClock(),
    )
    asked = requests()
    for request, completion in zip(asked, engine.run(asked), strict=True):
        assert_same_tokens(model, request, completion.token_ids)
    assert engine.pool.num_free == engine.pool.num_blocks


def test_the_gpu_says_what_the_cpu_says():
    answers = []
    for device in ("cpu", "cuda"):
        model = mb.Model(make_tiny_model().hf.to(device))
        engine = mb.Engine(model, mb.Continuous(3), block_size=7)
        asked = [mb.Request([i + 2, 7, 9], max_tokens=9, ignore_eos=True) for i in range(5)]
        answers.append([completion.token_ids for completion in engine.run(asked)])
    cpu, gpu = answers
    for request, got, expected in zip(asked, gpu, cpu, strict=True):
        assert_same_tokens(model, request, got, expected)


@pytest.mark.parametrize("attention", ["auto", "tiled", "split", "simple"])
def test_graphs_change_no_token(attention):
    """With padded steps, in a pool that makes the engine preempt, and with draws."""
    model = mb.Model(make_tiny_llama(hidden_size=64).to(CUDA))
    asked = [
        mb.Request([i + 2, 7, 9] * (i + 1), max_tokens=20 + i, seed=i, temperature=i % 2)
        for i in range(9)
    ]
    answers = []
    for cuda_graphs in (False, True):
        options = {"attention": attention, "block_size": 4, "num_blocks": 30}
        engine = mb.Engine(model, mb.Continuous(5), cuda_graphs=cuda_graphs, **options)
        engine.on_step(lambda record, engine=engine: engine.check_invariants())
        answers.append([completion.token_ids for completion in engine.run(asked)])
        assert engine.trace.summary()["num_preemptions"] > 0
    for request, expected, got in zip(asked, *answers, strict=True):
        compare = assert_same_sample if request.temperature else assert_same_tokens
        compare(model, request, got, expected)


@pytest.mark.parametrize("cuda_graphs", [False, True])
def test_overlapped_steps_change_no_token(cuda_graphs):
    """In a pool that makes the engine preempt, with draws, and with answers that stop."""
    model = mb.Model(make_tiny_llama(hidden_size=64).to(CUDA))
    asked = [
        mb.Request(
            [i + 2, 7, 9] * (i + 1),
            max_tokens=20 + i,
            seed=i,
            temperature=i % 2,
            stop_token_ids=range(2, 128, 9) if i % 3 else (),
        )
        for i in range(9)
    ]
    answers = []
    for overlap in (False, True):
        options = {"block_size": 4, "num_blocks": 30, "cuda_graphs": cuda_graphs}
        engine = mb.Engine(model, mb.Continuous(5), overlap=overlap, **options)
        engine.on_step(lambda record, engine=engine: engine.check_invariants())
        answers.append([completion.token_ids for completion in engine.run(asked)])
    assert engine.trace.summary()["num_wasted_rows"] > 0
    for request, expected, got in zip(asked, *answers, strict=True):
        compare = assert_same_sample if request.temperature else assert_same_tokens
        compare(model, request, got, expected)


def test_a_step_that_cannot_be_recorded_leaves_the_gpu_as_it_was():
    """It waits for the GPU in the middle: refused, and an engine without graphs serves on."""
    model = mb.Model(make_tiny_llama(hidden_size=64).to(CUDA))
    hook = model.hf.model.norm.register_forward_hook(
        lambda module, given, out: out.isnan().any().item() or None
    )
    policy = mb.Continuous(2)
    with pytest.raises(RuntimeError, match="cannot be recorded"):
        mb.Engine(model, policy, cuda_graphs=True)
    hook.remove()
    [completion] = mb.Engine(model, policy).run([mb.Request([2, 7], max_tokens=3, ignore_eos=True)])
    assert len(completion.token_ids) == 3


def test_a_model_without_a_device_named_goes_to_the_gpu(tmp_path):
    build("Llama", num_key_value_heads=2).save_pretrained(tmp_path)
    assert mb.load_model(tmp_path).device.type == "cuda"
    assert mb.load_model(tmp_path, device="cpu").device.type == "cpu"


HALF = {"bfloat16": (torch.bfloat16, 4e-2), "float16": (torch.float16, 5e-3)}


@pytest.mark.parametrize("name", HALF)
def test_half_precision_logits_stay_within_their_rounding(name):
    """A batch's logits against the model's own, one prompt at a time, as a share of the largest."""
    dtype, tolerance = HALF[name]
    model = mb.Model(build("Llama", num_key_value_heads=2, scale=6.0).to(CUDA, dtype))
    engine = mb.Engine(model, mb.Continuous(4), block_size=7)
    seen: list[tuple[list[int], torch.Tensor]] = []
    forward = engine.runner.forward

    def watch(plan):
        logits = forward(plan)
        rows = [row.sequence for row in plan.rows if row.reaches_end]
        seen.extend((list(s.token_ids), line) for s, line in zip(rows, logits, strict=True))
        return logits

    engine.runner.forward = watch
    engine.run(requests())
    with torch.inference_mode():
        for token_ids, logits in seen:
            ids = torch.tensor([token_ids], device=CUDA)
            expected = model.hf(ids, use_cache=False).logits[0, -1].float()
            gap = (logits.float() - expected).abs().max() / expected.abs().max().clamp(min=1)
            # twice: both sides round
            assert gap <= 2 * tolerance, f"after {len(token_ids)} tokens"


@pytest.mark.parametrize(
    ("dtype", "tolerance"),
    [(torch.float32, 2e-5), *HALF.values()],
    ids=["float32", *HALF],
)
@settings(max_examples=25, deadline=None)
@given(batch=ragged_batches(), seed=st.integers(0, 2**16))
def test_gather_on_the_gpu_agrees_with_the_reference(dtype, tolerance, batch, seed):
    plan, block_size, num_blocks = batch
    _, metadata = build_metadata(plan, block_size, num_blocks * block_size, CUDA)
    generator = torch.Generator(CUDA).manual_seed(seed)

    def random(*shape):
        return torch.randn(*shape, generator=generator, device=CUDA, dtype=dtype)

    query = random(len(metadata.positions), 4, 16)
    keys, values = (random(num_blocks + 1, block_size, 2, 16) for _ in range(2))
    torch.testing.assert_close(
        gather_sdpa_attention(query, keys, values, metadata, 0.25),
        reference_attention(query, keys, values, metadata, 0.25),
        rtol=tolerance,
        atol=tolerance,
    )


def test_the_cache_and_its_metadata_live_on_the_gpu():
    plan, block_size, num_blocks = plan_of([(0, 3, 0), (5, 1, 0)], block_size=4, seed=0)
    _, metadata = build_metadata(plan, block_size, num_blocks * block_size, CUDA)
    assert metadata.positions.device.type == metadata.block_tables.device.type == "cuda"
    cache = KVCache([(2, 8)], num_blocks, block_size, CUDA, torch.bfloat16)
    new = torch.randn(len(metadata.slot_mapping), 2, 8, device=CUDA, dtype=torch.bfloat16)
    cache.write(0, new, new, metadata.slot_mapping)
    assert torch.equal(cache.keys[0].flatten(0, 1)[metadata.slot_mapping], new)


def test_sampling_on_the_gpu_draws_what_the_cpu_draws():
    """Far from borders: each draw is a function of seed and position, and logits agree closely."""
    answers = []
    for device in ("cpu", "cuda"):
        model = mb.Model(make_tiny_model().hf.to(device))
        asked = [mb.Request([5, 6], max_tokens=1, temperature=1.0, seed=s) for s in range(40)]
        completions = mb.Engine(model, mb.Continuous(8)).run(asked)
        answers.append([completion.token_ids for completion in completions])
    assert sum(a != b for a, b in zip(*answers, strict=True)) <= 1


def test_the_pool_takes_no_more_than_half_of_the_free_memory_of_the_gpu():
    model = mb.Model(build("Llama", num_key_value_heads=2).to(CUDA))
    engine = mb.Engine(model, mb.Continuous(4))
    assert engine.pool.num_blocks == 4 * CONTEXT // 16

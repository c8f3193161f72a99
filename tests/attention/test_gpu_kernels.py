"""The CUDA kernels on a GPU: the lab's results, the reference's tokens, and nothing read or written
where it should not be."""

from __future__ import annotations

import warnings

import pytest
import torch
from oracle import assert_same_tokens
from paged import KERNELS, exact, paged
from tiny import make_tiny_llama

import minibatch as mb
from minibatch.attention import choose

pytestmark = [pytest.mark.gpu, pytest.mark.filterwarnings("ignore:No GPU runs these kernels")]

CUDA = torch.device("cuda")
HALF = {torch.bfloat16: 2 * 2**-8, torch.float16: 2e-3}  # of storing the result, relative


def cases():
    for seed in range(12):
        rows = [(1 + seed % 3, 5 + 37 * seed), (1, 1), (1, 16 * seed + 16)]
        yield seed, rows, (16, 40, 64, 80, 128, 256)[seed % 6], (1, 3, 4, 8, 9)[seed % 5]


@pytest.mark.parametrize("kernel", [*KERNELS, "auto"])
@pytest.mark.parametrize("dtype", [torch.float32, *HALF], ids=str)
def test_kernels_give_what_the_definition_says(kernel, dtype):
    attend = choose(kernel, CUDA)
    for seed, rows, head_dim, group in cases():
        options = {"heads": 2 * group, "head_dim": head_dim, "block_size": 16, "dtype": dtype}
        case = paged(seed, rows, device=CUDA, **options)
        tolerance = HALF.get(dtype, 2e-5)
        output = attend(*case.arguments).cpu().double()
        torch.testing.assert_close(output, exact(case), rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("kernel", KERNELS)
def test_the_lab_and_the_gpu_agree(kernel):
    pytest.importorskip("greenlet", reason="the kernel lab needs greenlet")
    emulated, real = (paged(3, [(1, 30), (2, 9)], device=d) for d in ("cpu", CUDA))
    on_cpu = choose(kernel, torch.device("cpu"))(*emulated.arguments)
    on_gpu = choose(kernel, CUDA)(*real.arguments)
    torch.testing.assert_close(on_gpu.cpu(), on_cpu, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("kernel", [*KERNELS, "auto"])
def test_the_tokens_in_float32_are_those_of_generate(kernel):
    model = mb.Model(make_tiny_llama(hidden_size=64).to(CUDA))
    engine = mb.Engine(model, mb.Continuous(3), attention=kernel, block_size=7)
    asked = [mb.Request([i + 2, 7, 9], max_tokens=20, ignore_eos=True) for i in range(6)]
    for request, completion in zip(asked, engine.run(asked), strict=True):
        assert_same_tokens(model, request, completion.token_ids)


@pytest.mark.parametrize("kernel", KERNELS)
def test_a_hundred_thousand_random_tables_read_nothing_that_is_not_theirs(kernel):
    """Every slot of nobody's is NaN, around the pool too: one that is read shows in the result."""
    attend, num_tables = choose(kernel, CUDA), 0
    generator = torch.Generator().manual_seed(0)
    while num_tables < 100_000:
        lengths = torch.randint(1, 40, (2000,), generator=generator).tolist()
        case = paged(num_tables, [(1, n) for n in lengths], block_size=4, device=CUDA)
        assert attend(*case.arguments).isfinite().all()
        num_tables += len(lengths)


def test_new_keys_and_values_are_written_nowhere_else():
    attend = choose("tiled", CUDA)
    for seed in range(50):
        case = paged(seed, [(3, 9), (1, 30), (5, 5)], device=CUDA)
        new = torch.randn(len(case.query), 2, 16, device=CUDA)
        before = case.key_cache.clone().flatten(0, 1)
        attend.write_kv(case.key_cache, case.value_cache, new, new, case.metadata)
        slots = case.metadata.slot_mapping
        assert torch.equal(case.key_cache.flatten(0, 1)[slots], new)
        others = torch.ones(len(before), dtype=torch.bool, device=CUDA)
        others[slots] = False
        same = case.key_cache.flatten(0, 1)[others].view(torch.int32)
        assert torch.equal(same, before[others].view(torch.int32))


def test_a_decode_step_waits_for_the_sampled_tokens_alone():
    engine = mb.Engine(mb.Model(make_tiny_llama(hidden_size=64).to(CUDA)), mb.Continuous(3))
    for i in range(3):
        engine.add(mb.Request([i + 2, 7, 9], max_tokens=9, ignore_eos=True))
    engine.step()
    engine.step()  # everything is compiled, and memory taken
    torch.cuda.set_sync_debug_mode("warn")
    try:
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            engine.step()
    finally:
        torch.cuda.set_sync_debug_mode("default")
    assert sum("synchronizing CUDA operation" in str(each.message) for each in seen) == 1


def test_a_ragged_batch_is_cut_and_merged():
    case = paged(2, [(1, 300)] * 7 + [(5, 9000)], block_size=16, head_dim=128, device=CUDA)
    output = choose("auto", CUDA)(*case.arguments).cpu().double()
    torch.testing.assert_close(output, exact(case), rtol=2e-5, atol=2e-5)


def test_launches_go_to_torchs_current_stream_and_allocate_nothing_new():
    attend, stream = choose("tiled", CUDA), torch.cuda.Stream()
    case = paged(1, [(1, 50)] * 4, device=CUDA)
    stream.wait_stream(torch.cuda.current_stream())  # which made the case
    with torch.cuda.stream(stream):
        expected = attend(*case.arguments).clone()
        stream.synchronize()
        held = torch.cuda.memory_reserved()
        for _ in range(20):
            output = attend(*case.arguments)
    stream.synchronize()
    assert torch.cuda.memory_reserved() == held
    assert torch.equal(output, expected)

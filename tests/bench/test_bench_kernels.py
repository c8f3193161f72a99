"""`bench kernels`: what needs no GPU of it."""

import sys
from importlib.util import find_spec
from types import SimpleNamespace

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from minibatch.attention.reference import reference_attention
from minibatch.bench import command as bench
from minibatch.bench import kernels, stopwatch
from minibatch.bench.kernels import Case


def test_the_bytes_that_must_be_read():
    assert Case(64, 4096, 128, 4).kv_bytes == 64 * 4096 * 8 * 128 * 2 * 2
    assert Case(63, 512, 128, 4, 32_768).kv_bytes == (63 * 512 + 32_768) * 8 * 128 * 2 * 2


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_without_a_gpu_it_says_so(capsys):
    assert bench.main(["kernels", "--quick"]) == 2
    assert "torch sees none" in capsys.readouterr().err


def test_flex_attention_is_compiled_anew_for_each_case(monkeypatch):
    """Past eight shapes of one function, torch would no longer compile it."""

    class ForgottenError(Exception):
        pass

    def reset():
        raise ForgottenError

    monkeypatch.setattr(torch.compiler, "reset", reset)
    with pytest.raises(ForgottenError):
        kernels._flex(Case(1, 512, 64, 1))


class PagedWrapper:
    """FlashInfer's, by its documentation: gathers the pages of each row, and attends to them."""

    def __init__(self, workspace, kv_layout, use_tensor_cores=False):
        assert (workspace.dtype, kv_layout) == (torch.uint8, "NHD")

    def plan(self, indptr, indices, last_page_len, *sizes, q_data_type, kv_data_type):
        assert {each.dtype for each in (indptr, indices, last_page_len)} == {torch.int32}
        assert q_data_type == kv_data_type == torch.bfloat16
        self.pages = indices.long().tensor_split(indptr[1:-1].long())
        self.last, self.sizes = last_page_len.tolist(), sizes

    def run(self, query, cache):
        heads, kv_heads, head_dim, page_size = self.sizes
        assert query.shape[1:] == (heads, head_dim)
        assert cache[0].shape[1:] == (page_size, kv_heads, head_dim)
        rows = zip(query, self.pages, self.last, strict=True)
        return torch.stack([self.row(*each, cache) for each in rows])

    def row(self, query, pages, last, cache):
        length = (len(pages) - 1) * self.sizes[-1] + last
        key, value = (each[pages].flatten(0, 1)[:length].transpose(0, 1) for each in cache)
        attend = torch.nn.functional.scaled_dot_product_attention
        return attend(query[:, None], key, value, enable_gqa=True)[:, 0]


@pytest.mark.parametrize("case", [Case(3, 40, 64, 4), Case(2, 16, 64, 1, 33)])
def test_flashinfer_gets_the_same_kv_blocks_as_our_kernel(monkeypatch, case):
    stand_in = SimpleNamespace(BatchDecodeWithPagedKVCacheWrapper=PagedWrapper)
    monkeypatch.setitem(sys.modules, "flashinfer", stand_in)
    torch.manual_seed(0)
    found = kernels._flashinfer(case, "cpu")()
    torch.manual_seed(0)
    given = kernels.paged(case, torch.device("cpu"), torch.bfloat16)
    torch.testing.assert_close(found, reference_attention(*given), rtol=2e-2, atol=2e-2)


@pytest.mark.skipif(find_spec("flashinfer") is not None, reason="FlashInfer is installed")
def test_without_flashinfer_its_column_has_the_reason():
    reason = kernels._seconds_or_reason(kernels._flashinfer, Case(1, 16, 64, 1, longest=33))
    assert reason == "ModuleNotFoundError: No module named 'flashinfer'"


class Event:
    def __init__(self, **options):
        pass

    def elapsed_time(self, end):
        return 2.0

    record = synchronize = lambda self: None


class Log(TorchDispatchMode):
    """What each operation changes in memory that was there before it."""

    def __init__(self):
        super().__init__()
        self.written = []

    def __torch_dispatch__(self, function, types, arguments=(), keywords=None):
        if any(each.alias_info and each.alias_info.is_write for each in function._schema.arguments):
            self.written.append(arguments[0].nbytes)
        return function(*arguments, **(keywords or {}))


def test_before_a_timed_run_the_cache_is_emptied_by_reading(monkeypatch):
    """Lines that were written would go to memory during the timed run."""
    monkeypatch.setattr(stopwatch, "COLD_BYTES", 1 << 12)
    monkeypatch.setattr(torch.cuda, "Event", Event)
    read, summed = [], torch.Tensor.sum
    monkeypatch.setattr(torch.Tensor, "sum", lambda self: read.append(self.nbytes) or summed(self))
    runs, log = [], Log()
    with log:
        seconds = stopwatch.gpu_times(lambda: runs.append(len(read)), 4, device="cpu")
    assert seconds == [2e-3] * 4
    assert runs == [0, 0, 0, 1, 2, 3, 4]
    assert read == [1 << 12] * 4
    assert log.written == []

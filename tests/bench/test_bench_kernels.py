"""`bench kernels`: what needs no GPU of it."""

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

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

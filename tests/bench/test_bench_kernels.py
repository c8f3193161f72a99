"""`bench kernels`: what needs no GPU of it."""

import pytest
import torch

from minibatch.bench import command as bench
from minibatch.bench.kernels import Case


def test_the_bytes_that_must_be_read():
    assert Case(64, 4096, 128, 4).kv_bytes == 64 * 4096 * 8 * 128 * 2 * 2
    assert Case(63, 512, 128, 4, 32_768).kv_bytes == (63 * 512 + 32_768) * 8 * 128 * 2 * 2


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_without_a_gpu_it_says_so(capsys):
    assert bench.main(["kernels", "--quick"]) == 2
    assert "torch sees none" in capsys.readouterr().err

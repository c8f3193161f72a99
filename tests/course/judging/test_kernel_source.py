"""What a submitted kernel may be, before any of it runs."""

import textwrap

import numpy as np
import pytest

from minibatch import kernel_lab as lab
from minibatch.course.judging import kernel_bench
from minibatch.course.judging.kernel_bench import run_kernel
from minibatch.course.judging.kernel_source import NoKernel, kernel

GOOD = """
import math
import os
from numba import cuda, float32

TWICE = 2
os.environ["NEVER"] = "run"


def helper(x: float32):
    '''Words may stand here.'''
    return math.exp(x) * TWICE


@cuda.jit
def work(source, out) -> None:
    thread = cuda.threadIdx.x
    tile = cuda.shared.array((2, 4), float32)
    tile[0, thread] = source[thread]
    cuda.syncthreads()
    out[thread] = helper(tile[0, 3 - thread]) if thread < out.shape[0] else float32(0)
"""


def test_a_kernel_comes_with_its_helpers_and_numbers_and_nothing_else():
    work, out = kernel(GOOD, "work"), lab.empty(4)
    source = np.arange(4, dtype=np.float32)
    assert lab.run(work, 1, 4, source, out).faults == []
    np.testing.assert_allclose(out, 2 * np.exp(source[::-1]), rtol=1e-6)
    assert work.__globals__["__builtins__"] == {}
    assert "os" not in work.__globals__


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ("import os", "not_for_the_compiler"),
        ("x = [1]", "not_for_the_compiler"),
        ("x = {1: 2}", "not_for_the_compiler"),
        ("x = [i for i in range(3)]", "not_for_the_compiler"),
        ("x = lambda: 3", "not_for_the_compiler"),
        ("open('f')", "unknown_name_in_a_kernel"),
        ("out.accesses.clear()", "attribute_in_a_kernel"),
        ("x = ().__class__", "private_attribute_in_a_kernel"),
        ("x = cuda._notes", "private_attribute_in_a_kernel"),
        ("x = out.shape.__class__", "private_attribute_in_a_kernel"),
        ("cuda.threadIdx = 3", "private_attribute_in_a_kernel"),
        ("x = cuda", "module_is_no_value"),
        ("range = 3", "name_has_a_meaning"),
        ("x = 'text'", "kernel_has_strings"),
        ("try:\n        pass\n    except ValueError:\n        pass", "not_for_the_compiler"),
        ("x = __builtins__", "private_name_in_a_kernel"),
        ("x = f'{out}'", "not_for_the_compiler"),
        ("global y", "not_for_the_compiler"),
        ("x = numpy", "unknown_name_in_a_kernel"),
    ],
)
def test_what_could_reach_out_is_refused_with_its_line(body, code):
    with pytest.raises(NoKernel, match=rf"\[{code}\] line 3: "):
        kernel(f"\ndef work(out):\n    {body}\n", "work")


def test_helpers_are_held_to_the_same():
    source = "def helper(x):\n    return x.data\n\ndef work(out):\n    helper(out)\n"
    with pytest.raises(NoKernel, match=r"\[attribute_in_a_kernel\] line 2: x\.data"):
        kernel(source, "work")


def test_a_stub_says_that_it_is_one():
    with pytest.raises(NotImplementedError, match=r"Exercise 6\.1"):
        kernel('def work(out):\n    raise NotImplementedError("Exercise 6.1: not yet")\n', "work")


def launch(**more):
    out = {"shape": [4], "dtype": "float32", "data": None}
    case = {"lengths": [3], "heads": 1, "kv_heads": 1}
    basis = {"case": case, "grid": [1], "threads": 4, "arrays": {"out": out}, "expect": {}}
    return basis | more


def test_a_bench_answers_in_plain_data():
    source = "def work(seq_lens, out):\n    out[cuda.threadIdx.x] = seq_lens[0]\n"
    asked = launch(expect={"out": [3, 3, 3, float("nan")]})
    (found,) = run_kernel(source, "work", "kernel.py", [asked])
    assert (found["faults"], found["wrong"]) == ([], "")
    assert found["outputs"] == {"out": [3, 3, 3, 3]}
    assert found["ledger"]["seq_lens"] == [32, 1, 1]
    assert found["stored"] == {"out": [16, 32]}


def test_one_launch_that_does_not_end_is_enough(monkeypatch):
    monkeypatch.setattr("minibatch.course.judging.kernel_bench.MOST_SECONDS", 0.1)
    source = textwrap.dedent("""
        def work(out):
            while True:
                pass
    """)
    (found,) = run_kernel(source, "work", "kernel.py", [launch(), launch()])
    assert found["faults"][0][0] == "no end"


def test_thousands_of_tokens_have_more_time_and_more_accesses():
    few, many = kernel_bench.limits_for(7), kernel_bench.limits_for(2100)
    assert few == kernel_bench.limits_for(100)
    assert all(many[name] >= 5 * few[name] for name in few)
    assert many["seconds"] < 60  # the bench's own limit

"""Numbers and code in lesson 06's text are what its kernels come to. Needs no GPU."""

import json
import math
import re
import runpy
from pathlib import Path

import numpy as np
import pytest
from numba import cuda, float32

from minibatch import kernel_lab as lab
from minibatch.attention.cuda.tiling import MOST_RESIDENT
from minibatch.kernel_lab.in_flight import LATENCY_S, MEMORY, bytes_in_flight, bytes_needed

ROOT = Path(__file__).parents[2]
NAME = "06_a_paged_attention_kernel"
CELLS = {
    cell["id"]: "".join(cell["source"])
    for cell in json.loads((ROOT / "lessons" / f"{NAME}.ipynb").read_text(encoding="utf-8"))[
        "cells"
    ]
}
H100 = (9, 0)


def in_kb(number):
    return f"{number / 1024:.0f} KB"


def test_what_a_gpu_needs_in_flight_is_what_the_text_says():
    text = CELLS["ladder-why"]
    for gpu, (bandwidth, multiprocessors) in MEMORY.items():
        (row,) = [line for line in text.splitlines() if line.startswith(f"| {gpu} ")]
        assert f"{bandwidth / 1e12:g} TB/s" in row
        assert f"{in_kb(bytes_needed(gpu))} in flight" in row
        assert f"each of {multiprocessors} multiprocessors" in text
    assert f"{LATENCY_S * 1e9:.0f} ns" in text


def test_what_the_kernels_have_in_flight_is_what_the_text_says():
    pytest.importorskip("cuda.core", reason="needs numba-cuda[cu13]: setup --numba-cuda")
    from minibatch.bench.compiled_kernels import tiled

    text = CELLS["in-flight-why"]
    solved = runpy.run_path(str(ROOT / "solutions" / f"ex{NAME}.py"))["decode_group"]
    (group_of_2,) = lab.paged_case([1]).compiled(solved, capabilities=[H100])
    assert f"32 × 32 × 2 × 4 bytes = {in_kb(bytes_in_flight(group_of_2, 32))}" in text
    assert group_of_2.thread_blocks(32) == 32
    space = {"cuda": cuda, "float32": float32, "math": math}
    exec(CELLS["other-rungs"], space)
    (stand_in,) = lab.paged_case([1]).compiled(space["heads_share"], capabilities=[H100])
    assert bytes_in_flight(stand_in, 32) == bytes_in_flight(group_of_2, 32)
    bandwidth, _ = MEMORY["H100"]
    for latency in (LATENCY_S, LATENCY_S / 2):
        share = bytes_in_flight(group_of_2, 32) / bytes_needed("H100", latency)
        assert f"{share * bandwidth / 1e12:.1f} TB/s" in text
    assert f"with 128 threads, {group_of_2.thread_blocks(128)} of them fit" in text
    assert f"{in_kb(bytes_in_flight(group_of_2, 128))} are in flight" in text
    assert group_of_2.limit(128) == "registers"
    _, one = tiled("bfloat16", H100, head_dim=128, group=1, split=True)
    of_a_block = in_kb(bytes_in_flight(one, 128, most=1))
    assert f"128 lanes: {of_a_block}. {one.thread_blocks(128)} thread blocks would fit" in text
    planned = in_kb(bytes_in_flight(one, 128, most=MOST_RESIDENT))
    assert f"the engine plans with {MOST_RESIDENT}, and {planned}" in text
    _, eight = tiled("bfloat16", H100, head_dim=128, group=8, split=True)
    assert f"a thread needs {eight.registers} registers" in text
    assert f"only {eight.thread_blocks(128)} thread blocks fit" in text
    assert f"{in_kb(bytes_in_flight(eight, 128))} are in flight" in text


def test_the_folded_running_maximum_is_right_for_scores_of_any_size():
    (lines,) = re.findall(r"```python\n(.*?)```", CELLS["one-head-answer"], re.DOTALL)
    start, in_the_loop = lines.split("        # and in the loop, after the shuffles:\n")
    code, _, _ = CELLS["one-head"].partition("\n\nfor factor")
    code = code.replace("    total, result = float32(0), float32(0)\n", start)
    code = re.sub(
        r"        weight = .*(?=    output)", lambda _: in_the_loop, code, flags=re.DOTALL
    )
    space = {"cuda": cuda, "float32": float32, "math": math}
    exec(code, space)
    rng = np.random.default_rng(1)
    query, keys, values = (
        rng.standard_normal(shape).astype(np.float32) for shape in (32, (40, 32), (40, 32))
    )
    for factor in (0.1, 500):
        exact = factor * (keys.astype(float) @ query)
        weights = np.exp(exact - exact.max())
        out = lab.empty(32)
        report = lab.run(space["one_head"], 1, 32, np.float32(factor) * query, keys, values, out)
        assert report.findings == []
        np.testing.assert_allclose(out, weights @ values / weights.sum(), 1e-3, 1e-3)

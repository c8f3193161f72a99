"""Numbers and code in lesson 06's text are what its kernels come to. Needs no GPU."""

import json
import math
import re
import runpy
from pathlib import Path

import pytest
from numba import cuda, float32

from minibatch import kernel_lab as lab
from minibatch.attention.cuda.tiling import MOST_RESIDENT
from minibatch.machine_code.compiled import REGISTERS
from minibatch.machine_code.in_flight import (
    LATENCY_S,
    MEMORY,
    bytes_in_flight,
    bytes_needed,
    bytes_of_a_lane,
    machine_code,
)

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
    return f"{number / 1024:.2g} KB"


def test_what_a_gpu_needs_in_flight_is_what_the_text_says():
    text = CELLS["ladder-why"]
    latencies = LATENCY_S / 2, LATENCY_S
    idle, busy = (f"{each * 1e9:.0f} ns" for each in latencies)
    assert f"{idle} on an idle GPU to {busy} on a busy GPU" in text
    for gpu, (bandwidth, multiprocessors) in MEMORY.items():
        low, high = (in_kb(bytes_needed(gpu, each)) for each in latencies)
        assert f"{low.removesuffix(' KB')} to {high}" in text
        assert f"an {gpu} ({bandwidth / 1e12:g} TB/s)" in text
        assert f"each of {multiprocessors} multiprocessors" in text


@pytest.fixture(scope="module")
def tiled():
    """{query heads per KV head: the tiled kernel, for head_dim 128 in 16 bits on an H100}"""
    pytest.importorskip("cuda.core", reason="needs numba-cuda[cu13]: setup --numba-cuda")
    from minibatch.bench.compiled_kernels import tiled

    found = {g: tiled("bfloat16", H100, head_dim=128, group=g, split=True)[1] for g in (1, 4, 8)}
    try:
        machine_code(found[1])
    except RuntimeError as missing:
        pytest.skip(str(missing))
    return found


def test_what_the_kernels_have_in_flight_is_what_the_text_says(tiled):
    text = CELLS["in-flight-why"]
    solved = runpy.run_path(str(ROOT / "solutions" / f"ex{NAME}.py"))["decode_group"]
    (group_of_2,) = lab.paged_case([1]).compiled(solved, capabilities=[H100])
    assert f"32 × 32 × 2 × 4 bytes = {in_kb(bytes_in_flight(group_of_2, 32))}" in text
    assert group_of_2.thread_blocks(32) == 32
    each, need = bytes_in_flight(group_of_2, 32, most=1), 132 * bytes_needed("H100", LATENCY_S / 2)
    assert f"with {each} bytes in flight each" in text
    assert f"*whole* GPU has 32 × {each} bytes in flight, under 1 % of" in text
    assert 32 * each < need / 100
    assert f"{32 * 132 // 4:,} rows" in text
    space = {"cuda": cuda, "float32": float32, "math": math}
    exec(CELLS["other-rungs"], space)
    stand_in, late, four, eight_tokens = (
        lab.paged_case([1]).compiled(kernel, capabilities=[H100])[0]
        for kernel in (
            space["heads_share"],
            space["v_for_each_head"],
            *(space["sharing"](once=True, tokens=n) for n in (4, 8)),
        )
    )
    for threads in (32, 128):
        assert bytes_in_flight(stand_in, threads) == bytes_in_flight(group_of_2, threads)
    assert "about as much with the short latency, and twice as much with the long latency" in text
    in_flight = bytes_in_flight(group_of_2, 32)
    assert bytes_needed("H100", LATENCY_S / 2) == pytest.approx(in_flight, rel=0.05)
    assert bytes_needed("H100", LATENCY_S) == pytest.approx(2 * in_flight, rel=0.05)
    assert f"6.3 has {in_kb(bytes_in_flight(four, 32))}, which is more than an H100 or" in text
    assert bytes_in_flight(four, 32) > max(bytes_needed(gpu, LATENCY_S) for gpu in MEMORY)
    fit = f"a thread needs {four.registers} registers, and 32 thread blocks fit"
    assert f"{fit} if a thread needs at most 64" in text
    assert eight_tokens.registers > 64 == REGISTERS // (32 * 32)
    one, eight = tiled[1], tiled[8]
    assert group_of_2.limit(128) == "registers"
    assert f"a thread needs {eight.registers} registers" in text
    assert f"although {one.thread_blocks(128)} would fit" in text
    rows = {
        "6.3": (group_of_2, 32, 32),
        "V after the shuffles": (late, 32, 32),
        "6.3, 4 tokens": (four, 32, 32),
        "6.3, four warps": (group_of_2, 128, 32),
        "`tiled`, group of 8": (eight, 128, 32),
        "`tiled`, group of 1": (one, 128, MOST_RESIDENT),
    }
    for name, (code, lanes, most) in rows.items():
        a_lane, blocks = bytes_of_a_lane(machine_code(code)), min(most, code.thread_blocks(lanes))
        start = rf"^\| {re.escape(name)}(?:: [^|]*)? \| {a_lane} \| {lanes} \| {blocks}\b"
        number = in_kb(bytes_in_flight(code, lanes, most))
        assert re.search(rf"{start}[^|]* \| {number} \|$", text, re.MULTILINE), name


def test_kernels_that_load_tokens_ahead_compute_the_same():
    space = {"cuda": cuda, "float32": float32, "math": math}
    exec(CELLS["other-rungs"], space)
    for tokens in (2, 4):
        options = {"threads": 32, "grid": lambda rows, heads, kv_heads: (rows, kv_heads)}
        kernel = space["sharing"](once=True, tokens=tokens)
        report = lab.paged_case([1, 16, 17, 40]).run(kernel, **options)
        assert (report.faults, report.wrong) == ([], "")


def test_what_the_tiled_kernel_has_under_way_is_what_the_page_says(tiled):
    page = (ROOT / "minibatch" / "attention" / "cuda" / "COMPILED.md").read_text(encoding="utf-8")
    for group, code in tiled.items():
        blocks = min(MOST_RESIDENT, code.thread_blocks(128))
        each = in_kb(bytes_in_flight(code, 128, most=1))
        assert re.search(rf"^\| {group} \|.* \| {blocks} × {each} \|$", page, re.MULTILINE)

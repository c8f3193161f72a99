"""Bytes in flight: what a kernel has asked of memory and not yet received, at most, and what a GPU
needs. By Little's law, memory delivers `bandwidth` only while bandwidth × latency is under way."""

from __future__ import annotations

import re

from .compiled import Compiled

LATENCY_S = 670e-9  # of a load, while memory is busy: assumed, not measured; idle, half of it
MEMORY = {"H100": (3.35e12, 132), "H200": (4.8e12, 132)}  # bytes a second, multiprocessors
A_NUMBER = re.compile(r"\bld\.global\S*?\.(?:v(\d)\.\w*?(\d+)|f(\d+))\s")  # not an entry of a table


def bytes_needed(gpu: str, latency_s: float = LATENCY_S) -> float:
    """Bytes that each multiprocessor of an "H100" or "H200" must have in flight all the time."""
    bandwidth, multiprocessors = MEMORY[gpu]
    return bandwidth * latency_s / multiprocessors


def bytes_in_flight(compiled: Compiled, threads: int, most: int = 32) -> int:
    """Bytes that the loads of one round have in flight at most, over the thread blocks of `threads`
    threads that fit on a multiprocessor, `most` of them. They are bytes asked for: a kernel that
    asks for a sector again and again gets most of them from L1, and looks better than it is."""
    blocks = min(most, compiled.thread_blocks(threads))
    return bytes_of_a_round(compiled.ptx) * threads * blocks


def bytes_of_a_round(ptx: str) -> int:
    """Bytes that one lane loads in one round of a loop: of the loop with the most. Each load counts
    in the innermost loop around it; loads of integers of 4 bytes, such as KV block ids, do not."""
    lines = ptx.splitlines()
    labels = {line.strip(": \t"): i for i, line in enumerate(lines) if line.startswith("$L__")}
    jumps = [(i, re.search(r"\$L__\w+", line)) for i, line in enumerate(lines) if "bra" in line]
    loops = [(labels[j[0]], i) for i, j in jumps if j and labels[j[0]] <= i]
    found = dict.fromkeys(loops, 0)
    for i, line in enumerate(lines):
        inside = [(begin, end) for begin, end in loops if begin <= i <= end]
        if inside and (load := A_NUMBER.search(line)):
            several, bits, plain = load.groups()
            found[max(inside)] += int(several or 1) * int(bits or plain) // 8
    return max(found.values(), default=0)

"""Bytes in flight: what a kernel has asked of memory and not yet received, at most, and what a GPU
needs. By Little's law, memory delivers `bandwidth` only if bandwidth × latency is under way, on
average.

They are counted in machine code, since ptxas, the last compiler, may use a number before it starts
the next load, which the source has first."""

from __future__ import annotations

import re
import subprocess
import tempfile
from pathlib import Path

from .compiled import Compiled

LATENCY_S = 670e-9  # of a load, while memory is busy: assumed, not measured; idle, half of it
MEMORY = {"H100": (3.35e12, 132), "H200": (4.8e12, 132)}  # bytes a second, multiprocessors
LABEL = re.compile(r"(\$L__\w+|\.L_x_\d+):")  # in PTX, and in machine code
JUMP = re.compile(r"\bbra\b.*?(\$L__\w+|\.L_x_\d+)", re.IGNORECASE)
END = re.compile(r"\*/\s+EXIT\b")  # without a condition; behind it stands what is rarely needed
INSTRUCTION = re.compile(r"\*/\s+(?:@\S+\s+)?([A-Z]\S*)\s*(.*);")
REGISTER = re.compile(r"\bR(\d+)\b")
A_NUMBER_IS_USED = re.compile(r"F|H|MUFU|ST|SHFL")  # and not an address is calculated from it


def bytes_needed(gpu: str, latency_s: float = LATENCY_S) -> float:
    """Bytes that each multiprocessor of an "H100" or "H200" must have in flight on average."""
    bandwidth, multiprocessors = MEMORY[gpu]
    return bandwidth * latency_s / multiprocessors


def bytes_in_flight(compiled: Compiled, threads: int, most: int = 32) -> int:
    """Bytes that loads have in flight at most, over the thread blocks of `threads` threads that fit
    on a multiprocessor, `most` of them. They are bytes asked for: a kernel that asks for a sector
    again and again gets most of them from L1, and looks better than it is. Raises RuntimeError if
    nvdisasm is not installed."""
    blocks = min(most, compiled.thread_blocks(threads))
    return bytes_of_a_lane(machine_code(compiled)) * threads * blocks


def machine_code(compiled: Compiled) -> str:
    """What nvdisasm lists. Raises RuntimeError if it is not installed."""
    from cuda.pathfinder import find_nvidia_binary_utility

    if (program := find_nvidia_binary_utility("nvdisasm")) is None:
        setup = "python -m minibatch setup --numba-cuda"
        raise RuntimeError(f"nvdisasm, which lists machine code, is missing: {setup} installs it")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "kernel.cubin")
        file.write_bytes(compiled.cubin)
        command = [program, "--print-code", str(file)]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def bytes_of_a_lane(code: str) -> int:
    """Bytes that one lane has under way at most, in machine code: in a loop, of the loop with the
    most. A load is under way until an instruction names a register that it fills. Loads of 4 bytes
    from which an address is calculated, such as KV block ids, do not count."""
    lines = code.splitlines()
    rounds: dict[tuple[int, int], list[tuple[str, str]]] = {loop: [] for loop in loops(lines)}
    for i, line in enumerate(lines):
        inside = [(begin, end) for begin, end in rounds if begin <= i <= end]
        if inside and (found := INSTRUCTION.search(line)):
            rounds[max(inside)].append((found[1], found[2]))
    return max(map(_most_under_way, rounds.values()), default=0)


def loops(lines: list[str]) -> list[tuple[int, int]]:
    """First and last line of each loop in PTX or machine code: a label, and a jump back to it."""
    labels = {found[1]: i for i, line in enumerate(lines) if (found := LABEL.match(line))}
    jumps = [(i, found[1]) for i, line in enumerate(lines) if (found := JUMP.search(line))]
    found = [(labels[to], i) for i, to in jumps if labels.get(to, i) < i]
    return [(a, b) for a, b in found if not any(map(END.search, lines[a:b]))]


def _most_under_way(instructions: list[tuple[str, str]]) -> int:
    most, under_way = 0, dict[int, int]()  # the first register that a load fills: bytes
    rounds = instructions * 3  # a load of this round may be used in the next one
    for i, (operation, operands) in enumerate(rounds[: 2 * len(instructions)]):
        named = set(map(int, REGISTER.findall(operands)))
        under_way = {r: n for r, n in under_way.items() if named.isdisjoint(range(r, r + n // 4))}
        if not operation.startswith("LDG"):
            continue
        register, wide = int(REGISTER.search(operands)[1]), re.search(r"\.(64|128)\b", operation)
        using = (op for op, named in rounds[i + 1 :] if re.search(rf"\bR{register}\b", named))
        if wide or A_NUMBER_IS_USED.match(next(using, "F")):
            under_way[register] = int(wide[1]) // 8 if wide else 4
            most = max(most, sum(under_way.values()))
    return most

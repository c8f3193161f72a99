"""The kernel lab: runs a CUDA kernel's own source on any machine, and watches every access.

    from minibatch import kernel_lab as lab

    report = lab.run(kernel, grid, threads, *arguments)
    print(report)

It uses one greenlet for each CUDA thread, numpy's float32 for arithmetic, and a substitute for
numba's `cuda`. It is slow, and it reports what a GPU does not: races, barriers that some threads
skip, reads beyond the end, bytes that are asked for and not used. DIFFERENCES.md beside this file
lists what the lab does not see, and where a GPU may give another result.

    run_kernel.py   one launch: makes the arrays, runs thread block after thread block
    substitutes.py  replaces `cuda`, `math`, types and intrinsics in a kernel
    threads.py      a greenlet for each thread; barriers and warp operations
    arrays.py       arrays that record every access, and report one that is out of bounds
    races.py        searches the recorded accesses for two that nothing orders
    judgement.py    use of another row's memory; the difference from the expected output
    faults.py       the kinds of fault, and the line of each
    instructions.py counts recorded accesses by instruction of a warp: sectors, banks; bytes read,
                    compared with bytes touched
    report.py       everything about a launch: to print, to query, or as a page for a notebook
    case.py         a small paged batch to try a kernel on, and the expected output
    diagnosis.py    the part of the tokens that a wrong output may come from
    time_limit.py   ends Python code after a number of seconds
"""

from ..machine_code import compiled
from .arrays import empty, partly_written
from .case import paged_case
from .run_kernel import run

__all__ = ["compiled", "empty", "paged_case", "partly_written", "run"]

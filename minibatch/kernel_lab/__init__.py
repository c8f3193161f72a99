"""The kernel lab: runs a CUDA kernel's own source on any machine, and watches every access.

    from minibatch import kernel_lab as lab

    report = lab.run(kernel, grid, threads, *arguments)
    print(report)

One greenlet for each CUDA thread, numpy's float32 for arithmetic, and a substitute for numba's
`cuda`. It is slow, and it sees what a GPU does not tell: races, barriers that not everybody
reaches, reads beyond the end, sectors moved in vain. What it does not see: time, caches, the order
in which a GPU runs warps. Its limits:

- blocks that wait for each other through atomics and fences are called races;
- two arguments that share memory are taken for two arrays;
- integers wrap only where they are stored or cast; what numba makes float64 of stays float32;
- a stale value that somebody has written looks as good as a fresh one;
- lanes that come to a load one after the other are counted as if they came together.

    launch.py       one launch: makes the arrays, runs thread block after thread block
    substitutes.py  what a kernel finds in place of `cuda`, `math`, types and intrinsics
    threads.py      a greenlet for each thread, and what threads wait for together
    arrays.py       arrays that refuse what a GPU would not, and note who touches what
    races.py        what was noted, searched for accesses that nothing orders
    faults.py       what can be wrong, and in which line
    report.py       what was noted, counted: loads, sectors, banks
    time_limit.py   ends what would not end
    emulation.py    the same without watching: in a GPU's place, under the engine
"""

from .arrays import empty, partly_written
from .faults import Fault
from .launch import run
from .report import Report, Traffic

__all__ = ["Fault", "Report", "Traffic", "empty", "partly_written", "run"]

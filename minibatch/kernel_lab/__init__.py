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
"""

from .arrays import empty, partly_written
from .faults import Fault
from .launch import run
from .report import Report, Traffic

__all__ = ["Fault", "Report", "Traffic", "empty", "partly_written", "run"]

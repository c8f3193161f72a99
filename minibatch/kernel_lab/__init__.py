"""The kernel lab: runs a CUDA kernel's own source on any machine, and watches every access.

    from minibatch import kernel_lab as lab

    report = lab.run(kernel, grid, threads, *arguments)
    print(report)

One greenlet for each CUDA thread, numpy's float32 for arithmetic, and a substitute for numba's
`cuda`. It is slow, and it sees what a GPU does not tell: races, barriers that not everybody
reaches, reads beyond the end, sectors moved in vain. What it does not see: time, caches, the order
in which a GPU runs warps, races that need another order to show in the accesses themselves.
"""

from .arrays import empty, partly_written
from .faults import Fault
from .launch import run
from .report import Report, Traffic

__all__ = ["Fault", "Report", "Traffic", "empty", "partly_written", "run"]

"""The kernel lab: runs a CUDA kernel's own source on any machine, and watches every access.

    from minibatch import kernel_lab as lab

    report = lab.run(kernel, grid, threads, *arguments)
    print(report)

One greenlet for each CUDA thread, numpy's float32 for arithmetic, and a substitute for numba's
`cuda`. It is slow, and it sees what a GPU does not tell: races, barriers that not everybody
reaches, reads beyond the end, sectors moved in vain. What it does not see, and where a GPU may come
to something else: DIFFERENCES.md beside this file.

    launch.py       one launch: makes the arrays, runs thread block after thread block
    substitutes.py  what a kernel finds in place of `cuda`, `math`, types and intrinsics
    threads.py      a greenlet for each thread, and what threads wait for together
    arrays.py       arrays that refuse what a GPU would not, and note who touches what
    races.py        what was noted, searched for accesses that nothing orders
    judgement.py    what was noted, held against whose memory it is, and what should come out
    faults.py       what can be wrong, and in which line
    instructions.py what was noted, counted by instructions of a warp: sectors, banks
    ledger.py       what was read, beside what had to be
    report.py       all of it, to print, to look at (page.py), to ask
    compiled.py     what a compiler makes of a kernel, for GPUs that need not be here
    case.py         a small paged batch to try a kernel on, and what should come out
    why.py          what a kernel may have done, if something else comes out
    waves.py        thread blocks on the multiprocessors of a model GPU
    time_limit.py   ends what would not end
    emulation.py    the same without watching: in a GPU's place, under the engine
"""

from .arrays import empty, partly_written
from .case import paged_case
from .compiled import compiled
from .run_kernel import run
from .waves import waves

__all__ = ["compiled", "empty", "paged_case", "partly_written", "run", "waves"]

"""The judge's kernel lab: a submitted kernel, checked (kernel_source.py), then run and recorded.

It runs in a separate worker that reads no other file of the submission, so its counts can be
trusted. That worker's limits end an endless kernel.
"""

from __future__ import annotations

import numpy as np

from minibatch import kernel_lab as lab
from minibatch.course.judging.kernel_source import for_the_compiler, kernel
from minibatch.kernel_lab.case import by_name

CAPABILITY = (9, 0)  # compiled for
MOST_SECONDS = 5.0  # of processor time, for a hundred tokens, which take 0.1 s
MOST_ACCESSES = 1_000_000  # for a hundred tokens


def run_kernel(source: str, name: str, file: str, launches: list[dict]) -> list[dict | None]:
    """A plain dict for each launch, up to the first that does not end. None for a costly launch
    after one with a fault or a wrong output: it could only repeat it.

    A launch: case, the options of `lab.paged_case`; grid, threads, schedule; arrays, by name
    {"shape", "dtype", "data"}, data null for an output; expect, by name nested lists, NaN where any
    value is right; costly, True for one that takes seconds.
    """
    function = kernel(source, name, file)
    found: list[dict | None] = []
    for launch in launches:
        options = dict(launch)
        if options.pop("costly", False) and any(map(_has_failed, found)):
            found.append(None)
            continue
        found.append(_launch(function, **options))
        if any(kind == "no end" for kind, *_ in found[-1]["faults"]):
            break  # one timeout is enough
    return found


def _has_failed(result: dict | None) -> bool:
    return result is None or bool(result["faults"] or result["wrong"])


def compile_kernel(source: str, name: str, file: str, case: dict) -> dict | None:
    """Compile a kernel with a case's arguments. float64: number of instructions; stack: bytes;
    refused: numba's message if it cannot compile the kernel. None if the compiler is not installed,
    or needs a GPU, as for functions that a kernel calls."""
    try:
        from numba.core.errors import NumbaError

        function = kernel(source, name, file, for_the_compiler())
        (found,) = lab.paged_case(**case).compiled(function, capabilities=[CAPABILITY])
    except NumbaError as error:
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        reason = next(
            (line for line in lines if not line.startswith("Failed in")), "no reason given"
        )
        return {"float64": 0, "stack": 0, "refused": reason}
    except (ImportError, RuntimeError, OSError):
        return None
    return {"float64": found.float64, "stack": found.stack, "refused": ""}


def _launch(
    function: object,
    case: dict,
    grid: list[int],
    threads: int,
    arrays: dict[str, dict],
    expect: dict[str, list],
    schedule: int | None = None,
    row_of: list[int] | None = None,
) -> dict:
    paged = lab.paged_case(**case)
    given = paged.given() | {name: _array(**spec) for name, spec in arrays.items()}
    rows = row_of or list(range(len(paged.seq_lens)))
    report = lab.run(
        function,
        tuple(grid),
        threads,
        *by_name(function, given, ()),
        schedule=schedule,
        **limits_for(sum(paged.seq_lens)),
        owners=paged.owners,
        row_of=lambda x, y, z: rows[x],
        expect={
            name: np.reshape(np.array(v, float), given[name].shape) for name, v in expect.items()
        },
    )
    shared: dict[int, int] = {}
    for array in report.shared:
        for thread in array.columns.thread[:1].tolist():
            block = thread // threads
            shared[block] = shared.get(block, 0) + array.nbytes
    stored: dict[str, list[int]] = {}  # bytes used and asked for, by all lines that write an array
    for t in report.traffic:
        if t.stores and t.space == "global":
            before = stored.get(t.array, [0, 0])
            stored[t.array] = [before[0] + t.bytes_used, before[1] + t.bytes_asked]
    return {
        "faults": [[fault.kind, fault.line, fault.sentence] for fault in report.faults],
        "wrong": report.wrong,
        "ledger": {e.array: [e.touched, e.by_others, e.within] for e in report.ledger},
        "outputs": {
            array.name: array.data.tolist() for array in report.globals if array.name in expect
        },
        "shared": max(shared.values(), default=0),
        "stored": stored,
        "reads": sum(t.loads for t in report.traffic if t.space == "global"),
    }


def limits_for(num_tokens: int) -> dict[str, float]:
    """Limits that end an endless loop, as options of `lab.run`. A right kernel for thousands of
    tokens takes seconds, and more where the machine has other work."""
    times = min(max(1, num_tokens // 100), 8)
    return {"seconds": times * MOST_SECONDS, "most_accesses": times * MOST_ACCESSES}


def _array(shape: list[int], dtype: str, data: list | None) -> np.ndarray:
    if data is None:
        return lab.empty(tuple(shape), np.dtype(dtype))
    return np.array(data, dtype).reshape(shape)

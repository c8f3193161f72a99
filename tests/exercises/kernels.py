"""A submitted kernel on the judge's own bench: checked, run under three schedules, and watched.

The bench is a worker that reads nothing of the submission but the source of the kernel, as
text; see minibatch/course/judging/kernel_bench.py.
"""

import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np

from minibatch import kernel_lab as lab
from minibatch.course.judging.student import Student
from minibatch.course.judging.verdict import Wrong
from minibatch.course.judging.worker_errors import NotAttempted, Raised, WorkerError

SCHEDULES = (None, 1, 2)
SMALL = {"heads": 2, "kv_heads": 1, "block_size": 4}
CASES = {  # what a kernel must get right, each by the sentence for its place
    "rows of one token, of a full KV block, of one more": {"lengths": [1, 4, 5]},
    "rows of different length that share a KV block": {
        "lengths": [4, 9, 5],
        "shared_blocks": 1,
        "heads": 4,
        "kv_heads": 2,
    },
    "more tokens than threads": {"lengths": [34]},
    "scores 500 times as large": {"lengths": [1, 5, 7], "sharpness": 500.0},
}
FOUR, POOL = "four KV heads", "heads of 16 elements in a pool of 83 KV blocks"
LONG, SCALED, CHUNKS = "a row of 2,100 tokens", "another scale", "a thousand chunks"
LONG_FOR_TWO = "a row of 2,100 tokens for two heads"
SIXTEEN = "nine rows in KV blocks of 16 tokens"
LOW = "all scores near -100,000"
EMPTY_FIRST = "an empty chunk first in each row"
TILES = "scores 500 times as large in three tiles of tokens"
QUARTET = "four query heads to a KV head"
FAULTS = {  # of the kernel lab
    "race": "[threads_race] race",
    "out of bounds": "[access_out_of_bounds] out of bounds",
    "unwritten": "[reads_what_nobody_wrote] unwritten",
    "foreign": "[reads_another_rows_block] foreign",
    "divergence": "[threads_diverge] divergence",
    "shuffle": "[shuffles_with_who_is_gone] shuffle",
    "deadlock": "[threads_wait_for_ever] deadlock",
    "no end": "[kernel_has_no_end] no end",
}
EVEN = "a KV head to each query head"
ONCE = {  # what only some kernels must get right; run under one schedule
    FOUR: {"lengths": [5, 9], "heads": 4, "kv_heads": 4},
    POOL: {"lengths": [90, 71], "block_size": 2, "heads": 4, "kv_heads": 4, "head_dim": 16},
    LONG: {"lengths": [2100], "heads": 1},
    LONG_FOR_TWO: {"lengths": [2100]},
    SIXTEEN: {"lengths": [17, 1, 33, 16, 2, 5, 18, 3, 31], "block_size": 16},
    LOW: {"lengths": [1, 5, 7], "sharpness": 500.0, "scores_near": -100_000.0},
    TILES: {"lengths": [70], "sharpness": 500.0},
    QUARTET: {"lengths": [6, 3], "heads": 4},
    EMPTY_FIRST: {"lengths": [5, 4]},
    SCALED: {"lengths": [6, 3], "scale": 0.3},
    EVEN: {"lengths": [6, 3], "heads": 3, "kv_heads": 3},
    CHUNKS: {"lengths": [1097, 3], "heads": 1},
}
COSTLY = {LONG, LONG_FOR_TWO, CHUNKS}  # seconds each: left out once a case has failed
ONE = {"lengths": [1]}
_done = {}  # what came out, by student, function and launches: each test looks at its part


def options(name):
    return SMALL | (CASES | ONCE)[name]


def case(name):
    return lab.paged_case(**options(name))


def output_of(shape, dtype="float32"):
    return {"shape": list(shape), "dtype": dtype, "data": None}


def array_of(array):
    return {"shape": list(array.shape), "dtype": str(array.dtype), "data": array.ravel().tolist()}


def results(student, function, launches):
    """What the bench says of each launch; of None, what the compiler makes of the kernel, if there
    is one. Raises what stops all of them."""
    key = id(student), function, launches and (len(launches), launches[0]["grid"][0])
    if key not in _done:
        try:
            _done[key] = student, _run(student, function, launches)
        except (WorkerError, Wrong) as error:
            _done[key] = student, error
    found = _done[key][1]
    if isinstance(found, Exception):
        raise found
    return found


def _run(student, function, launches):
    path = student.folder / student.task.file_name
    if not path.is_file():
        raise NotAttempted(f"there is no {path.name}")
    source = path.read_text(encoding="utf-8", errors="replace")
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / path.name).write_text("", encoding="utf-8")
        limits = replace(student.limits, seconds=6 * student.limits.seconds)  # the lab is slow
        bench = Student(Path(folder), student.task, sandbox=student.sandbox, limits=limits)
        try:
            if launches is None:
                return bench.ask("compiled", source=source, name=function, case=SMALL | ONE)
            return bench.ask("kernel", source=source, name=function, launches=launches)
        except Raised as error:
            kind, _, said = error.sentence.partition(": ")
            if kind == "NoKernel":
                raise Wrong(f"{function}: {said}.") from None
            raise
        finally:
            bench.close()


def run_on_cases(student, function, launch, once=()):
    """(name of the case, schedule, result) of each. launch: of a name, what to launch. once: names
    of ONCE."""
    plan = [(name, schedule) for name in CASES for schedule in SCHEDULES]
    plan += [(name, None) for name in once]
    launches = [
        launch(name) | {"case": options(name), "schedule": s, "costly": name in COSTLY}
        for name, s in plan
    ]
    found = results(student, function, launches)  # fewer, if one did not end
    return [(*each, one) for each, one in zip(plan, found, strict=False) if one is not None]


def check_faults(found):
    """No fault, on no schedule: the first is told."""
    for name, _, result in found:
        for kind, line, said in sorted(result["faults"], key=lambda fault: fault[0] != "foreign"):
            raise Wrong(f"With {name}, line {line}, {FAULTS[kind]}: {said}.")


def check_outputs(found, why=lambda name, result: ""):
    for name, schedule, result in found:
        if result["wrong"]:
            under = "" if schedule is None else f" under schedule {schedule}"
            more = why(name, result)
            raise Wrong(
                f"[wrong_output] With {name}{under}: {result['wrong']}.{' ' + more if more else ''}"
            )


def check_compiled(student, function, most_float64=0):
    """No stack, and no float64 unless `most_float64` is None, where the compiler is installed."""
    found = results(student, function, None)
    if not found:
        return
    if found["refused"]:
        raise Wrong(
            f"[does_not_compile] {function}: numba cannot compile it for a GPU: {found['refused']}"
        )
    if found["float64"] and most_float64 is not None:
        raise Wrong(
            "[float64_instructions] "
            f"{function}: compiled for a GPU, it has {found['float64']} instructions on float64. A "
            "number such as 0.0 or -1e30 is one; float32(0) is not."
        )
    if found["stack"]:
        raise Wrong(
            "[array_in_memory] "
            f"{function}: compiled for a GPU, a thread keeps {found['stack']} bytes in memory "
            "instead of in registers: an array's index has to be known when it is compiled."
        )


def first(found):
    """The results without a schedule, by the name of the case."""
    return {name: result for name, schedule, result in found if schedule is None}


def nan_like(shape):
    return np.full(shape, np.nan)

"""A submitted kernel on the judge's own bench: checked, run under three schedules, and watched.

The bench is a worker that reads nothing of the submission but the source of the kernel, as
text; see minibatch/course/judging/kernel_bench.py.
"""

import re
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
from kernel_cases import (
    CASES,
    COSTLY,
    FOUR,
    ODD,
    QUERIES,
    ROUNDED,
    SMALL,
    TILES,
    WIDE,
    case,
    options,
)

from minibatch.course.judging.student import Student
from minibatch.course.judging.verdict import Wrong
from minibatch.course.judging.worker_errors import NotAttempted, Raised, WorkerError

SCHEDULES = (None, 1, 2)
FAULTS = {  # of the kernel lab
    "race": "[threads_race] A race",
    "out of bounds": "[access_out_of_bounds] Out of bounds",
    "unwritten": "[reads_what_nobody_wrote] Unwritten memory",
    "foreign": "[reads_another_rows_block] A slot of another row",
    "divergence": "[threads_diverge] Divergence",
    "shuffle": "[shuffles_with_who_is_gone] A shuffle",
    "deadlock": "[threads_wait_for_ever] A deadlock",
    "no end": "[kernel_has_no_end] No end",
}
ONE = {"lengths": [1]}
_done = {}  # what came out, by student, function and launches: each test looks at its part


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
    for (name, _), each in zip(plan, launches, strict=True):
        if name in QUERIES:
            each["arrays"] |= {"query": array_of(case(name).query)}
    found = results(student, function, launches)  # fewer, if one did not end
    return [(*each, one) for each, one in zip(plan, found, strict=False) if one is not None]


def check_faults(found, more=lambda name, kind, said: ""):
    """No fault, on no schedule. The first is told: why, where, and in which case. more: what else
    may be said of one, before the rest."""
    for name, _, result in found:
        for kind, line, said in sorted(result["faults"], key=lambda fault: fault[0] != "foreign"):
            why = more(name, kind, said) or about_the_fault(name, kind, said)
            where = f" in line {line}" if line else ""
            is_slot = kind == "unwritten" and "_cache[" in said
            no_row = "; no row has a token in this slot" if is_slot else ""
            raise Wrong(
                f"{why}{' ' * bool(why)}{FAULTS[kind]}{where}: {said}{no_row}. The case: {name}."
            )


BEYOND = re.compile(
    r"asks for (?:the (?:shared|local) array|(\w+))\[.*\], and axis (\d) ends at (-?\d+)"
)
GIVEN = {"query", "output", "seq_lens", "chunks", "keys"}


def about_the_fault(name, kind, said):
    """The size that an index does not respect, if it is one of the case's."""
    if kind == "out of bounds" and (beyond := BEYOND.search(said)):
        array, axis, last = beyond[1], int(beyond[2]), int(beyond[3])
        if array in ("key_cache", "value_cache") and axis == 1:
            return (
                "[another_block_size] Your kernel goes past the end of a KV block: in this case "
                f"block_size, {array}.shape[1], is {last + 1}."
            )
        if array in ("key_cache", "value_cache") and axis == 2:
            heads = len(case(name).query[0])
            return (
                "[another_number_of_heads] Your kernel goes past the last KV head: in this case "
                f"heads is {heads}, and kv_heads, {array}.shape[2], is {last + 1}. Query head h "
                "belongs to KV head h // (heads // kv_heads)."
            )
        if array == "block_tables" and axis == 1:
            return (
                f"[another_width_of_the_table] The block table of a row has {last + 1} entries: "
                "does your kernel look up a token past the row's last token?"
            )
        if is_own_array(array) and name == TILES and last + 1 < options(name)["block_size"]:
            return (
                f"[array_shorter_than_a_kv_block] A KV block has {options(name)['block_size']} "
                f"tokens in this case, and one of your arrays has {last + 1} places: use a tile "
                "of a fixed length that does not depend on the block size."
            )
        if is_own_array(array) and name in COSTLY:
            return (
                f"[array_as_long_as_the_context] {array or 'An array'} of your kernel has "
                f"{last + 1:,} elements, too few for this case, {name}: no array may grow with the "
                "context."
            )
    if name in (ODD, ROUNDED, WIDE):
        return about_another_size(name)
    if name == FOUR and kind == "race":
        return (
            "[heads_do_not_fill_the_threads] Your kernel copies heads of 16 and 32 elements "
            "without a race, but not heads of 48 elements: 64 threads are more than one such head "
            "and fewer than two."
        )
    if kind == "race" and said.startswith("keys["):
        return (
            "[two_threads_copy_one_number] Two threads copy the same number. There are "
            "cuda.blockDim.x = 64 threads: thread i takes number i, i + 64, i + 128, …"
        )
    return ""


def about_another_size(name):
    return (
        "[kv_blocks_of_another_size] Your kernel reads KV blocks of 4 tokens correctly, but not "
        f"KV blocks of {options(name)['block_size']}. Token t is at place t % block_size of KV "
        "block block_tables[row, t // block_size]. The size need not be a power of two: then t & "
        "(block_size - 1) is the wrong place, and two neighbouring tokens may be in two KV blocks. "
        "And 1 / block_size is rounded: a product with it may give the block before."
    )


def is_own_array(name):
    """Whether it is not an argument of a kernel of lesson 06. An array without a name is None."""
    given = ("part_", "key_", "value_", "block_")
    return name is None or name not in GIVEN and not name.startswith(given)


def check_own_arrays(found):
    """No array of the kernel's own is too short for a long row."""
    for name, _, result in found:
        for kind, line, said in result["faults"]:
            beyond = BEYOND.search(said)
            if kind == "out of bounds" and beyond and is_own_array(beyond[1]):
                check_faults([(name, None, result | {"faults": [(kind, line, said)]})])


def check_outputs(found, why=lambda name, result: ""):
    """No wrong output. The first is told: why, where, and in which case."""
    for name, schedule, result in found:
        if result["wrong"]:
            under = "" if schedule is None else f", under schedule {schedule}"
            more = why(name, result)
            raise Wrong(
                f"{more}{' ' * bool(more)}[wrong_output] "
                f"The array {result['wrong']}. The case: {name}{under}."
            )


def check_compiled(student, function, most_float64=0, most_stack=0):
    """At most so many bytes of stack, and no float64 unless `most_float64` is None, where the
    compiler is installed."""
    found = results(student, function, None)
    if not found:
        return
    if found["refused"]:
        raise Wrong(
            f"[does_not_compile] {function}: numba cannot compile this kernel for a GPU: "
            f"{found['refused']}"
        )
    if found["float64"] and most_float64 is not None:
        raise Wrong(
            f"[float64_instructions] {function}: compiled for a GPU, this kernel has "
            f"{found['float64']} instructions on float64. A constant such as 0.0 or -1e30 is "
            "float64, and so is 1 / x with the integer 1. Write float32(0) and float32(1) / x."
        )
    if found["stack"] > most_stack:
        raise Wrong(
            f"[array_in_memory] {function}: compiled for a GPU, a thread keeps {found['stack']} "
            "bytes in memory instead of in registers: the index of a local array must be known at "
            "compile time."
        )


def first(found):
    """The results without a schedule, by the name of the case."""
    return {name: result for name, schedule, result in found if schedule is None}


def nan_like(shape):
    return np.full(shape, np.nan)

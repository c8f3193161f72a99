"""The race finder: it finds what the definition calls a race, and in a number of steps that grows
no faster than the number of accesses."""

import random

import faulty_kernels
import numpy as np
import pytest
from lab_scene import line_of, scene
from numba import cuda, float32
from quadratic_races import can_swap, races_by_definition
from work_done import lines

from minibatch import kernel_lab as lab
from minibatch.kernel_lab import races, run_kernel


def launched(kernel, grid, threads, *arguments):
    """A launch that nobody has searched for races."""
    done = run_kernel.Launch(kernel, grid, threads, 10**6, watch=(0, 0, 0))
    done.run(arguments, seconds=60)
    return done


def in_turn(out, rounds):
    """Every lane reads and writes one element, one after the other."""
    for lane in range(rounds):
        if cuda.threadIdx.x == lane % cuda.blockDim.x:
            out[0] = out[0] + 1
        cuda.syncwarp()


def all_read(out, rounds):
    """One writes, then everybody reads, again and again."""
    for _ in range(rounds):
        if cuda.threadIdx.x == 0:
            out[0] = 1
        cuda.syncwarp()
        for _ in range(3):
            cuda.atomic.max(out, 0, 3) if cuda.threadIdx.x % 2 else None
        cuda.syncwarp()
        out[1 + cuda.threadIdx.x] = out[0]
        cuda.syncwarp()


ACTORS = (0, 1, 2, 32, 33)  # lanes of two warps; the others only come to the barriers


def random_program(rng):
    """What each (block, thread) does, step by step; `follow` does it."""
    steps = []
    busy = rng.choice([0.1, 0.3, 1])
    for _ in range(rng.randint(4, 24)):
        what = rng.choices(["touch", "syncwarp", "syncthreads"], [6, 3, 1])[0]
        part = {}
        for block in range(2):
            first_half = [thread for thread in ACTORS if rng.random() < 0.7]
            for thread in ACTORS:
                together = [t for t in ACTORS if (t in first_half) == (thread in first_half)]
                mask = sum(1 << t % 32 for t in together if t // 32 == thread // 32)
                deed = rng.choices("rwa", [4, 2, 1])[0], rng.randrange(4) + 2 * block
                if what == "syncwarp" or rng.random() < busy:
                    part[block, thread] = mask if what == "syncwarp" else deed
        steps.append((what, part))
    return steps


def follow(program, cells):
    own = cuda.blockIdx.x, cuda.threadIdx.x
    for what, part in program:
        if what == "syncthreads":
            cuda.syncthreads()
        elif own not in part:
            continue
        elif what == "syncwarp":
            cuda.syncwarp(part[own])
        else:
            how, place = part[own]
            if how == "w":
                cells[place] = 1
            elif how == "r":
                cells[place]
            else:
                cuda.atomic.add(cells, place, 1)


def found_in(array, size):
    """The races as `races_by_definition` gives them, and how many are within and across blocks."""
    within, across = (races.races(array.accesses(), size, each) for each in (False, True))
    named = {(r.place, r.first.thread // size, r.first.epoch): r[1:3] for r in within}
    named |= {(r.place, None, None): r[1:3] for r in across}
    return named, len(within), len(across)


def in_order(wheres):
    """First those within blocks; otherwise as they are."""
    return sorted(wheres, key=lambda where: where[1] is None)


def compare_on_random_programs(seeds):
    found = []
    for seed in seeds:
        program = random_program(random.Random(seed))
        done = launched(follow, 2, 34, program, np.zeros(6))
        (cells,) = done.globals
        named, within, across = found_in(cells, 34)
        assert len(named) == within + across, seed
        assert list(named) == in_order(races_by_definition(cells.accesses(), 34)), seed
        for (_, block, _), pair in named.items():
            assert can_swap(*pair, 34, block is None), seed
        assert done.notes.faults == []
        races.find_races(cells, done.notes)
        assert {fault.kind for fault in done.notes.faults} == ({"race"} if named else set()), seed
        found.append((within, across))
    return found


def test_on_random_programs_it_finds_what_the_definition_calls_a_race():
    found = compare_on_random_programs(range(80))
    assert len({(within > 0, across > 0) for within, across in found}) == 4  # every mixture


@pytest.mark.slow
def test_on_many_more_random_programs():
    compare_on_random_programs(range(80, 1000))


@pytest.mark.parametrize("kernel", faulty_kernels.FAULTS, ids=lambda kernel: kernel.__name__)
def test_of_a_planted_fault_it_tells_the_first_pair(kernel):
    done = launched(kernel, 2, 8, *scene())
    for array in (*done.globals, *done.shared):
        named, _, _ = found_in(array, 8)
        expected = races_by_definition(array.accesses(), 8)
        assert named == expected
        assert list(named) == in_order(expected)


@pytest.mark.parametrize("kernel", [in_turn, all_read])
def test_twice_the_accesses_take_twice_the_steps(kernel):
    def searched(rounds):
        done = launched(kernel, 1, 8, np.zeros(9), rounds)
        assert done.notes.faults == []
        array = done.globals[0]
        took = lines(races.__file__, races.find_races, array, done.notes)
        assert done.notes.faults == []
        return took

    few, many = searched(20), searched(40)
    assert few > 0
    assert many <= 2.1 * few


def tiles(numbers, out, first, second):
    """With barriers after a tile is written, and after it is read, or without."""
    thread, total, largest = cuda.threadIdx.x, float32(0), float32(0)
    tile = cuda.shared.array(8, float32)
    for start in range(0, 32, 8):
        tile[thread] = numbers[start + thread]  # written
        if first:
            cuda.syncthreads()
        for i in range(16):
            total += tile[i % 8]
            largest = max(largest, tile[i % 8])  # last read
        if second:
            cuda.syncthreads()
    out[thread] = total + largest


def tree(numbers, out):
    thread, step = cuda.threadIdx.x, 4
    sums = cuda.shared.array(8, float32)
    sums[thread] = numbers[thread]
    cuda.syncthreads()
    while step:
        if thread < step:
            sums[thread] += sums[thread + step]  # written
        step //= 2
    out[thread] = sums[0]


def told_by_one(numbers, out):
    thread, told = cuda.threadIdx.x, cuda.shared.array(1, float32)
    if thread == 0:
        told[0] = numbers[0]  # written
    out[thread] = told[0]


def swap(numbers, out):
    thread = cuda.threadIdx.x
    numbers[thread] = numbers[thread ^ 1]  # written


MISSING = {"first": "after {written}", "second": "after {read}, before {written} runs again"}


@pytest.mark.parametrize("schedule", [None, 1])
@pytest.mark.parametrize(
    ("kernel", "more", "places"),
    [
        (tiles, (True, True), []),
        (tiles, (True, False), [MISSING["second"]]),
        (tiles, (False, True), [MISSING["first"]]),
        (tree, (), [MISSING["first"]]),
        (told_by_one, (), [MISSING["first"]]),
        (swap, (), ["in {written}, between reading and writing"]),
    ],
)
def test_a_missing_barrier_is_told_once_with_its_place(kernel, more, places, schedule):
    numbers = np.arange(32, dtype=np.float32)
    report = lab.run(kernel, 1, 8, numbers, lab.empty(8), *more, schedule=schedule)
    lines = {"written": f"line {line_of(kernel, '# written')}"}
    lines["read"] = f"line {line_of(tiles, '# last read')}"
    ends = [
        f.sentence.partition("a barrier is missing ")[2] for f in report.faults if f.kind == "race"
    ]
    assert ends == [place.format(**lines) for place in places]


def add_up(numbers, out):
    out[0] += numbers[cuda.threadIdx.x]


@pytest.mark.parametrize("threads", [1, 8])
def test_who_adds_to_one_element_is_told_of_atomics_and_of_no_barrier(threads):
    report = lab.run(add_up, 8 // threads, threads, np.ones(8, np.float32), np.zeros(1, np.float32))
    (fault,) = report.faults
    assert "cuda.atomic.add" in fault.sentence
    assert "is missing" not in fault.sentence


def test_two_missing_barriers_are_two_faults():
    report = lab.run(tiles, 1, 8, np.arange(32, dtype=np.float32), lab.empty(8), False, False)
    races = [f.sentence for f in report.faults if f.kind == "race"]
    ends = [each.partition("a barrier is missing ")[2] for each in races]
    written = f"line {line_of(tiles, '# written')}"
    assert sorted(end.endswith(f"before {written} runs again") for end in ends) == [False, True]
    assert f"after {written}" in ends

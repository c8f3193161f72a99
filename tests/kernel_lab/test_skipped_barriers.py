"""Barriers and warp operations that some threads skip before they end."""

import numpy as np
import pytest
from lab_scene import line_of
from numba import cuda, float32

from minibatch import kernel_lab as lab

ALL_LANES = 0xFFFFFFFF


def in_a_branch(source, trips, out):
    t, tile = cuda.threadIdx.x, cuda.shared.array(64, float32)
    if t < 40:  # ended
        tile[t] = source[t]
        cuda.syncthreads()  # here
        out[t] = tile[39 - t]


def fewer_trips_of_a_lane(source, trips, out):
    t, tile = cuda.threadIdx.x, cuda.shared.array(64, float32)
    for i in range(trips[t % 4]):  # ended
        tile[t] = source[i]
        cuda.syncthreads()  # here


def fewer_trips_of_a_warp(source, trips, out):
    t, tile = cuda.threadIdx.x, cuda.shared.array(64, float32)
    for i in range(2 + t // 32):
        tile[t] = source[i]
        cuda.syncthreads()  # here
        out[t] = tile[63 - t]
    out[t] = 0.0  # ended


def exchange(tile, t, value):
    tile[t] = value
    cuda.syncthreads()  # here
    return tile[t ^ 1]


def in_a_helper(source, trips, out):
    t, tile = cuda.threadIdx.x, cuda.shared.array(64, float32)
    if t < 62:
        tile[t] = exchange(tile, t, source[t])
    out[t] = 1.0  # ended


def returns_after_fewer_trips(source, trips, out):
    t = cuda.threadIdx.x
    for i in range(4):
        cuda.syncthreads()  # here
        if i == trips[t % 4]:
            return  # ended


def a_warp_s_barrier(source, trips, out):
    t = cuda.threadIdx.x
    if t % 32 < 16:  # ended
        cuda.syncwarp()  # here
        out[t] = source[t]


def a_shuffle(source, trips, out):
    t = cuda.threadIdx.x
    if t % 32 < 16:
        source[t] += cuda.shfl_xor_sync(ALL_LANES, source[t], 1)  # here
    out[t] = 1.0  # ended


def a_vote(source, trips, out):
    if cuda.laneid < 16:  # ended
        out[cuda.grid(1)] = cuda.ballot_sync(ALL_LANES, True)  # here


def launch(kernel, schedule=None):
    source, trips = np.arange(64, dtype=np.float32), np.array([1, 2, 3, 4])
    return lab.run(kernel, 1, 64, source, trips, lab.empty(64), schedule=schedule)


@pytest.mark.parametrize("schedule", [None, 1])
@pytest.mark.parametrize(
    ("kernel", "kind", "who"),
    [
        (in_a_branch, "divergence", "threads 40-63"),
        (fewer_trips_of_a_lane, "divergence", "threads 0, 4, 8, 12, …"),
        (fewer_trips_of_a_warp, "divergence", "threads 0-31"),
        (in_a_helper, "divergence", "threads 62-63"),
        (returns_after_fewer_trips, "divergence", "threads 0, 4, 8, 12, …"),
        (a_warp_s_barrier, "divergence", "threads 16-31"),
        (a_shuffle, "shuffle", "threads 16-31"),
        (a_vote, "shuffle", "threads 16-31"),
    ],
)
def test_a_skipped_barrier_is_a_fault_of_two_lines(kernel, kind, who, schedule):
    found = [fault for fault in launch(kernel, schedule).faults if "skipped" in fault.sentence]
    (fault,) = found
    there = line_of(kernel, "# ended")
    here = line_of(exchange if kernel is in_a_helper else kernel, "# here")
    assert (fault.kind, fault.line, [site.line for site in fault.others]) == (kind, here, [there])
    assert f"{who} skipped it and ended in line {there}" in fault.sentence


def returns_first(source, n, out):
    t, tile = cuda.threadIdx.x, cuda.shared.array(64, float32)
    if t >= 40:
        return
    tile[t] = source[t]
    cuda.syncthreads()
    out[t] = tile[39 - t]


def returns_between(source, n, out):
    t, tile = cuda.threadIdx.x, cuda.shared.array(64, float32)
    tile[t] = source[t]
    cuda.syncthreads()
    if t >= 40:
        return
    out[t] = tile[39 - t]
    cuda.syncthreads()
    out[t] += tile[t]


def returns_in_a_loop(source, n, out):
    t = cuda.threadIdx.x
    for i in range(4):
        if i >= n[t % 4]:
            return
        cuda.syncthreads()
        cuda.syncwarp()


def from_a_helper(source, n, out):
    t, tile = cuda.threadIdx.x, cuda.shared.array(64, float32)
    all_of_it(source, t, tile, out)


def all_of_it(source, t, tile, out):
    if t >= 40:
        return
    tile[t] = source[t]
    cuda.syncthreads()
    out[t] = tile[39 - t]


@pytest.mark.parametrize(
    "kernel", [returns_first, returns_between, returns_in_a_loop, from_a_helper]
)
def test_a_thread_may_return_before_the_line_of_a_barrier(kernel):
    assert launch(kernel).faults == []


def read_across(source, trips, out):
    t, tile = cuda.threadIdx.x, cuda.shared.array(64, float32)
    if t < 40:
        tile[t] = source[t]
        cuda.syncthreads()  # here
    out[t] = tile[(t + 1) % 40]


def test_a_race_across_a_skipped_barrier_asks_for_no_second_one():
    faults = {fault.kind: fault for fault in launch(read_across).faults}
    assert "is missing" not in faults["race"].sentence
    here = line_of(read_across, "# here")
    assert f"first let all threads reach the barrier in line {here}" in faults["race"].sentence
    assert faults["divergence"].line == here

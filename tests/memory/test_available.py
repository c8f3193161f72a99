"""What an engine and set-up take for free memory: the least of what anyone lets us have."""

import sys

import pytest
import torch

from minibatch.memory import available, kv_cache

GB = 10**9


@pytest.fixture
def files(monkeypatch):
    """A Linux of 8 GB, 6 of them free, whose files can be changed."""
    files = {"/proc/meminfo": ["MemTotal: 7812500 kB", f"MemAvailable: {6 * GB // 1024} kB"]}
    monkeypatch.setattr(available, "_lines", lambda path: files.get(path.as_posix(), []))
    monkeypatch.setattr(sys, "platform", "linux")
    pages = {"SC_PHYS_PAGES": 8 * GB // 4096, "SC_PAGE_SIZE": 4096}
    monkeypatch.setattr("os.sysconf", pages.__getitem__, raising=False)
    return files


def group(path, limit, used, cache=0):
    folder = f"/sys/fs/cgroup{path}"
    return {
        f"{folder}/memory.max": [str(limit)],
        f"{folder}/memory.current": [str(used)],
        f"{folder}/memory.stat": ["anon 1", f"inactive_file {cache}"],
    }


def test_without_limits_what_is_free_counts(files):
    assert available.available_bytes() == pytest.approx(6 * GB, rel=1e-6)


def test_a_containers_limit_counts_as_memory(files):
    files |= group("", 1 * GB, 400_000_000)
    assert available.available_bytes() == 600_000_000


def test_the_engines_room_is_a_containers(files):
    files |= group("", 1 * GB, 400_000_000)
    assert kv_cache.free_bytes(torch.device("cpu")) == 600_000_000


def test_a_group_within_a_group_counts_with_the_tighter_limit(files):
    files["/proc/self/cgroup"] = ["0::/user/lesson"]
    files |= group("/user", 3 * GB, 1 * GB) | group("/user/lesson", "max", 1 * GB)
    assert available.available_bytes() == 2 * GB


def test_files_kept_in_memory_can_be_given_up(files):
    files |= group("", 1 * GB, 900_000_000, cache=500_000_000)
    assert available.available_bytes() == 600_000_000


def test_beyond_a_limit_nothing_is_free(files):
    files |= group("", 1 * GB, 1_200_000_000)
    assert available.available_bytes() == 0

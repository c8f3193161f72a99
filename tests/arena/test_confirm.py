"""Some matches on the real model, and whether the order of the policies stays."""

from dataclasses import replace

import pytest

import minibatch as mb
from minibatch import arena
from minibatch.course.arena.confirm import OWN, Confirmed, confirm

SIMULATED = {"a": 0.9, "b": 0.7, "c": 0.7, "d": 0.1}


@pytest.mark.parametrize(
    ("real", "correlation"),
    [
        (SIMULATED, 1.0),
        ({name: -points for name, points in SIMULATED.items()}, -1.0),
        ({"a": 4, "b": 3, "c": 2, "d": 1}, 0.949),  # equal points share the mean of their ranks
        (dict.fromkeys("abcd", 0.5), 1.0),
    ],
)
def test_the_rank_correlation_is_spearmans(real, correlation):
    found = Confirmed("day", SIMULATED, real)
    assert found.rank_correlation == pytest.approx(correlation, abs=5e-4)
    assert str(found).endswith(f"rank correlation {correlation:.2f}")


@pytest.mark.full
def test_a_match_of_few_requests_is_confirmed_on_the_real_model(monkeypatch):
    monkeypatch.setitem(
        arena.DIVISIONS, "engine", replace(arena.DIVISIONS["engine"], num_requests=12)
    )
    found = confirm(mb.Continuous)
    assert list(found.simulated) == list(found.real) == [OWN, *arena.BASELINES]
    assert found.simulated[OWN] == found.simulated[arena.FCFS]
    for points in (*found.simulated.values(), *found.real.values()):
        assert 0 <= points <= 1
    assert -1 <= found.rank_correlation <= 1
    assert f"rank correlation {found.rank_correlation:.2f}" in str(found)

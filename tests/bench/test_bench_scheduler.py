"""`bench scheduler`: counts only; its times are for people to read."""

import pytest

from minibatch.bench import scheduler


def test_every_size_is_served_and_shown(monkeypatch, capsys):
    monkeypatch.setattr(scheduler, "SIZES", (5, 70))
    monkeypatch.setattr(scheduler, "MOST_RATIO", 1e9)
    assert scheduler.main(["--rounds", "1"]) == 0
    out = capsys.readouterr().out
    assert out.count(" 70 ") == out.count(" 5 ") == len(scheduler.TRACES)
    assert "the cost stays" in out


def test_a_cost_that_grows_is_a_failure(monkeypatch, capsys):
    def run(num_requests, keep):
        return scheduler.Cost(num_requests, seconds=num_requests**2 / 1e6, megabytes=1.0)

    monkeypatch.setattr(scheduler, "run", run)
    assert scheduler.main(["--rounds", "1"]) == 1
    assert "100.00 times the cheapest: the cost grows" in capsys.readouterr().out


@pytest.mark.parametrize("keep", [None, 0])
def test_a_run_is_served_to_its_end(keep):
    assert scheduler.run(3, keep).num_requests == 3

"""The engine alone and beside a busy core: turns, verdict, and the other program's end."""

import psutil
import pytest

from minibatch.bench import command, under_load


def others():
    return [each for each in psutil.Process().children() if is_busy(each)]


def is_busy(process):
    try:
        return "while True" in str(process.cmdline())
    except psutil.ZombieProcess:  # another test's process, which has ended
        return False


def test_the_busy_program_runs_only_inside():
    assert not others()
    with under_load.busy_core():
        assert len(others()) == 1
    assert not others()


@pytest.mark.parametrize(("factor", "status"), [(1.4, 0), (3.0, 1)])
def test_the_exit_status_says_whether_a_busy_core_costs_too_much(
    monkeypatch, capsys, factor, status
):
    monkeypatch.setattr(under_load, "run", lambda engine, w: 1.0 * factor if others() else 1.0)
    monkeypatch.setattr(under_load, "SETTLING", 0.0)
    assert command.main(["load", "--rounds", "1"]) == status
    assert f"{factor:.2f} times as long" in capsys.readouterr().out

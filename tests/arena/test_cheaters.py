"""The judge plays policies in a process of their own; each cheater gets the place it should."""

from functools import cache
from pathlib import Path

import pytest

from minibatch import arena
from minibatch.arena.cheaters import CHEATERS
from minibatch.course.arena.judge import play_file
from minibatch.course.judging.worker_errors import Limits

HONEST = Path(__file__).with_name("honest_policy.py")
CROWDED = [match for match in arena.matches("engine", (1,)) if match.load == 1.3]
HIDDEN = [arena.Match("engine", "day", 1.3, "not public")]
QUICK = Limits(seconds=1.5)  # for a policy that never ends


def total(path, matches=CROWDED, limits=Limits(seconds=120.0)):  # noqa: B008
    outcomes = play_file(path, matches, limits=limits)
    return arena.score(outcomes, arena.marks("engine", matches))


@cache
def of_baseline(name, hidden=False):
    matches = HIDDEN if hidden else CROWDED
    outcomes = [arena.play(match, arena.BASELINES[name]) for match in matches]
    return arena.score(outcomes, arena.marks("engine", matches)).total


@cache
def honest():
    return total(HONEST).total


def test_the_judge_sees_the_same_match_as_the_process_that_trusts():
    for outcome in play_file(HONEST.parent / "fcfs_policy.py", CROWDED[:1]):
        alone = arena.play(outcome.match, arena.BASELINES[arena.FCFS])
        assert (outcome.error, outcome.fates, outcome.steps) == ("", alone.fates, alone.steps)


@pytest.mark.parametrize("name", ["starve_the_late", "newest_first", "smooth_the_gaps"])
def test_a_policy_that_serves_badly_is_below_an_honest_one(name):
    assert total(CHEATERS[name]).total < honest() - 0.05


@pytest.mark.parametrize("name", ["read_the_length", "patch_the_engine", "read_the_future"])
def test_a_policy_that_looks_for_what_it_may_not_know_gets_the_score_of_fcfs(name):
    result = total(CHEATERS[name])
    assert result.errors == {}
    assert result.total == pytest.approx(of_baseline(arena.FCFS), abs=1e-12)


def test_knowing_the_public_seeds_says_nothing_of_hidden_ones():
    assert total(CHEATERS["know_the_seeds"]).total > of_baseline("Shortest prompt")
    hidden = total(CHEATERS["know_the_seeds"], HIDDEN).total
    assert hidden == pytest.approx(of_baseline(arena.FCFS, hidden=True), abs=0.02)


def test_refusing_everyone_is_worth_less_than_serving():
    assert total(CHEATERS["refuse_everyone"]).total < of_baseline(arena.FCFS) / 2


@pytest.mark.parametrize(
    ("name", "says"), [("think_forever", "had not ended after"), ("beat_physics", "512 at most")]
)
def test_what_cannot_be_is_stopped_and_scores_0(name, says):
    result = total(CHEATERS[name], CROWDED[:1], QUICK if name == "think_forever" else Limits())
    assert result.total == 0
    assert says in next(iter(result.errors))


@pytest.mark.parametrize(
    ("plan", "says"),
    [
        ("self.pool.allocate(5); return super().plan(now)", ""),
        (
            "for s in self.running: s.num_computed_tokens = 9\n        return super().plan(now)",
            "left to",
        ),
        ("self.waiting.clear(); return super().plan(now)", "no rows"),
        ("import mb_none", "ModuleNotFoundError"),
        ("return None", "AttributeError"),
    ],
)
def test_a_plan_that_cheats_with_its_copies_is_stopped_or_gains_nothing(tmp_path, plan, says):
    path = tmp_path / "mine.py"
    path.write_text(
        "import minibatch as mb\n"
        "class Mine(mb.Continuous):\n"
        f"    def plan(self, now):\n        {plan}\n"
        "def make_policy(size, tokens):\n    return Mine(size, tokens)\n"
    )
    result = total(path, CROWDED[:1])
    fcfs = [arena.play(CROWDED[0], arena.BASELINES[arena.FCFS])]
    assert result.total <= arena.score(fcfs, arena.marks("engine")).total
    assert says in "".join(result.errors)


@pytest.mark.parametrize(
    ("statement", "shown"),
    [
        ("raise SystemExit", "your code ended the program (sys.exit); return instead"),
        ("raise RuntimeError('why')", "RuntimeError: why"),
    ],
)
def test_an_error_is_shown_once_and_without_its_code(tmp_path, statement, shown):
    path = tmp_path / "mine.py"
    path.write_text(f"def make_policy(size, tokens):\n    {statement}\n")
    [error] = total(path, CROWDED[:1]).errors
    assert error == f"{shown} (line 2: {statement})"


def test_a_router_that_names_no_replica_is_stopped(tmp_path):
    path = tmp_path / "router.py"
    path.write_text(
        "class R:\n    def choose(self, request, views):\n        return 7\n"
        "def make_router():\n    return R()\n"
    )
    match = arena.Match("fleet", "bursts", 0.6, 1)
    (outcome,) = play_file(path, [match])
    assert "return a replica's number" in outcome.error

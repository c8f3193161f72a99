"""A submission's matches are shared between two workers; nothing depends on which is quicker."""

import pytest

from minibatch import arena
from minibatch.course.arena import lanes as laning
from minibatch.course.arena.judge import play_file
from minibatch.course.judging import connection as connecting
from minibatch.course.judging.pipes import Pipes, ThreadPipes
from minibatch.course.judging.student import NoSandbox

MATCHES = [match for match in arena.matches("engine") if match.load == 0.6][:5]
REMEMBERS = """
import minibatch as mb
from minibatch.schedulers import orders

class Later(orders.Order):
    def __init__(self, sign):
        self.sign = sign

    def rank(self, sequence, scheduler, now):
        return self.sign * sequence.num_prompt_tokens

made = []

def make_policy(size, tokens):
    made.append(1)
    {stop}
    return mb.Budget(size, tokens, order=Later((-1) ** len(made)))
"""


def written(tmp_path, stop="pass"):
    path = tmp_path / "arena_policy.py"
    path.write_text(REMEMBERS.format(stop=stop))
    return path


def test_a_policy_that_remembers_gets_the_same_score_on_one_processor_and_on_two(tmp_path):
    alone, together = (play_file(written(tmp_path), MATCHES, at_once=number) for number in (1, 2))
    assert alone == together
    own = [arena.play(match, _remembered(tmp_path, i)).fates for i, match in enumerate(MATCHES)]
    assert [outcome.fates for outcome in alone] == own


def _remembered(tmp_path, place):
    """make_policy, as it is after the matches that this match's worker has played before."""
    names = {}
    exec(compile(written(tmp_path).read_text(), "arena_policy.py", "exec"), names)
    names["made"].extend([1] * (place // laning.NUM_LANES))
    return names["make_policy"]


@pytest.mark.parametrize("number", [1, 2])
def test_after_an_error_the_later_matches_count_as_not_played_in_both_lanes(tmp_path, number):
    path = written(tmp_path, stop="if len(made) == 2: raise KeyError('stop')")
    played = []
    outcomes = play_file(path, MATCHES, at_once=number, progress=played.append)
    assert [bool(outcome.error) for outcome in outcomes] == [False, False, True, True, True]
    assert len({outcome.error for outcome in outcomes[2:]}) == 1
    assert set(MATCHES[:3]) <= set(played)


def test_each_lane_has_its_part_of_the_limits(tmp_path):
    limits = laning.Limits(seconds=240.0, answer_bytes=2**26)
    made = laning.lanes(written(tmp_path), arena.matches("engine"), None, limits, 70.0)
    assert [len(lane.matches) for lane in made] == [14, 13]
    assert sorted(place for lane in made for place in lane.matches) == list(range(27))
    assert sum(lane.most_cpu_s for lane in made) == pytest.approx(70)
    assert sum(lane.student.limits.seconds for lane in made) == pytest.approx(240)
    assert sum(lane.student.limits.answer_bytes for lane in made) <= 2**26


def test_a_fault_of_the_judge_in_a_lane_is_raised_and_ends_the_other(tmp_path, monkeypatch):
    def no_sandbox(student, what, **details):
        raise NoSandbox("none here")

    monkeypatch.setattr(laning.Student, "ask", no_sandbox)
    with pytest.raises(NoSandbox, match="none here"):
        play_file(written(tmp_path), MATCHES)


def test_ctrl_c_ends_both_workers(tmp_path, monkeypatch):
    started = []
    start = laning.Student._start
    monkeypatch.setattr(
        laning.Student, "_start", lambda student: started.append(student) or start(student)
    )

    def interrupted(match):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        play_file(written(tmp_path), MATCHES, progress=interrupted)
    assert started
    assert all(student._connection is None for student in started)


@pytest.mark.parametrize("kind", [Pipes, ThreadPipes])
def test_both_kinds_of_pipes_carry_the_same_match(tmp_path, monkeypatch, kind):
    monkeypatch.setattr(connecting, "PIPES", kind)  # Windows has the second one
    (outcome,) = play_file(written(tmp_path), MATCHES[:1])
    alone = arena.play(MATCHES[0], _remembered(tmp_path, 0))
    assert (outcome.error, outcome.fates) == ("", alone.fates)

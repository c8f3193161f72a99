"""A worker may send the judge anything. Whatever it sends ends its run, or gains nothing."""

import json
import textwrap
from dataclasses import replace
from types import SimpleNamespace

import pytest

import minibatch as mb
from minibatch import arena
from minibatch.course.arena import run_class as running
from minibatch.course.arena.judge import LIMITS, play_file
from minibatch.course.judging import connection as connecting
from minibatch.course.judging.worker_errors import Limits, TimedOut

MATCH = arena.Match("engine", "greedy", 1.3, 1)
BEGIN = """
import minibatch as mb
from minibatch.course.judging.worker_arena import ArenaWorker as Worker

def make_policy(max_batch_size, max_batch_tokens):
    return mb.Budget(max_batch_size, max_batch_tokens)

def false(name, change):
    true = getattr(Worker, name)
    setattr(Worker, name, lambda self, **asked: change(self, true(self, **asked)))
"""


def played(folder, method, statements, limits=LIMITS):
    """The outcome of a policy that serves honestly, with one of its worker's answers changed. The
    statements see `worker`, and `a`, its answer."""
    path = folder / "arena_policy.py"
    body = textwrap.indent(statements, "    ")
    path.write_text(
        f"{BEGIN}\ndef change(worker, a):\n{body}\n    return a\nfalse({method!r}, change)\n"
    )
    (outcome,) = play_file(path, [MATCH], limits=limits)
    return outcome


@pytest.mark.parametrize(
    ("method", "statements", "says"),
    [
        ("arena_policy", "return [1]", "cannot repeat"),
        ("arena_step", "return [1]", "cannot repeat"),
        ("arena_step", "a.update(rows=[], wake_at=10**400)", "wake_at"),
        ("arena_step", "a['rows'] *= 2", "two rows"),
        ("arena_step", "a['rows'] = [[r[0], 10**12, 0] for r in a['rows']]", "left to compute"),
        ("arena_step", "a['rows'] = [[r[0], True, 0] for r in a['rows']]", "number of tokens"),
        ("arena_step", "a['blocks'] += [['release', r[0]] for r in a['rows']]", "too short"),
        ("arena_step", "a['blocks'] += [['append', r[0], 10**9] for r in a['rows']]", "Memory"),
        ("arena_step", "a['refused'] = ['95']", "KeyError"),
        (
            "arena_step",
            "a['refused'] = [s.request_id for s in worker.scheduler.waiting] * 2",
            "ref",
        ),
        ("arena_step", "a['lists'] = [[r[0] for r in a['rows']]] * 2", "twice"),
        ("arena_step", "a.pop('lists', None)", "does not run"),
        ("arena_step", "a['unread'] = 'x' * 2**18", "an answer of more than 262,144 bytes"),
    ],
)
def test_a_false_answer_stops_the_policy_and_not_the_judge(tmp_path, method, statements, says):
    assert says in played(tmp_path, method, statements).error


def test_long_answers_that_nobody_reads_do_not_keep_the_judge_busy(tmp_path):
    assert (
        "more than 1 MB"
        in played(
            tmp_path,
            "arena_step",
            "a['unread'] = 'x' * 100_000",
            replace(LIMITS, answer_bytes=2**20),
        ).error
    )
    honest = played(tmp_path, "arena_step", "", replace(LIMITS, answer_bytes=2**20))
    assert honest.error == ""
    assert 4 * 14 * 2**20 < LIMITS.answer_bytes <= 2**26  # shortest prompt: 14 MiB in 72 matches


def test_a_submission_that_waits_while_the_judge_computes_for_others_is_booked_a_tenth(monkeypatch):
    """Its answer waits until another thread gives the interpreter free: it cannot help that."""
    wall, judge, answers = [0.0], [0.0], [b"{}", b"{}", None]

    def receive(seconds):
        wall[0] += min(seconds, 200.0)
        judge[0] += min(seconds, 200.0)
        return answers.pop(0) if answers[0] else None

    clocks = SimpleNamespace(monotonic=lambda: wall[0], process_time=lambda: judge[0])
    monkeypatch.setattr(connecting, "time", clocks)
    waiting = connecting.Connection.__new__(connecting.Connection)
    waiting.limits, waiting.seconds_left = LIMITS, 240.0
    waiting._pipes = SimpleNamespace(receive=receive)
    waiting.computed_seconds, waiting._interrupted, waiting.close = (lambda: None,) * 3
    waiting.receive()
    waiting.receive()
    assert (wall[0], waiting.seconds_left) == (400.0, 200.0)
    with pytest.raises(TimedOut):  # and one that sleeps ends, however busy the judge is
        waiting.receive()
    assert 2_300 < wall[0] < 2_500


def test_notes_that_change_nothing_gain_nothing(tmp_path):
    told_twice = (
        "a['after'] = [note for note in a['after'] for _ in (0, 1)]\n"
        "a['blocks'] += [['share', row[0]] for row in a['rows']]"
    )
    alone = arena.play(MATCH, mb.Budget)
    outcome = played(tmp_path, "arena_step", told_twice)
    assert (outcome.error, outcome.fates) == ("", alone.fates)


def test_notes_without_end_do_not_keep_the_judge_busy(tmp_path):
    flood = (
        "for sequence in worker.scheduler.running[:1]:\n"
        "    name = sequence.request_id\n"
        "    a['blocks'] += [['append', name, 0]] * 9_000"
    )
    assert "changes of block tables" in played(tmp_path, "arena_step", flood).error


ENDED = "ended = [n for n, s in worker._sequences.items() if s.is_finished][:1]\n"


@pytest.mark.parametrize(
    ("statements", "says"),
    [
        ("if 'lists' in a: a['lists'] = [a['lists'][0], a['lists'][1] + ended * 9]", "twice"),
        ("a['blocks'] += [['append', name, 0] for name in ended]", "has ended"),
        ("a['blocks'] += [['share', name] for name in ended]", "has ended"),
    ],
)
def test_a_request_that_has_ended_gets_no_blocks_and_no_place(tmp_path, statements, says):
    assert says in played(tmp_path, "arena_step", ENDED + statements).error


def test_a_block_table_of_an_ended_request_stays_empty_in_this_process_too():
    """Else `append` and `release` make K and V known that nothing has computed."""

    class Resurrect(mb.Budget):
        def update(self, plan, tokens, now):
            for ended in (finished := super().update(plan, tokens, now)):
                self.blocks.append(ended, 0)
            return finished

    with pytest.raises(ValueError, match="has ended"):
        arena.play(MATCH, Resurrect)


def test_threads_end_with_the_processor_seconds_of_all_matches(tmp_path):
    """Else the policies of other students get no processor, and do not end in time."""
    path = tmp_path / "arena_policy.py"
    path.write_text(
        "import threading, minibatch as mb\nmade = []\n"
        "def spin():\n    while True: pass\n"
        "def make_policy(*sizes):\n"
        "    if made: threading.Thread(target=spin, daemon=True).start(); spin()\n"
        "    made.append(1)\n"
        "    return mb.Continuous(*sizes)\n"
    )
    limits = Limits(seconds=30.0)
    outcomes = play_file(path, [MATCH] * 3, limits=limits, most_cpu_s=1.5, at_once=1)
    for outcome in outcomes:  # the matches before, and those of the other worker, too
        assert outcome.error == "its planning took more than 1 s of processor time in 2 matches"


def test_a_policy_cannot_write_hidden_lengths_on_the_board(monkeypatch, tmp_path):
    """Else a student reads them there, and submits again."""

    def few(division, seeds=(1,)):
        matches = [arena.Match("engine", "day", 0.6, seed) for seed in seeds]
        return matches * 2  # one for each worker

    monkeypatch.setattr(arena, "matches", few)
    monkeypatch.setattr(running, "SANDBOX", None)
    path = tmp_path / "arena_policy.py"
    path.write_text(
        f"{BEGIN}\nplayed = []\n"
        "def change(worker, a):\n"
        "    if len(played) == 2: raise KeyError('lengths: 31 41 59')\n"
        "    return a\n"
        "false('arena_step', change)\n"
        "false('arena_policy', lambda worker, a: played.append(1) or a)\n"
    )
    board = {"seeds": ["hidden"], "marks": {}, "students": {}}
    row = running._scores(path, "engine", board)
    board["students"]["Eve"] = {"engine": [{"file": "1", **row}]}
    (tmp_path / running.BOARD).write_text(json.dumps(board))
    for page in running.write_board(tmp_path):
        text = page.read_text(encoding="utf-8")
        assert "31 41 59" not in text
        assert "hidden seed" in text
    assert "31 41 59" in row["detail"]  # for the teacher

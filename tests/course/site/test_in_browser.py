"""What a page asks its Python for, called here in a Python with packages."""

import json

import pytest

from minibatch.course.setup import ROOT
from minibatch.course.site import record_words
from minibatch.course.site.in_browser.calls import call
from minibatch.course.site.in_browser.own_list import WORDS
from minibatch.course.site.live_page import arena, exercises, playground, source
from minibatch.schedulers import Continuous

MINE, OTHERS = source(Continuous), "from minibatch.schedulers import Static"


def asked(name, **arguments):
    return json.loads(call(name, json.dumps(arguments)))


def test_a_step_shows_the_source_of_the_policy_that_planned_it():
    shown = asked("play", traffic=None, own="A, 30, 5", policy=MINE, against=OTHERS)["result"]
    assert shown["steps"] == {"MyContinuous(8)": 5, "Static(8)": 5}
    _, picture = asked("frame", position=1, view="slots")["result"]
    assert "MyContinuous.plan" in picture
    assert "self.can_admit()" in picture


def test_window_budget_and_blocks_are_settings_of_the_policies_that_take_them():
    def steps(policy, **settings):
        own = "\n".join(f"R{i}, 100, 8, {i / 2}" for i in range(6))
        answer = asked("play", traffic=None, own=own, policy=text_of[policy], **settings)
        return answer["result"]["steps"] if "result" in answer else answer["error"]

    text_of = playground()["policies"]
    assert list(text_of) == ["Continuous", "Budget", "Dynamic", "Static", "Sequential"]
    assert steps("Dynamic", window=0) != steps("Dynamic", window=9)
    assert steps("Budget", budget=16) != steps("Budget", budget=256)
    assert steps("Sequential", num_blocks=7) == steps("Sequential", window=9, budget=16)
    assert "num_blocks" in steps("Continuous", num_blocks=6)


def test_every_policy_that_a_menu_offers_runs():
    for text in playground()["policies"].values():
        run = asked("play", traffic=None, own="A, 30, 5\nB, 30, 9", policy=text)
        assert [*run["result"]["steps"].values()][0] >= 9
    for text in arena()["policies"].values():
        assert asked("arena", policy=text) == {"result": 27}
        assert asked("match", number=0) == {"result": None}
        assert "on the public matches" in asked("score")["result"]["line"]


def test_a_policy_of_the_arena_that_cannot_play_says_why():
    assert "make_policy" in asked("arena", policy=MINE)["error"]
    stops = f"{MINE}\n\ndef make_policy(size, tokens):\n    raise ValueError('no')"
    asked("arena", policy=stops)
    number = stops.count("\n") + 1
    assert asked("match", number=0) == {"error": f"Line {number}: ValueError: no"}


WRONG = {  # an exercise: an answer, and what the page says of it
    "3.1": ("def is_ready(times, now, size, wait): return len(times) >= size", "expected True"),
    "3.2": (
        "import minibatch as mb\nclass MyDynamic(mb.Dynamic):\n"
        "    def plan(self, now): return mb.Static.plan(self, now)",
        "expected first and last token at",
    ),
    "4.1": (
        "import minibatch as mb\nclass MyContinuous(mb.Static):\n"
        "    def update(self, *step): return mb.Scheduler.update(self, *step)",
        "expected first and last token at",
    ),
    "9.1": ("whom_to_preempt = lambda running: 0", "tokens are computed again"),
    "9.2": ("may_begin = lambda *_: True", "preemptions"),
    "9.4": ("who_is_next = lambda *_: 1", "expected 0, got 1"),
}


@pytest.mark.parametrize("lesson", ["03", "04", "09"])
def test_the_shipped_answers_are_right_on_the_page_s_cases(lesson):
    (path,) = (ROOT / "solutions").glob(f"ex{lesson}_*.py")
    shown = asked("cases", policy=path.read_text("utf-8"))["result"]
    assert "✗" not in shown["html"]


@pytest.mark.parametrize("exercise", WRONG)
def test_a_wrong_answer_is_told_on_the_page(exercise):
    answer, said = WRONG[exercise]
    shown = asked("cases", policy=answer)["result"]
    assert said in shown["html"]
    assert f"<td>{exercise}</td>" in shown["html"]


def test_every_stub_says_that_it_is_not_written_yet():
    for text in exercises()["policies"].values():
        shown = asked("cases", policy=text)["result"]
        assert shown["line"].startswith("0 of ")
        assert "✗ not written yet" in shown["html"]
    assert "is_ready" in asked("cases", policy="x = 1")["error"]


def test_the_eight_agents_have_wayfarers_words_under_every_policy():
    own = playground()["traffic"]["the eight agents"]
    shown = asked("play", traffic=None, own=own, policy=MINE, against=OTHERS)["result"]
    assert "recorded from Wayfarer" in shown["html"]
    _, picture = asked("frame", position=19, view="slots")["result"]
    assert "Lalla" in picture
    other = asked("play", traffic=None, own=own.replace("80, 20", "80, 21"), policy=MINE)["result"]
    assert "lengths that you gave" in other["html"]


@pytest.mark.full
def test_wayfarer_generates_the_words_that_are_kept():
    assert record_words.words() == json.loads(WORDS.read_text(encoding="utf-8"))

"""What a player tells of a step, whom it marks, under which policies, and two of them in a race."""

import re
import sys

import pytest

import minibatch as mb
from minibatch.plots import guesses
from minibatch.plots.colours import PROTAGONISTS, WORK, ink_on, own_colours
from minibatch.widgets.events import step_text
from minibatch.widgets.policies import policies

PRETEND = mb.PretendModel()
TWELVE = mb.workload.agents(PRETEND, 12, prompt_scale=0.1)


def prompts_take_ten(plan):
    """A step's seconds: 10 with a prompt in it, 1 without."""
    return 10.0 if any(row.kind == "prefill" for row in plan.rows) else 1.0


def play(policy, requests=TWELVE, **options):
    engine = mb.Engine(PRETEND, policy, clock=mb.VirtualClock(prompts_take_ten))
    return mb.widgets.EnginePlayer(engine, requests, **options)


def few(**lengths):
    return [mb.Request([0] * 4, max_tokens=n, request_id=name) for name, n in lengths.items()]


@pytest.mark.parametrize(
    ("policy", "step", "sentence"),
    [
        (mb.Continuous, 1, "Eight join: 805 tokens of prompt."),
        (mb.Continuous, 2, "Eight write one token each."),
        (
            mb.Continuous,
            20,
            "A writes its last token (20 in all); seven others write one each.",
        ),
        (
            mb.Continuous,
            21,
            "A left (20 tokens). A2 joins slot 0: 80 tokens of prompt; seven others write one "
            "each.",
        ),
        (mb.Continuous, 200, "H writes its last token (200 in all). All twelve have finished."),
        (mb.Static, 1, "Eight join: 805 tokens of prompt, and 235 of padding."),
        (
            mb.Static,
            21,
            "A is done (20 tokens) and keeps its slot. Seven write one token each; one row is "
            "padding.",
        ),
        (mb.Static, 160, "H writes one token; seven rows are padding."),
        (mb.Static, 201, "Eight left. Four join: 405 tokens of prompt, and 75 of padding."),
    ],
)
def test_a_step_is_told_in_a_line(policy, step, sentence):
    player = play(policy(8))
    player.go_to(step)
    assert step_text(player.film, step) == sentence
    assert sentence in player.line.value
    assert 'aria-live="polite"' in player.line.value


def test_who_gives_way_is_told():
    requests = [mb.Request([0] * 8, max_tokens=9, request_id=name) for name in "AB"]
    engine = mb.Engine(PRETEND, mb.Continuous(2), num_blocks=3, block_size=8)
    player = mb.widgets.EnginePlayer(engine, requests)
    player.go_to(10**6)
    lines = [step_text(player.film, i) for i in range(1, player.last + 1)]
    assert any("B is preempted and waits again." in line for line in lines)


def test_a_name_stays_as_it_is_written_at_the_beginning_of_a_sentence():
    player = play(mb.Continuous(1), few(request=1, another=1))
    player.go_to(2)
    assert "request left (1 token). another joins slot 0" in player.line.value


def test_who_writes_a_last_token_is_leaving_and_not_yet_among_the_finished():
    player = play(mb.Continuous(2), few(A=2, B=4))
    player.go_to(2)
    assert "✓ last token" in player.view.value
    assert "finished</b> (0)" in player.view.value
    player.go_to(3)
    assert "finished</b> (1)" in player.view.value


def test_the_newest_token_is_marked_in_the_colour_of_its_request():
    model = mb.load_model("wayfarer", device="cpu")
    requests = mb.workload.agents(model, 2, prompt_scale=0.1)
    player = mb.widgets.EnginePlayer(mb.Engine(model, mb.Continuous(2)), requests, highlight="B")
    player.go_to(4)
    frames = player.film.frames
    for name, colour in (("A", WORK), ("B", PROTAGONISTS[0])):
        new = frames[4].texts[name].removeprefix(frames[3].texts[name])
        assert new == frames[4].newest[name] != ""
        style = f"background: {colour}; color: {ink_on(colour)};"
        assert re.search(f'<b style="{style}[^"]*">{re.escape(new)}</b>', player.view.value)


def test_in_seconds_a_prompt_is_as_wide_as_it_takes():
    player = play(mb.Continuous(1), few(A=11))
    player.go_to(10**6)
    assert [frame.seconds for frame in player.film.frames] == [0, *range(10, 21)]
    player.axis.value = "seconds"
    assert 'x="0.0%" y="1" width="50.0%"' in player.view.value


def test_the_right_end_of_the_scrubber_is_one_step_more():
    player = play(mb.Continuous(2), few(A=2, B=2))
    assert player.scrubber.max == 1
    player.scrubber.value = 1
    assert (player.position, player.last, player.scrubber.max) == (1, 1, 2)
    player.scrubber.value = 2
    assert (player.position, player.scrubber.max) == (2, 2)  # the run is over
    player.scrubber.value = 0
    assert "before the first step" in player.line.value


# Policies in the menu -----------------------------------------------------------------------------


class Mine(mb.Continuous):
    """One at a time, whatever the slots."""

    def plan(self, now):
        if not self.running:
            self.admit(now, self.waiting[0].max_num_tokens)
        return mb.StepPlan([mb.Row(s, s.num_uncomputed_tokens) for s in self.running])


@pytest.fixture
def notebook(monkeypatch):
    """What the learner's names stand for, as a cell would set them."""

    def define(**names):
        for name, value in names.items():
            monkeypatch.setattr(sys.modules["__main__"], name, value, raising=False)

    return define


def test_a_menu_has_the_policies_that_the_notebook_defines(notebook):
    class Unfinished(mb.schedulers.Scheduler):
        pass

    notebook(Mine=Mine, Unfinished=Unfinished, Static=mb.Static, base=mb.schedulers.Scheduler)
    assert [*policies()] == ["Sequential", "Static", "Dynamic", "Continuous", "Mine"]


def test_another_choice_serves_the_same_requests_from_the_start(notebook):
    player = play(mb.Continuous(2), few(A=2, B=3, C=2))
    player.go_to(3)
    notebook(Mine=Mine)
    player.menu.refresh()
    assert (player.position, player.menu.value) == (3, "Continuous")
    player.menu.value = "Mine"
    assert (player.position, player.film.last) == (0, 0)
    assert player.engine.scheduler.max_batch_size == 2
    player.go_to(10**6)
    assert player.position == 2 + 3 + 2
    assert player.film.frames[-1].seconds == 3 * 10 + 4


def test_a_class_that_was_written_anew_is_the_one_that_is_played_again(notebook):
    notebook(Mine=Mine)
    player = play(Mine(2), few(A=2, B=2))
    player.go_to(10**6)
    assert player.position == 4
    notebook(Mine=type("Mine", (mb.Continuous,), {}))
    player.again_button.click()
    player.go_to(10**6)
    assert player.position == 2


@pytest.mark.parametrize("policy", [Mine, Mine(2)], ids=["a class", "a policy"])
def test_a_player_is_made_anew_with_a_policy_that_it_is_given(policy):
    player = play(mb.Dynamic(2, max_wait=0.0), few(A=2, B=2))
    player.go_to(1)
    before = player.engine
    player.restart(policy)
    assert (player.position, player.menu.value) == (0, "Mine")
    assert player.engine is not before
    assert player.engine.pool.num_blocks == before.pool.num_blocks
    player.go_to(10**6)
    assert player.position == 4


def test_a_player_is_made_anew_as_it_was():
    player = play(mb.Dynamic(2, max_wait=3.0), few(A=2, B=2))
    player.go_to(2)
    player.restart()
    assert (player.engine.scheduler.max_wait, player.position) == (3.0, 0)


def test_a_policy_that_cannot_be_made_is_told_and_the_run_stays():
    class Needy(mb.Continuous):
        def __init__(self, limit):
            super().__init__(2)

    player = play(mb.Continuous(2), few(A=2, B=2))
    player.go_to(1)
    player.restart(Needy)
    assert "TypeError" in player.view.value
    assert "limit" in player.view.value
    assert player.position == 1


# The plan below -----------------------------------------------------------------------------------


def test_the_line_that_admitted_somebody_is_lit():
    player = play(mb.Continuous(8), show_plan=True)
    player.go_to(21)
    source = dict(player.film.plan.source())
    ((line, names),) = player.film.frames[21].lines.items()
    assert names == ("A2",)
    assert source[line].strip() == "sequence = self.admit(now, self.waiting[0].num_tokens)"
    assert f"background: {WORK}" in player.view.value.split("▸ admits A2")[1]
    player.go_to(22)
    assert player.film.frames[22].lines == {}


def test_a_line_that_calls_what_admits_is_the_one_that_is_lit():
    player = play(mb.Static(8), show_plan=True)
    player.go_to(1)
    ((line, names),) = player.film.frames[1].lines.items()
    assert len(names) == 8
    assert dict(player.film.plan.source())[line].strip() == "self.form_batch(now)"


def test_a_plan_without_a_source_says_so():
    code = "class Typed(mb.Continuous):\n    def plan(self, now):\n        return super().plan(now)"
    names = {"mb": mb, "__name__": "nowhere"}
    exec(code, names)
    player = play(names["Typed"](8), show_plan=True)
    player.go_to(1)
    assert "its source cannot be shown" in player.view.value


# A race -------------------------------------------------------------------------------------------


def race(**options):
    pair = {"Static(8)": mb.Static(8), "Continuous(8)": mb.Continuous(8)}
    clock = mb.VirtualClock(prompts_take_ten)
    return mb.widgets.EngineRace(pair, TWELVE, PRETEND, clock=clock, **options)


def test_by_step_both_engines_have_taken_as_many_until_one_is_done():
    both = race(highlight=("A2", "H"))
    both.go_to(100)
    assert both.places == (100, 100)
    assert "⚑" not in both.view.value
    both.go_to(250)
    assert both.places == (250, 200)
    assert "⚑ 200 steps, 245 s" in both.view.value  # in five of them are prompts
    assert "Continuous(8), step 200:</b> has finished." in both.line.value
    both.go_to(10**6)
    assert both.position == 320
    assert both.step_button.disabled


def test_a_and_h_have_the_same_colours_in_every_picture():
    both = race(highlight=("A2", "H"))
    assert PROTAGONISTS[0] not in both.view.value  # A's
    assert PROTAGONISTS[2] in both.view.value
    assert own_colours(["Ben", "H", "E"]) == dict(
        zip(("Ben", "H", "E"), (PROTAGONISTS[0], PROTAGONISTS[2], PROTAGONISTS[1]), strict=True)
    )


def test_by_second_the_one_whose_steps_are_quicker_takes_more_of_them():
    both = race()
    both.axis.value = "seconds"
    for position in range(0, 400, 7):
        both.go_to(position)
        pairs = list(zip(both.films.values(), both.places, strict=True))
        now = max(film.frames[place].seconds for film, place in pairs)
        for film, place in pairs:
            assert film.frames[place].seconds <= now
            assert place == film.last or film.frames[place + 1].seconds > now
    both.go_to(10**6)
    assert both.places == (320, 200)


def test_a_guess_stands_in_both_strips_of_a_race_as_long_as_they_count_steps():
    guesses.keep("first", 90)
    both = race(guess="first")
    assert both.view.value.count("your guess: 90") == 2
    both.axis.value = "seconds"
    assert "your guess:" not in both.view.value
    guesses.forget("first")
    both.axis.value = "steps"
    assert "your guess:" not in both.view.value


def test_turning_the_axis_of_a_race_shows_as_many_steps():
    both = race()
    both.go_to(50)
    both.axis.value = "seconds"
    assert max(both.places) == 50
    both.axis.value = "steps"
    assert both.places == (50, 50)


def test_a_race_begins_anew_with_another_policy_in_the_last_place():
    both = race()
    both.go_to(30)
    both.restart()
    assert both.places == (0, 0)
    both.restart(mb.Dynamic)
    assert list(both.films) == ["Static(8)", "Dynamic(8)"]


def test_a_race_takes_two_or_three():
    with pytest.raises(ValueError, match="1 policies given; a race has two or three"):
        mb.widgets.EngineRace({"one": mb.Continuous()}, TWELVE, PRETEND)

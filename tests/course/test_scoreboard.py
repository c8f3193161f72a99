"""The scoreboard of Part I: lines are kept, drawn alike, and shown by `status`."""

import pytest

import minibatch as mb
from minibatch.course import learner, scoreboard
from minibatch.course.exercises import source
from minibatch.course.exercises.progress import Progress
from minibatch.plots import guesses
from minibatch.plots.figures.finish import finish
from minibatch.plots.figures.scoreboard import LESSONS, Line
from minibatch.plots.figures.scoreboard import scoreboard as draw

LINE = Line(10.0, 4.0, 9.0, 100, 40, 50)


@pytest.fixture(autouse=True)
def own_progress(tmp_path, monkeypatch):
    monkeypatch.setenv("MINIBATCH_EXERCISES", str(tmp_path))
    yield
    guesses.forget(scoreboard.LAST_LINE)


def test_a_served_line_is_kept_for_the_next_lesson(tiny_model):
    card = scoreboard.add("padded batches", tiny_model, num_agents=5)
    assert "nothing is served yet" in card.view.value
    card.button.click()
    line = scoreboard.lines()["padded batches"]
    assert line.num_agents == 5
    assert 0 < line.median_s <= line.worst_s < line.seconds
    assert line.num_rows > line.num_padding > 0
    assert f"{line.num_padding:,} of all" in card.line.value
    again = scoreboard.add("with a window", tiny_model, num_agents=5)
    assert f"padded batches, {line.seconds:.1f} s" in again.view.value


def test_the_race_opens_the_guess_of_lesson_0(tiny_model):
    asked = scoreboard.guess_last_line()
    asked.slider.value = 30
    asked.button.click()
    guesses.forget()  # another lesson, another kernel
    assert scoreboard.guess_last_line().answer == 30
    card = scoreboard.race(tiny_model, num_agents=5)
    assert "your guess: 30" not in card.still
    card.button.click()
    assert list(scoreboard.lines()) == ["one by one", "padded batches", "continuous"]
    assert "Your guess in lesson 0 was 30 %." in card.line.value
    assert "Same answers." in card.view.value
    assert card.view.value.count("<img") == 3


def test_a_race_counts_only_the_seconds_of_each_engines_own_steps(tiny_model):
    requests = mb.workload.agents(tiny_model, n=3, prompt_scale=0.1, output_scale=0.1)
    traces = scoreboard.serve(tiny_model, ["one by one", "continuous"], requests, lambda _: None)
    for trace in traces.values():
        seconds = sum(step.end_time - step.start_time for step in trace.steps)
        (last,) = scoreboard.own_seconds(trace, [trace.steps[-1].end_time])
        assert last == pytest.approx(seconds)
        assert seconds < trace.steps[-1].end_time


def test_the_learners_price_is_kept_and_drawn(tiny_model):
    Progress().note_scoreboard({"lines": {"one by one": _as_dict(LINE)}})
    card = scoreboard.add("one by one", tiny_model)
    card.price.value = 36.0
    assert scoreboard.price() == 36.0
    assert "€ 2.00" in card.view.value  # 10 s for 50, 200 s for 1,000, at a cent a second


def test_status_shows_the_lines_and_no_result_of_an_exercise_is_lost():
    Progress().note_verdict(source.all_tasks()["9.1"], "passed", 2, 2)
    Progress().note_scoreboard({"lines": {"continuous": _as_dict(LINE)}})
    shown = learner.status()
    assert "continuous: 10.0 s" in shown.text
    assert "40 of 100 rows" in shown.html
    table = shown.html.index("<table>")
    assert shown.html.count("<details>", 0, table) == 1  # folded, and at first closed
    assert Progress()["9.1"].points == 2


def test_a_missing_line_keeps_its_place():
    figure = draw({"continuous": LINE})
    words = [text.get_text() for axis in figure.axes for text in axis.texts]
    missing = [name for name in LESSONS if f"lesson {LESSONS[name]} adds this line" in words]
    assert missing == ["one by one", "padded batches", "with a window"]


def test_the_race_says_how_far_the_others_were():
    figure = finish({"one by one": [3.0, 6.0, 9.0], "continuous": [2.0, 3.0, 3.5]})
    assert "When continuous has served all 3: 1 of one by one" in figure.alt


def test_a_line_that_does_not_exist_is_refused_by_name(tiny_model):
    with pytest.raises(ValueError, match='"fastest" is not a line of the scoreboard; it has one'):
        scoreboard.add("fastest", tiny_model)


def _as_dict(line):
    return {name: getattr(line, name) for name in line.__slots__}

"""The certificate: a page of what was built, from the progress file, with nothing made up."""

import re
from dataclasses import asdict
from datetime import date

import pytest

from minibatch.course import certificate
from minibatch.course.exercises import source
from minibatch.course.exercises.progress import Progress
from minibatch.plots.figures.scoreboard import Line

SOLVED = "ex06_a_paged_attention_kernel"


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("MINIBATCH_EXERCISES", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def fill(folder):
    tasks, progress = source.all_tasks(), Progress()
    text = (source.SOLUTIONS / f"{SOLVED}.py").read_text(encoding="utf-8")
    (folder / f"{SOLVED}.py").write_text(text, encoding="utf-8")
    for name in ("4.1", "6.2"):
        progress.note_verdict(tasks[name], "passed", tasks[name].points, tasks[name].points)
    progress.note_verdict(tasks["4.2"], "wrong", 1, tasks["4.2"].points)
    line = Line(10.0, 4.0, 9.0, 100, 40, 50)
    progress.note_scoreboard({"lines": {"continuous": asdict(line)}})
    progress.note_arena("engine", 0.8765, 2, 9)


def test_an_empty_page_claims_nothing_and_the_command_says_what_is_missing(folder, capsys):
    assert certificate.main([]) == 0
    page = (folder / "certificate.html").read_text(encoding="utf-8")
    assert page.count("<h2>") == 0
    assert f"0 of {len(source.all_tasks())} exercises, 0 of" in page
    assert capsys.readouterr().out.count("not on it yet") == 5


def test_it_shows_what_has_passed_with_the_learner_s_own_figures(folder, capsys):
    fill(folder)
    assert certificate.main(["mine.html", "--name", "Ada <Lovelace>"]) == 0
    page = (folder / "mine.html").read_text(encoding="utf-8")
    tasks = source.all_tasks()
    listed = re.findall(r"<li><b>([\d.]+)</b>", page)
    assert listed == ["4.1", "6.2"]
    assert f"{tasks['4.1'].points + tasks['6.2'].points + 1} of" in page
    assert "continuous, 10.0 s" in page
    assert "6.2: decode" in page
    assert "6.3: decode_group" not in page
    assert "Place 2 of 9" in page
    assert "0.876" in page or "0.877" in page
    assert "Ada &lt;Lovelace&gt;" in page
    assert "not on it yet" not in capsys.readouterr().out


def test_the_page_needs_no_network_and_no_other_file(folder):
    fill(folder)
    page = certificate.certificate("Ada").page(date(2026, 5, 4))
    assert "4 May 2026" in page
    assert not re.findall(r'(?:src|href)="(?!data:)', page)
    assert "<script" not in page
    assert page.count("<img") == 2

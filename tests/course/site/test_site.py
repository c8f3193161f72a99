"""A lesson as a page: self-contained, with stills of its controls; its links lead somewhere."""

import html
import re
from urllib.parse import parse_qsl

import nbformat
import numpy as np
import pytest
from committed import committed
from IPython.core.interactiveshell import InteractiveShell
from numba import cuda

import minibatch as mb
from minibatch import kernel_lab as lab
from minibatch.course.exercises.source import all_tasks
from minibatch.course.setup import ROOT
from minibatch.course.site import build_site, contents, course_map, slider_film
from minibatch.course.site.cells import cells
from minibatch.course.site.live_page import playground
from minibatch.course.site.stills import STATE, VIEW
from minibatch.memory.contiguous import FirstFit, told_the_length
from minibatch.simulator.replay import Contiguous, Paged
from minibatch.widgets.slide import Slide

PATHS = sorted(build_site.LESSONS.glob("[0-9]*.ipynb"))


def notebook(*made, states=None):
    metadata = {"widgets": {STATE: {"state": states or {}}}}
    return nbformat.v4.new_notebook(cells=list(made), metadata=metadata)


def code(source, *outputs, **metadata):
    return nbformat.v4.new_code_cell(source, outputs=list(outputs), metadata=metadata)


def shown(*outputs, states=None):
    (cell,) = cells(notebook(code("look", *outputs), states=states), build_site.LESSONS, str)
    return cell.body


def displayed(**data):
    mime = {name.replace("_", "/", 1): value for name, value in data.items()}
    return nbformat.v4.new_output("display_data", mime)


STATES = {
    "box": {
        "model_name": "VBoxModel",
        "state": {"children": ["IPY_MODEL_slider", "IPY_MODEL_gone", "IPY_MODEL_view"]},
    },
    "slider": {"model_name": "IntSliderModel", "state": {"description": "slots <8>", "value": 4}},
    "gone": {
        "model_name": "ButtonModel",
        "state": {"description": "hidden", "layout": "IPY_MODEL_none"},
    },
    "none": {"model_name": "LayoutModel", "state": {"display": "none"}},
    "view": {
        "model_name": "OutputModel",
        "state": {"outputs": [displayed(text_html="<b>a figure</b>")]},
    },
    "tqdm": {
        "model_name": "HBoxModel",
        "state": {"children": ["IPY_MODEL_bar", "IPY_MODEL_percent"]},
    },
    "percent": {"model_name": "HTMLModel", "state": {"value": "85%"}},
    "bar": {"model_name": "FloatProgressModel", "state": {"value": 1.0}},
}


def test_a_control_leaves_a_still_with_its_value_and_what_it_drew():
    still = shown(
        nbformat.v4.new_output("display_data", {VIEW: {"model_id": "box"}}), states=STATES
    )
    assert "slots &lt;8&gt; 4" in still
    assert "<b>a figure</b>" in still
    assert "hidden" not in still
    assert "python -m minibatch lab" in still


def test_buttons_beside_a_progress_bar_are_shown():
    states = {
        "box": {
            "model_name": "BoxModel",
            "state": {"children": ["IPY_MODEL_play", "IPY_MODEL_bar"]},
        },
        "play": {"model_name": "ButtonModel", "state": {"description": "Play"}},
        "bar": {"model_name": "IntProgressModel", "state": {"value": 0}},
    }
    output = nbformat.v4.new_output("display_data", {VIEW: {"model_id": "box"}})
    assert "Play" in shown(output, states=states)


def test_texts_with_a_width_stay_apart_from_one_another():
    states = {"row": {"model_name": "HBoxModel", "state": {"children": []}}}
    for name in ("Rosa", "Anna"):
        layout = f"IPY_MODEL_{name} layout"
        text = {"value": f"<b>{name}</b><br>Lisbon", "layout": layout}
        states[name] = {"model_name": "HTMLModel", "state": text}
        states[f"{name} layout"] = {"model_name": "LayoutModel", "state": {"width": "24%"}}
        states["row"]["state"]["children"].append(f"IPY_MODEL_{name}")
    still = shown(
        nbformat.v4.new_output("display_data", {VIEW: {"model_id": "row"}}), states=states
    )
    for name in ("Rosa", "Anna"):
        pane = f'<div style="width: 24%; align-self: flex-start"><b>{name}</b><br>Lisbon</div>'
        assert pane in still


def test_a_scoreboard_is_a_recorded_one_that_names_its_machine_and_ends_with_its_lesson():
    box = {**STATES["box"], "state": {"children": ["IPY_MODEL_row", "IPY_MODEL_view"]}}
    box["state"]["_dom_classes"] = ["minibatch-scoreboard", "minibatch-scoreboard-2"]
    row = {"model_name": "BoxModel", "state": {"children": ["IPY_MODEL_slider"]}}
    output = nbformat.v4.new_output("display_data", {VIEW: {"model_id": "box"}})
    still = shown(output, states=STATES | {"box": box, "row": row})
    assert "slots &lt;8&gt; 4" in still
    assert "AMD EPYC" in still
    assert "“padded batches” is 2.0 times as fast as “one by one”" in still
    assert "a figure" not in still


QUESTION = {
    "question": {
        "model_name": "VBoxModel",
        "state": {
            "_dom_classes": ["minibatch-question"],
            "children": [f"IPY_MODEL_{name}" for name in ("asked", "guess", "unit")],
        },
    },
    "asked": {"model_name": "HTMLModel", "state": {"value": "<p>How many?</p>"}},
    "guess": {"model_name": "IntSliderModel", "state": {"min": 0, "max": 60, "step": 1}},
    "unit": {"model_name": "LabelModel", "state": {"value": "steps"}},
}


def asking():
    """A lesson that asks between two figures; only the second gives the answer."""
    asked = nbformat.v4.new_output("display_data", {VIEW: {"model_id": "question"}})
    came_out = nbformat.v4.new_output("stream", text="710")
    return notebook(
        nbformat.v4.new_markdown_cell(f"# A title\n\n| {'name_' * 20} |\n|---|\n| 1 |"),
        code(f"draw(guess='before')  # {'wide ' * 40}", came_out),
        code('mb.predict(\n    "steps", "How many?", 0, 60)', asked),
        code('draw(guess="steps")', came_out),
        nbformat.v4.new_markdown_cell("So it is 710."),
        nbformat.v4.new_markdown_cell("## More"),
        states=QUESTION,
    )


def asking_page():
    return build_site.lesson_page(asking(), PATHS[0], PATHS, "")


def test_a_question_is_answered_on_the_page_and_covers_what_came_out():
    _, before, question, answer, heading = cells(asking(), build_site.LESSONS, str)
    assert (before.answers, question.asks, answer.answers) == ("", "steps", "steps")
    assert 'min="0" max="60" step="1"' in question.body
    assert "So it is 710." in answer.after
    assert "More" in heading.body
    assert asking_page().count('<details class="answer" data-answers="steps">') == 1


def after_the_answer(*following):
    """What is covered, and what stands open, of the cells that follow an answer."""
    asked = code('mb.predict("steps", "How many?", 0, 60)'), code('draw(guess="steps")')
    more = [nbformat.v4.new_markdown_cell(c) if isinstance(c, str) else c for c in following]
    _, answer, *rest = cells(notebook(*asked, *more), build_site.LESSONS, str)
    assert answer.answers
    return answer.after, "".join(cell.body for cell in rest)


QUESTION_CELL, CODE_CELL = code('mb.predict("next", "And now?", 0, 9)'), code("draw()")


@pytest.mark.parametrize(
    ("following", "covered", "stands_open"),
    [
        (["It is 710.\n\n## More\n\nA queue.", QUESTION_CELL], ["710"], ["More", "queue"]),
        (["It is 710.\n\nFour begin.", QUESTION_CELL], ["710"], ["Four begin"]),
        (["Four begin.", QUESTION_CELL], [], ["Four begin"]),
        (["It is 710.\n\nSo many.", CODE_CELL], ["710", "So many"], []),
        (["It is 710.\n\nIn seconds:", CODE_CELL], ["710"], ["In seconds"]),
        (["It is 710:", CODE_CELL], ["710"], []),
        (["It is 710.\n\nSo many.", "Why?\n\n## More", CODE_CELL], ["710", "So", "Why"], ["More"]),
        (["<details><summary>Found?</summary>\n\n710\n</details>", QUESTION_CELL], ["710"], []),
    ],
)
def test_a_cover_ends_where_the_lesson_goes_on(following, covered, stands_open):
    hidden, seen = after_the_answer(*following)
    assert all(word in hidden and word not in seen for word in covered)
    assert all(word in seen and word not in hidden for word in stands_open)


def test_what_is_drawn_right_behind_an_answer_is_covered_with_it():
    asked = code('mb.predict("steps", "How many?", 0, 60)'), code('draw(guess="steps")')
    made = notebook(*asked, CODE_CELL, nbformat.v4.new_markdown_cell("## More"), code("go_on()"))
    shown = cells(made, build_site.LESSONS, str)
    assert [cell.answers for cell in shown] == ["", "steps", "steps", "", ""]


class Words(str):
    def _repr_html_(self):
        return f"<p>{self}</p>"


def filmed(shown, start, live=""):
    """A lesson with a control that was filmed."""
    made = {"model_id": "box", "frames": shown, "start": start, "live": live}
    view = nbformat.v4.new_output("display_data", {VIEW: {"model_id": "box"}})
    left = nbformat.v4.new_output("display_data", {slider_film.MIME: made})
    title = nbformat.v4.new_markdown_cell("# A title")
    return notebook(title, code("slide", view), code(slider_film.CODE, left))


def test_a_control_that_slides_is_filmed_and_left_where_it_stood():
    slide = Slide(lambda n: Words(f"picture {n}"), "rows", 1, 100, start=3)
    shown, start = slider_film.frames(slide)
    assert shown[start] == ("rows 3", "<p>picture 3</p>")
    assert shown[-1][0] == "rows 100"
    assert len(shown) < 40
    assert slide.slider.value == 3
    _, cell = cells(filmed(shown, start), build_site.LESSONS, str)
    assert "<p>picture 3</p>" in cell.body
    assert "picture 4<" not in cell.body


def test_a_control_of_many_settings_is_filmed_along_the_one_that_slides():
    playground = mb.widgets.Playground(mb.Budget, num_requests=3)
    places = [place for place, _ in slider_film.frames(playground)[0]]
    assert places[:2] == ["budget (policy's default)", "budget 16 tokens"]
    assert playground.budget.value == 0


def test_the_window_slider_is_filmed_at_what_its_lesson_asks_for():
    traffic = {"bursts, load 0.3": mb.streams.bursts(0.3, count=2)}
    slider = mb.widgets.WindowSlider(traffic, mb.streams.by_window(traffic, (0, 2)))
    shown, start = slider_film.frames(slider)
    assert shown[start][0] == f"bursts, load 0.3: window {slider.window.value:g} s"
    assert len(shown) == 4
    lesson = PATHS[3].read_text(encoding="utf-8")
    assert re.search(r"Set the window from 0.5 s to 0.25 s\.", lesson)
    assert all(f"mb.streams.{kind}(" in lesson for kind in ("poisson", "bursts"))


def test_a_film_leads_to_the_playground_with_the_policy_that_it_shows():
    traffic = {"bursts, load 0.3": mb.streams.bursts(0.3, count=2)}
    player = mb.widgets.EnginePlayer(
        mb.Engine(mb.PretendModel(), mb.Continuous(2)), [mb.Request([0, 0], max_tokens=3)]
    )
    controls = {
        "shipped=Dynamic&window=0.25": mb.widgets.WindowSlider(
            traffic, mb.streams.by_window(traffic, (0, 2))
        ),
        "shipped=Continuous&slots=4": player,
        "shipped=Budget&budget=256": mb.widgets.Playground(mb.Budget, num_requests=3),
        "": Slide(lambda n: Words(f"picture {n}"), "rows", 1, 100),
    }
    assert {slider_film.live(control): control for control in controls.values()} == controls
    for link in controls:
        _, cell = cells(filmed([("1", "<p>one</p>")], 0, link), build_site.LESSONS, str)
        assert ("Run this live" in cell.body) == bool(link)
        assert link.replace("&", "&amp;") in cell.body
    offered = playground()["policies"]
    assert all(dict(parse_qsl(link))["shipped"] in offered for link in controls if link)


def test_every_step_of_a_short_run_is_filmed_and_of_a_long_one_its_turns():
    memories = {"told": Contiguous(FirstFit(256), told_the_length), "blocks": Paged(16)}
    requests = [mb.Request([0] * 96, max_tokens=n, request_id=f"A{n}") for n in (5, 20, 11)]
    player = mb.widgets.MemoryPlayer(memories, requests)
    shown, _ = slider_film.frames(player)
    assert [place for place, _ in shown] == [f"step {i}" for i in range(player.last + 1)]
    places = slider_film._places(2400, [1200])
    assert {60, 1199, 1200, 1201, 2400} <= {*places}
    assert len(places) < 200


def test_a_stepper_s_slider_says_the_barrier_that_its_picture_says():
    def two_rounds(x, out):
        tile, i = cuda.shared.array(4, np.float32), cuda.threadIdx.x
        for n in range(2):
            tile[i] = x[i] + n
            cuda.syncthreads()
            out[i] = tile[3 - i]
            cuda.syncthreads()

    report = lab.run(two_rounds, 1, 4, np.zeros(4, np.float32), lab.empty(4))
    shown, _ = slider_film.frames(mb.widgets.KernelStepper(report))
    assert [place for place, _ in shown] == [f"barrier {n} of 4" for n in (1, 2, 3, 4)] + [
        "the end"
    ]
    assert all(f"<b>{place}</b>" in picture for place, picture in shown)


def test_two_pictures_of_the_same_have_the_same_ids():
    player = mb.widgets.EnginePlayer(
        mb.Engine(mb.PretendModel(), mb.Static(2)), [mb.Request([0, 0], max_tokens=3)]
    )
    player.go_to(2)
    first = slider_film._still(player)
    player.show()
    assert slider_film._still(player) == first
    assert re.search(r'id="(\w[\w-]*)"', first)[1] in re.findall(r"url\(#([\w-]+)\)", first)


def test_a_film_is_of_what_the_cell_came_to_whatever_else_a_lesson_calls_underscore(monkeypatch):
    shell, seen = InteractiveShell(), []
    monkeypatch.setattr(slider_film, "get_ipython", lambda: shell)
    monkeypatch.setattr(slider_film, "film", seen.append)
    for source in ("for _ in range(3): pass", "'a control'", slider_film.CODE):
        shell.run_cell(source, store_history=True).raise_error()
    assert seen == ["a control"]


def test_a_progress_bar_leaves_nothing():
    for name in ("bar", "tqdm"):
        output = nbformat.v4.new_output("display_data", {VIEW: {"model_id": name}})
        assert shown(output, states=STATES) == ""


def test_what_a_program_printed_is_text_and_no_markup():
    assert "&lt;script&gt;" in shown(nbformat.v4.new_output("stream", text="<script>"))


def test_pictures_are_in_the_page_and_links_lead_somewhere_or_are_words():
    text = (
        "![steps](images/04.svg) [next](01_one_token_at_a_time.ipynb#go) [file](../exercises/x.py)"
    )
    made = notebook(nbformat.v4.new_markdown_cell(text))
    (cell,) = cells(
        made, build_site.LESSONS, lambda to: build_site._target(to, build_site.LESSONS, "")
    )
    assert 'src="data:image/svg+xml;base64,' in cell.body
    assert 'href="01_one_token_at_a_time.html#go"' in cell.body
    assert 'href="../' not in cell.body
    assert "file (<code>exercises/x.py</code>)" in cell.body
    at_home = build_site._target(
        "../exercises/x.py", build_site.LESSONS, "https://github.com/me/course"
    )
    assert at_home == "https://github.com/me/course/blob/main/exercises/x.py"


def test_a_name_in_a_table_breaks_behind_a_slash_or_an_underscore():
    made = notebook(
        nbformat.v4.new_markdown_cell("| a |\n|---|\n| `cuda/PARTITION_SIZE` |\n\n`a_b`")
    )
    (cell,) = cells(made, build_site.LESSONS, str)
    assert "<code>cuda/<wbr>PARTITION_<wbr>SIZE</code>" in cell.body
    assert "<code>a_b</code>" in cell.body


def test_code_that_a_lesson_hides_is_folded():
    made = notebook(code("1 + 1", jupyter={"source_hidden": True}), code("2 + 2"))
    assert [cell.is_folded for cell in cells(made, build_site.LESSONS, str)] == [True, False]


def test_a_page_asks_the_network_for_nothing():
    lesson = nbformat.read(PATHS[1], as_version=4)
    pages = build_site.lesson_page(lesson, PATHS[1], PATHS, ""), build_site.contents_page("")
    for page in pages:
        icon = '<link rel="icon" href="data:'  # without it, a browser asks for /favicon.ico
        assert icon in page
        assert not re.search(r'(?:src|data)="https?:|<link|@import|url\(', page.replace(icon, ""))
    assert 'href="00_start_here.html"' in pages[0]
    assert 'href="02_static_batching.html"' in pages[0]
    assert "Colab" not in pages[0]


def test_the_contents_lead_to_every_lesson_by_its_picture():
    page = build_site.contents_page("")
    for path in PATHS:
        assert page.count(f'<a href="{path.stem}.html">') == 1
    assert page.count("<img") == len(PATHS) + 2  # the cover and the map
    assert not re.search(r'alt="\s*"', page)


def test_the_map_has_every_lesson_and_is_that_of_the_table():
    assert course_map.FILE.read_text(encoding="utf-8") == course_map.course_map()
    parts = contents.cards(build_site.LESSONS)
    placed = [box for row in course_map.boxes(parts) for box in row]
    assert [box.card.number for box in placed] == [path.name[:2] for path in PATHS]
    for box in placed[5:]:  # each has an arrow from lesson 04, and names what it needs besides
        assert "04" in box.needs or set(box.needs) & {"09"}
        assert all(number in box.besides for number in box.needs if number != "04")


def test_a_way_through_the_course_takes_the_minutes_of_its_lessons_and_exercises():
    every = {
        card.number: card for part in contents.cards(build_site.LESSONS).values() for card in part
    }
    tasks = all_tasks()
    total = sum(int(card.minutes.partition(" ")[0]) for card in every.values())
    ways = contents.ways(build_site.LESSONS)
    assert len(ways) == 7
    for _, what, minutes in ways:
        exercises = re.findall(r"\b\d+\.\d\b", what)
        lessons = re.findall(r"\b\d\d\b(?!\.)", what)
        if exercises:
            assert minutes == sum(tasks[name].minutes for name in exercises), what
        elif lessons:
            each = [int(every[number].minutes.partition(" ")[0]) for number in lessons]
            assert minutes == sum(each), what
        else:
            whole = sum(task.minutes for task in tasks.values())
            assert minutes == (whole if "exercises" in what else total), what
    assert round(total / 60) == 17  # what README.md says


def test_no_answer_of_the_exam_is_published():
    """Pages are made of notebooks and of the list of lessons; the answers are in neither."""
    answers = (ROOT / "solutions" / "EXAM.md").read_text(encoding="utf-8")
    said = [line for line in answers.splitlines() if len(line) > 60]
    assert len(said) >= 15
    sources = [*PATHS, *(ROOT / "lessons").glob("*.md"), *(ROOT / "minibatch").rglob("*.html")]
    published = "".join(path.read_text(encoding="utf-8") for path in sources)
    assert [line for line in said if line in published] == []
    assert "EXAM" not in build_site.contents_page("https://github.com/me/course")


def test_a_page_that_is_passed_on_shows_the_cover():
    page = build_site.contents_page("https://github.com/me/course")
    assert '"og:image" content="https://me.github.io/course/same_answers.png"' in page
    assert "og:image" not in build_site.contents_page("")


def test_with_an_address_a_page_opens_its_lesson_elsewhere():
    lesson = nbformat.reads(committed(PATHS[0]), as_version=4)
    page = build_site.lesson_page(lesson, PATHS[0], PATHS, "https://github.com/me/course")
    assert "https://codespaces.new/me/course" in page
    assert (
        "colab.research.google.com/github/me/course/blob/main/lessons/00_start_here.ipynb" in page
    )


@pytest.mark.parametrize("path", PATHS[4:7:2], ids=lambda path: path.stem)
def test_a_lesson_begins_with_links_to_its_sections(path):
    lesson = nbformat.reads(committed(path), as_version=4)
    page = build_site.lesson_page(lesson, path, PATHS, "")
    listed = page.split("<summary>On this page</summary>")[1].split("</ul>")[0]
    anchors = [html.unescape(each) for each in re.findall(r'<a href="#([^"]+)">', listed)]
    sources = [cell.source for cell in lesson.cells if cell.cell_type == "markdown"]
    assert len(anchors) == len(re.findall(r"^## ", "\n".join(sources), re.MULTILINE))
    assert all(f'<h2 id="{anchor}">' in page for anchor in anchors)


def test_a_lesson_that_is_not_there_is_named(tmp_path, capsys):
    with pytest.raises(SystemExit):
        build_site.main([str(tmp_path), "99"])
    assert "no such lesson; there are 00, 01" in capsys.readouterr().err


@pytest.mark.full
def test_the_first_lesson_becomes_a_page(tmp_path):
    assert build_site.main([str(tmp_path), "00", "--repository", ""]) == 0
    page = (tmp_path / "00_start_here.html").read_text(encoding="utf-8")
    assert 'src="data:image/svg+xml' in page
    assert (tmp_path / "index.html").exists()
    assert (tmp_path / "same_answers.png").exists()


def test_a_page_has_every_colour_of_a_theme_that_controls_and_figures_ask_for():
    """One that is missing is light on white in the dark."""
    templates = [path.read_text(encoding="utf-8") for path in ROOT.glob("minibatch/**/*.html")]
    asked = {name for text in templates for name in re.findall(r"var\((--jp-[\w-]*color\d)", text)}
    given = set(re.findall(r"(--jp-[\w-]*color\d):", build_site.contents_page("")))
    assert len(asked) > 4
    assert asked - given == set()


@pytest.mark.browser
def test_in_a_browser_a_film_is_turned_over_by_slider_and_button(browser, tmp_path):
    shown = [(f"step {n}", f"<p>\npicture {n}\n</p>") for n in range(3)]
    lesson = build_site.lesson_page(filmed(shown, 0), PATHS[0], PATHS, "")
    (tmp_path / "lesson.html").write_text(lesson, encoding="utf-8")
    page = browser.new_page()
    page.goto((tmp_path / "lesson.html").as_uri())
    page.get_by_role("button", name="on", exact=True).click()
    page.get_by_text("picture 1").wait_for()
    page.get_by_role("slider").press("ArrowRight")
    page.get_by_text("picture 2").wait_for()
    page.get_by_role("button", name="back").click()
    page.get_by_text("picture 1").wait_for()
    assert page.get_by_text("step 1").is_visible()


@pytest.mark.full
@pytest.mark.browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_in_a_browser_a_guess_opens_the_answer_and_every_page_is_accessible(
    browser, tmp_path, scheme
):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    (tmp_path / "index.html").write_text(build_site.contents_page("https://github.com/me/course"))
    (tmp_path / "lesson.html").write_text(asking_page())
    page = browser.new_page(color_scheme=scheme, viewport={"width": 400, "height": 800})
    for name in ("index", "lesson"):
        page.goto(f"{(tmp_path / name).as_uri()}.html")
        found = axe.run(page).response["violations"]
        assert [each["id"] for each in found if each["impact"] in ("serious", "critical")] == []
        assert page.evaluate("document.documentElement.scrollWidth") <= 400
    button = page.get_by_role("button", name="This is my guess")
    assert button.is_disabled()
    slider = page.get_by_role("slider")
    slider.press("Tab")
    assert button.is_disabled()
    slider.click()  # in the middle, where it begins
    button.press("Enter")
    assert page.get_by_role("status").inner_text().startswith("Your guess: 30 steps.")
    slider.press("Home")
    slider.press("ArrowRight")
    button.press("Enter")
    assert page.get_by_role("status").inner_text().startswith("Your guess: 1 step.")
    slider.press("End")
    button.press("Enter")
    assert page.get_by_text("Your guess: 60 steps. What came out:").is_visible()
    assert page.get_by_text("710").last.is_visible()

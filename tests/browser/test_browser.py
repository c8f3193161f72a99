"""What a learner sees in JupyterLab after "Run All". What it needs: browser.py."""

import random

import nbformat
import pytest
from chromium import (
    OUTPUTS,
    axe_violations,
    no_errors,
    open_lesson,
    run_all,
    screenshot,
    screenshot_outputs,
    scroll_until_seen,
)

from minibatch.course.setup import ROOT

FIRST_TEXT = 'document.querySelector(".jp-MarkdownOutput p:not(:has(img))")'
OUTPUT_TEXT = f'document.querySelector("{OUTPUTS}").innerText'

pytestmark = [pytest.mark.browser, pytest.mark.timeout(1200)]

SLIDER = """\
import ipywidgets
ipywidgets.VBox([ipywidgets.HTML("<b>How many slots?</b>"), ipywidgets.IntSlider(3, max=9)])
"""

# Faint words at the top, folded away, and three screens further down; an image without a name.
FAULTS = """\
from IPython.display import HTML, display
faint = "<p style='color: #bbb'>faint words</p>"
display(HTML(faint), HTML(f"<details><summary>more</summary>{faint}</details>"))
display(HTML("<div style='height: 3000px'></div>"), HTML(faint))
display(HTML("<img src='images/04.svg'>"))
"""


# Two players on a small random model: a shipped policy, and one as a learner may write it.
PLAYERS = """\
import torch
from transformers import LlamaConfig, LlamaForCausalLM

import minibatch as mb

torch.manual_seed(0)
config = LlamaConfig(
    vocab_size=64, hidden_size=32, intermediate_size=64, num_hidden_layers=2,
    num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=256, eos_token_id=None,
)
model = mb.Model(LlamaForCausalLM(config))


class OneAtATime(mb.schedulers.Scheduler):
    def plan(self, now):
        if not self.running:
            self.admit(now, self.waiting[0].max_num_tokens)
        (sequence,) = self.running
        if sequence.num_output_tokens == 2 and sequence.request_id == "B":
            raise LookupError("B is lost")
        return mb.StepPlan([mb.Row(sequence, sequence.num_uncomputed_tokens)])


def player(policy):
    requests = [mb.Request([1, 2, 3], max_tokens=4, request_id=name) for name in "ABC"]
    return mb.widgets.EnginePlayer(mb.Engine(model, policy), requests)


player(%s)
"""


# A kernel of a cell's own, with a barrier, and one that forgets it.
STEPPER = """\
import numpy as np
from numba import cuda, float32

import minibatch as mb
from minibatch import kernel_lab as lab


def turn_round(x, out):
    tile = cuda.shared.array(32, float32)
    i = cuda.threadIdx.x
    tile[i] = x[i]
    cuda.syncthreads()
    out[i] = tile[31 - i]


report = lab.run(turn_round, 1, 32, np.arange(32, dtype=np.float32), lab.empty(32))
display(mb.plots.warp_film(report, 1))
mb.widgets.KernelStepper(report)
"""


QUESTIONS = """\
import minibatch as mb

display(mb.predict("steps", "How many steps?", 0, 400, "steps"))
mb.predict_curve("cost", "Draw the curve.", (16, 256, 1536), 0, 200, "tokens", "ms")
"""


YOUR_TURN = """\
import minibatch as mb
from minibatch.course import with_yours, your_turn

display(your_turn("4.1"))


@with_yours("MyContinuous", instead=mb.Continuous)
def served(MyContinuous):
    return f"by {MyContinuous.__name__}"
"""

# What a learner may try first: one joins a step, and the others wait for no reason.
FIRST_TRY = """\
        rows = [mb.Row(s, s.num_uncomputed_tokens) for s in self.running]
        if self.waiting and len(self.running) < self.max_batch_size:
            s = self.admit(now, self.waiting[0].max_num_tokens)
            rows.append(mb.Row(s, s.num_uncomputed_tokens))
        return mb.StepPlan(rows)"""


LESSONS = sorted(path.name for path in (ROOT / "lessons").glob("[0-9]*.ipynb"))


@pytest.fixture(scope="module")
def opened(request, pytestconfig, seed_of_run):
    """The lessons that a browser opens: the first one, in the whole suite six others (new ones for
    each commit), in a release all, and each that was asked for by its name. Every lesson runs in
    `tests/lessons`, too; only here are its colours and names scanned."""
    asked_for = [item for item in request.session.items if "opened" in item.fixturenames]
    if len(asked_for) < len(LESSONS) or "not slow" not in pytestconfig.getoption("markexpr"):
        return LESSONS
    return [LESSONS[0], *random.Random(seed_of_run).sample(LESSONS[1:], 6)]


@pytest.mark.parametrize(
    "name", [LESSONS[0], *(pytest.param(name, marks=pytest.mark.full) for name in LESSONS[1:])]
)
def test_a_lesson_runs_and_is_accessible(opened, request, name):
    if name not in opened:
        pytest.skip("not drawn in this run; `python -m minibatch test --slow` opens all")
    page = request.getfixturevalue("page")
    open_lesson(page, name)
    screenshot(page, f"{name[:2]}-opened")
    run_all(page)
    screenshot(page, f"{name[:2]}-run")
    screenshot_outputs(page, name[:2])
    no_errors(page)
    assert page.locator(OUTPUTS).count() > 5
    assert axe_violations(page) == []


@pytest.mark.full
def test_folded_answers_open_without_a_mouse_and_lines_are_short(page):
    open_lesson(page, "00_start_here.ipynb")
    page.wait_for_function(
        f"{FIRST_TEXT}.clientWidth < 0.8 * {FIRST_TEXT}.parentElement.clientWidth"
    )
    first = page.locator("details").first
    first.locator("xpath=ancestor::*[contains(@class, 'jp-Cell')][1]").locator("h2").click()
    for _ in range(10):
        page.keyboard.press("Tab")
        if first.locator("summary").evaluate("summary => summary === document.activeElement"):
            break
    page.keyboard.press("Enter")
    assert first.evaluate("details => details.open")
    page.keyboard.press("Space")
    assert not first.evaluate("details => details.open")


@pytest.mark.full
def test_a_player_steps_forward_and_back_by_mouse_and_by_keyboard(page, lab):
    write_notebook(lab.root / "lessons" / "player.ipynb", PLAYERS % "mb.Continuous(2)")
    open_lesson(page, "player.ipynb")
    run_all(page)
    shown = page.locator(OUTPUTS)
    back = page.get_by_role("button", name="◀ Back")
    step = page.get_by_role("button", name="Step ▶")
    scroll_until_seen(page, "before the first step")
    page.get_by_role("button", name="◀ Back", disabled=True).wait_for()

    step.click()
    scroll_until_seen(page, "step 1")
    assert "prefill 3" in shown.inner_text()
    step.click()
    scroll_until_seen(page, "step 2")
    assert "decode 1" in shown.inner_text()
    back.click()
    scroll_until_seen(page, "step 1")
    assert "prefill 3" in shown.inner_text()

    step.focus()  # from here on without a mouse
    page.keyboard.press("Space")
    scroll_until_seen(page, "step 2")
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Enter")
    scroll_until_seen(page, "step 1")
    for _ in range(2):
        page.keyboard.press("Tab")
    page.keyboard.press("Space")  # Play
    scroll_until_seen(page, "step 8")
    assert "finished (3) A 4 B 4 C 4" in " ".join(shown.inner_text().split())
    page.get_by_role("button", name="Step ▶", disabled=True).wait_for()

    box = page.get_by_label("go to step")
    box.fill("5")
    box.press("Enter")
    scroll_until_seen(page, "step 5")
    assert "finished (2) A 4 B 4" in " ".join(shown.inner_text().split())
    screenshot_outputs(page, "player")

    scrubber = page.get_by_role("slider", name="step")
    scrubber.focus()
    for key, shows in (("ArrowRight", "step 6"), ("ArrowLeft", "step 5"), ("PageUp", "step 8")):
        page.keyboard.press(key)
        scroll_until_seen(page, f"{shows}:")
    assert page.locator(f"{OUTPUTS} [aria-live=polite] [role=status]").count() == 1
    menu = page.get_by_label("policy")  # arrow keys are its own, not JupyterLab's
    menu.focus()
    page.keyboard.press("ArrowDown")
    scroll_until_seen(page, "before the first step")
    assert menu.evaluate("menu => menu.selectedOptions[0].label") == "OneAtATime"
    assert menu.evaluate("menu => menu === document.activeElement")
    no_errors(page)
    assert axe_violations(page) == []


MAP = """\
import minibatch as mb

engine = mb.Engine(mb.PretendModel(), mb.Continuous(4), num_blocks=40, block_size=4)
prompts = {"A": [0] * 9, "B": [0] * 6}
requests = [mb.Request(ids, max_tokens=40, request_id=name) for name, ids in prompts.items()]
mb.widgets.BlockMap(engine, requests)
"""


@pytest.mark.full
def test_a_block_is_picked_by_a_click_and_by_enter(page, lab):
    write_notebook(lab.root / "lessons" / "map.ipynb", MAP)
    open_lesson(page, "map.ipynb")
    run_all(page)
    scroll_until_seen(page, "before the first step")
    page.get_by_role("button", name="Step ▶").click()
    scroll_until_seen(page, "5 held")
    grid = page.locator("svg[data-columns]")
    box = grid.bounding_box()
    columns, wide = (float(grid.get_attribute(f"data-{name}")) for name in ("columns", "wide"))
    cell = box["width"] / columns
    assert (columns, wide) == (8, 90)
    grid.click(position={"x": 4.5 * cell, "y": 0.3 * cell})  # block 4, of B
    scroll_until_seen(page, "The walk is B's table, 2 blocks.")
    field = page.get_by_label("block", exact=True)
    assert field.evaluate("field => field === document.activeElement")
    assert field.input_value() == "4"
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    scroll_until_seen(page, "The walk is A's table, 3 blocks.")
    assert "Block 2: held by A" in page.locator(".minibatch-live [role=status]").inner_text()
    assert field.evaluate("field => field === document.activeElement")
    screenshot(page, "block-map")
    no_errors(page)
    assert axe_violations(page) == []


RACE = """\
import minibatch as mb

model = mb.PretendModel()
twelve = mb.workload.agents(model, 12, prompt_scale=0.1)
policies = {"Static(8)": mb.Static(8), "Continuous(8)": mb.Continuous(8)}
mb.widgets.EngineRace(policies, twelve, model, highlight=("A2", "H"), clock=mb.VirtualClock())
"""


@pytest.mark.full
def test_a_race_is_run_to_its_end_by_keyboard(page, lab):
    write_notebook(lab.root / "lessons" / "race.ipynb", RACE)
    open_lesson(page, "race.ipynb")
    run_all(page)
    scroll_until_seen(page, "before the first step")
    page.get_by_label("by", exact=True).select_option("seconds")
    box = page.get_by_label("go to moment")
    box.fill("400")
    box.press("Enter")
    scroll_until_seen(page, "Continuous(8), step 200:")
    scroll_until_seen(page, "⚑ 200 steps, 5 s")
    page.get_by_role("slider", name="moment").press("ArrowLeft")
    screenshot_outputs(page, "race")
    no_errors(page)
    assert axe_violations(page) == []


@pytest.mark.full
def test_a_player_plays_a_learner_s_policy_and_shows_what_it_raises(page, lab):
    write_notebook(lab.root / "lessons" / "own.ipynb", PLAYERS % "OneAtATime(1)")
    open_lesson(page, "own.ipynb")
    run_all(page)
    page.get_by_role("button", name="Play").click()
    alert = page.get_by_role("alert").filter(has_text="LookupError: B is lost")
    alert.wait_for(timeout=30_000)
    text = " ".join(page.locator(OUTPUTS).inner_text().split())
    assert "step 6" in text
    assert "finished (1) A 4" in text
    screenshot_outputs(page, "player-own")


@pytest.mark.full
def test_moving_the_playground_plans_anew(page, lab):
    source = "import minibatch as mb\nmb.widgets.Playground()"
    write_notebook(lab.root / "lessons" / "playground.ipynb", source)
    open_lesson(page, "playground.ipynb")
    run_all(page)
    scroll_until_seen(page, "An idealisation")
    before = page.locator(OUTPUTS).inner_text()
    page.get_by_label("slots").select_option("2")
    scroll_until_seen(page, "Continuous(2)")
    scroll_until_seen(page, "Dynamic(2")
    two_slots = page.locator(OUTPUTS).inner_text()
    page.get_by_label("lengths").select_option("all equal")
    page.wait_for_function(f"text => {OUTPUT_TEXT} !== text", arg=two_slots)
    assert before != two_slots
    screenshot_outputs(page, "playground")
    no_errors(page)
    assert axe_violations(page) == []


@pytest.mark.full
def test_a_guess_is_made_without_a_mouse(page, lab):
    write_notebook(lab.root / "lessons" / "questions.ipynb", QUESTIONS)
    open_lesson(page, "questions.ipynb")
    run_all(page)
    field = page.get_by_label("your guess")
    field.fill("250")
    field.press("Enter")
    first = page.locator(".minibatch-question").first
    button = first.get_by_role("button", name="This is my guess", disabled=False)
    button.press("Enter")
    scroll_until_seen(page, "Your guess: 250 steps.")  # also: no move of the slider is under way
    page.get_by_role("slider", name="How many steps?").press("ArrowRight")
    button.press("Enter")
    scroll_until_seen(page, "Your guess: 251 steps.")
    page.get_by_role("slider", name="ms at 256 tokens").press("PageUp")
    page.get_by_role("img", name="Your curve: 0 at 16, 5 at 256, 0 at 1,536.").wait_for()
    page.get_by_role("button", name="This is my guess").last.press("Enter")
    scroll_until_seen(page, "Your curve is kept.")
    screenshot_outputs(page, "questions")
    no_errors(page)
    assert axe_violations(page) == []


@pytest.mark.full
def test_jupyterlab_does_not_ask_about_news(page):
    open_lesson(page, "04_continuous_batching.ipynb")
    assert page.get_by_text("official Jupyter news").count() == 0


@pytest.mark.full
def test_a_saved_notebook_shows_its_widgets_without_their_kernel(page, lab):
    write_notebook(lab.root / "lessons" / "slider.ipynb", SLIDER)
    open_lesson(page, "slider.ipynb")
    run_all(page)
    scroll_until_seen(page, "How many slots?")
    page.get_by_role("slider").press("ArrowRight")
    save(page)
    page.get_by_role("menuitem", name="Kernel", exact=True).click()
    page.get_by_role("menuitem", name="Shut Down Kernel", exact=True).click()
    page.locator("#jp-main-statusbar").get_by_text("No Kernel").wait_for()

    open_lesson(page, "slider.ipynb")
    scroll_until_seen(page, "How many slots?")
    screenshot(page, "slider-reopened")
    assert float(page.get_by_role("slider").get_attribute("aria-valuenow")) == 4
    no_errors(page)


@pytest.mark.full
def test_the_scan_sees_what_is_wrong_wherever_it_stands(page, lab):
    write_notebook(lab.root / "lessons" / "faults.ipynb", FAULTS)
    open_lesson(page, "faults.ipynb")
    run_all(page)
    found = axe_violations(page)
    assert sum("color-contrast" in line for line in found) == 3
    assert sum("image-alt" in line for line in found) == 1
    assert len(found) == 4


def write_notebook(path, source, text="# A page"):
    kernel = {"name": "python3", "display_name": "Python 3"}
    cells = [nbformat.v4.new_markdown_cell(text), nbformat.v4.new_code_cell(source)]
    nbformat.write(nbformat.v4.new_notebook(cells=cells, metadata={"kernelspec": kernel}), path)


@pytest.mark.full
def test_a_kernel_is_stepped_from_barrier_to_barrier(page, lab):
    write_notebook(lab.root / "lessons" / "stepper.ipynb", STEPPER)
    open_lesson(page, "stepper.ipynb")
    run_all(page)
    scroll_until_seen(page, "barrier 1 of 1")
    shown = page.locator(OUTPUTS).last
    assert "cuda.syncthreads()" in shown.inner_text()
    assert page.locator("img[alt*='tile[i] = x[i]']").count() == 1
    page.get_by_role("button", name="Step ▶").click()
    scroll_until_seen(page, "Every thread has returned")
    page.get_by_role("button", name="◀ Back").focus()
    page.keyboard.press("Space")
    scroll_until_seen(page, "barrier 1 of 1")
    screenshot(page, "kernel-stepper")
    no_errors(page)
    assert axe_violations(page) == []


@pytest.mark.full
def test_an_exercise_is_edited_beside_the_page_checked_mended_and_passes(page, lab):
    """From the card to the editor beside it, and back to the button, twice; then it is theirs."""
    write_notebook(lab.root / "lessons" / "turn.ipynb", YOUR_TURN)
    open_lesson(page, "turn.ipynb")
    run_all(page)
    page.get_by_role("button", name="Open beside").focus()
    page.keyboard.press("Enter")
    page.locator(".jp-FileEditor .cm-content").wait_for()
    card = page.locator(".jp-OutputArea-output [role=status]").first
    assert page.get_by_role("button", name="Check").is_visible()
    scroll_until_seen(page, "by Continuous")

    replace_in_editor(page, 'raise NotImplementedError("Exercise 4.1', FIRST_TRY)
    press_check(page)
    card.get_by_text("wrong").first.wait_for(timeout=120_000)
    assert "Only 1 joined" in card.inner_text()
    screenshot(page, "exercise-wrong")

    replace_in_editor(page, "if self.waiting and", SOLVED_LOOP)
    press_check(page)
    card.get_by_text("Your policy serves 12 agents in 320 steps").wait_for(timeout=60_000)
    scroll_until_seen(page, "by MyContinuous")
    screenshot(page, "exercise-passed")
    no_errors(page)
    assert axe_violations(page) == []


SOLVED_LOOP = """\
        while (
            self.waiting
            and len(self.running) < self.max_batch_size
            and self.can_grow(self.waiting[0], self.waiting[0].max_num_tokens)
        ):"""


def replace_in_editor(page, old, new):
    """Type `new` over the line that holds `old`, and save."""
    page.get_by_role("tab", name="ex04_continuous_batching.py").click()
    page.locator(".jp-FileEditor .cm-content").click()
    page.keyboard.press("Control+Home")
    line = page.locator(".jp-FileEditor .cm-line").filter(has_text=old)
    for _ in range(20):
        if line.count():
            break
        page.keyboard.press("PageDown")
        page.evaluate("() => new Promise(requestAnimationFrame)")  # until its lines are drawn
    line.click()
    page.keyboard.press("Alt+l")  # the whole line, however often it is wrapped
    page.keyboard.insert_text(f"{new}\n")
    save(page)


def save(page):
    """The file that has the focus, by keyboard; returns when the server has it."""

    def is_kept(response):
        return response.request.method == "PUT" and "/api/contents/" in response.url

    with page.expect_response(is_kept):
        page.keyboard.press("ControlOrMeta+s")


def press_check(page):
    """By keyboard: the button has a name, takes the focus, and Enter presses it."""
    page.get_by_role("tab", name="turn.ipynb").click()
    button = page.locator("button.jupyter-button").filter(has_text="Check")
    button.focus()
    page.keyboard.press("Enter")


GUESSES = """\
import minibatch as mb
from IPython.display import display

for name in ("left", "right", "middle", "Home", "End", "ArrowRight", "typed"):
    display(mb.predict(name, f"How many, by {name}?", 0, 8, "steps"))
"""


@pytest.mark.full
def test_any_number_can_be_the_first_guess_and_none_is_suggested(page, lab):
    write_notebook(lab.root / "lessons" / "guesses.ipynb", GUESSES)
    open_lesson(page, "guesses.ipynb")
    run_all(page)
    scroll_until_seen(page, "by typed?")
    screenshot_outputs(page, "guesses")
    said = {"left": 0, "right": 8, "middle": 4, "Home": 0, "End": 8, "typed": 8}
    for number, (name, expected) in enumerate(said.items()):
        question = page.locator(".minibatch-question").nth(number if name != "typed" else 6)
        button = question.get_by_role("button", name="This is my guess")
        slider = page.get_by_role("slider", name=f"How many, by {name}?")
        assert button.is_disabled()
        assert slider.get_attribute("aria-valuetext") == "no guess yet"
        if name in ("left", "right", "middle"):
            track = question.locator(".noUi-base")
            share = {"left": 0.0, "right": 1.0, "middle": 0.5}[name]
            box = track.bounding_box()
            track.click(position={"x": min(max(1, share * box["width"]), box["width"] - 1), "y": 2})
        elif name == "typed":
            question.get_by_label("your guess").fill("8")
            question.get_by_label("your guess").press("Enter")
        else:
            slider.press(name)
        question.get_by_role("button", name="This is my guess", disabled=False).click()
        question.get_by_text(
            f"Your guess: {expected} steps."
        ).wait_for()  # in this question: others say the same
        assert slider.get_attribute("aria-valuetext") != "no guess yet"
    slider = page.get_by_role("slider", name="How many, by ArrowRight?")
    slider.press("ArrowRight")
    slider.press("ArrowRight")
    page.locator(".minibatch-question").nth(5).get_by_role("button").click()
    scroll_until_seen(page, "by ArrowRight?")
    no_errors(page)
    assert axe_violations(page) == []

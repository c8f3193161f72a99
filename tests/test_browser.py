"""What a learner sees in JupyterLab after "Run All". What it needs: browser.py."""

import nbformat
import pytest
from browser import (
    axe_violations,
    no_errors,
    open_lesson,
    run_all,
    screenshot,
    screenshot_outputs,
    scroll_until_seen,
)

pytestmark = [pytest.mark.browser, pytest.mark.slow]

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


def test_lesson_04_runs_and_is_accessible(page):
    open_lesson(page, "04_continuous_batching.ipynb")
    screenshot(page, "04-opened")
    run_all(page)
    scroll_until_seen(page, "835 of 1,600 rows are padding = 52.2%")
    screenshot(page, "04-run")
    screenshot_outputs(page, "04")
    no_errors(page)
    assert axe_violations(page) == []


def test_jupyterlab_does_not_ask_about_news(page):
    open_lesson(page, "04_continuous_batching.ipynb")
    assert page.get_by_text("official Jupyter news").count() == 0


def test_a_saved_notebook_shows_its_widgets_without_their_kernel(page, lab):
    write_notebook(lab.root / "lessons" / "slider.ipynb", SLIDER)
    open_lesson(page, "slider.ipynb")
    run_all(page)
    scroll_until_seen(page, "How many slots?")
    page.get_by_role("slider").press("ArrowRight")
    with page.expect_response(lambda response: response.request.method == "PUT"):
        page.keyboard.press("ControlOrMeta+s")
    page.get_by_role("menuitem", name="Kernel", exact=True).click()
    page.get_by_role("menuitem", name="Shut Down Kernel", exact=True).click()
    page.locator("#jp-main-statusbar").get_by_text("No Kernel").wait_for()

    open_lesson(page, "slider.ipynb")
    scroll_until_seen(page, "How many slots?")
    screenshot(page, "slider-reopened")
    assert float(page.get_by_role("slider").get_attribute("aria-valuenow")) == 4
    no_errors(page)


def test_the_scan_sees_what_is_wrong_wherever_it_stands(page, lab):
    write_notebook(lab.root / "lessons" / "faults.ipynb", FAULTS)
    open_lesson(page, "faults.ipynb")
    run_all(page)
    found = axe_violations(page)
    assert sum("color-contrast" in line for line in found) == 3
    assert sum("image-alt" in line for line in found) == 1
    assert len(found) == 4


def write_notebook(path, source):
    kernel = {"name": "python3", "display_name": "Python 3"}
    cell = nbformat.v4.new_code_cell(source)
    nbformat.write(nbformat.v4.new_notebook(cells=[cell], metadata={"kernelspec": kernel}), path)

"""Lessons in JupyterLab, in a real browser: a server on a copy of the lessons, and small actions.

The fixtures `lab`, `browser` and `page` (conftest.py) are made of these. A test opens a lesson,
runs it and looks:

    open_lesson(page, "04_continuous_batching.ipynb")
    run_all(page)
    no_errors(page)

Needs the extra `browser` and a Chromium: Playwright's own, or one on the PATH, or the one that
MINIBATCH_CHROMIUM names. Screenshots go to the folder MINIBATCH_SCREENSHOTS, if that is set.
"""

from __future__ import annotations  # Playwright's types, on a computer without Playwright

import json
import os
import secrets
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from minibatch.course.exercises import source
from minibatch.course.setup import ROOT
from minibatch.course.setup.lab_and_test import lab_options, lab_variables
from minibatch.course.setup.process import environment_variables

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Locator, Page

FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
VIEWPORT = {"width": 1440, "height": 1000}

# A learner's JupyterLab draws a cell when it comes into view; in a test every cell is there.
TEST_SETTINGS = {"@jupyterlab/notebook-extension:tracker": {"windowingMode": "none"}}

OUTPUTS = ".jp-Notebook .jp-OutputArea-output"
TEXTS = ".jp-Notebook .jp-MarkdownOutput"


@dataclass(frozen=True, slots=True)
class Lab:
    """A running JupyterLab; `root` holds its own lessons/ and exercises/, for tests to change."""

    root: Path
    address: str
    token: str


@contextmanager
def running_lab(folder: Path) -> Iterator[Lab]:
    """JupyterLab as `python -m minibatch lab` starts it, at home in `folder` instead of ~."""
    root, config = folder / "root", folder / "config"
    ignored = shutil.ignore_patterns(".ipynb_checkpoints", "__pycache__")
    shutil.copytree(ROOT / "lessons", root / "lessons", ignore=ignored)
    write_stubs(root / "exercises")
    (config / "labconfig").mkdir(parents=True)
    (config / "labconfig" / "default_setting_overrides.json").write_text(json.dumps(TEST_SETTINGS))
    home = {
        "JUPYTER_CONFIG_DIR": str(config),
        "JUPYTER_RUNTIME_DIR": str(folder / "runtime"),
        "JUPYTERLAB_WORKSPACES_DIR": str(folder / "workspaces"),
        "MINIBATCH_EXERCISES": str(root / "exercises"),
    }

    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port = listener.getsockname()[1]
    lab = Lab(root, f"http://localhost:{port}", secrets.token_hex(16))
    command = [sys.executable, "-m", "jupyterlab", *lab_options(root), "--no-browser"]
    command += [f"--port={port}", f"--IdentityProvider.token={lab.token}"]
    variables = {**environment_variables(), **lab_variables(), **home}
    with (folder / "log").open("wb") as log:
        server = subprocess.Popen(command, env=variables, stdout=log, stderr=subprocess.STDOUT)
    try:
        for _ in range(240):
            try:
                urllib.request.urlopen(f"{lab.address}/api?token={lab.token}", timeout=2).close()
                break
            except OSError:
                assert server.poll() is None, (folder / "log").read_text()
                time.sleep(0.25)
        yield lab
    finally:
        server.terminate()
        server.wait(20)


def write_stubs(folder: Path) -> None:
    """Exercises as a learner first finds them."""
    folder.mkdir()
    for stem in source.stems():
        text = (source.SOLUTIONS / f"{stem}.py").read_text(encoding="utf-8")
        (folder / f"{stem}.py").write_text(source.stub(text), encoding="utf-8")


@contextmanager
def running_browser() -> Iterator[Browser]:
    """A Chromium without a window; skips the test where there is none."""
    playwright = pytest.importorskip(
        "playwright.sync_api", reason='no Playwright: pip install -e ".[browser]"'
    )
    with playwright.sync_playwright() as runtime:
        named = os.environ.get("MINIBATCH_CHROMIUM") or shutil.which("chromium")
        executable = named or runtime.chromium.executable_path
        if not Path(executable).exists():
            pytest.skip("no Chromium: playwright install chromium, or set MINIBATCH_CHROMIUM")
        chromium = runtime.chromium.launch(executable_path=executable, args=FLAGS)
        yield chromium
        chromium.close()


@contextmanager
def open_page(lab: Lab, browser: Browser) -> Iterator[Page]:
    """An empty page that `lab` lets in; the kernels that it starts end with it."""
    context = browser.new_context(base_url=lab.address, viewport=VIEWPORT)
    context.request.get(f"/login?token={lab.token}")  # leaves a cookie
    yield context.new_page()
    token = {"Authorization": f"token {lab.token}"}
    for session in context.request.get("/api/sessions").json():
        context.request.delete(f"/api/sessions/{session['id']}", headers=token)
    context.close()


def open_lesson(page: Page, name: str) -> None:
    """Open the file `name` of lessons/, alone, and wait until it is drawn and its kernel ready."""
    page.goto(f"/lab/tree/lessons/{name}?reset")
    page.locator(".jp-Notebook .jp-Cell").first.wait_for(timeout=60_000)
    _idle(page).wait_for(timeout=60_000)


def run_all(page: Page, timeout_s: float = 600) -> None:
    """Choose "Run All Cells" in a lesson not run before, and wait until no cell is waiting.

    Returns too when a cell fails and Jupyter leaves the rest undone: see `no_errors`.
    """
    page.get_by_role("menuitem", name="Run", exact=True).click()
    page.get_by_role("menuitem", name="Run All Cells", exact=True).click()
    page.wait_for_function(
        """() => {
            const prompts = document.querySelectorAll(".jp-CodeCell .jp-InputPrompt");
            const texts = [...prompts].map(prompt => prompt.textContent);
            return texts.some(text => /\\d/.test(text)) && !texts.some(text => text.includes("*"));
        }""",
        timeout=timeout_s * 1000,
    )
    _idle(page).wait_for()


def scroll_until_seen(page: Page, text: str, timeout_s: float = 60) -> Locator:
    """Wait until `text` stands in an output or a text, bring it into view, return its element."""
    found = page.locator(f"{OUTPUTS}, {TEXTS}").get_by_text(text).first
    found.wait_for(timeout=timeout_s * 1000)
    found.scroll_into_view_if_needed()
    return found


def no_errors(page: Page) -> None:
    """Fail if an output of the notebook is an error, or a widget that could not be shown."""
    errors = page.locator(f"{OUTPUTS}[data-mime-type*='error']").all_inner_texts()
    signs = ("Error displaying widget", "model not found", "Traceback")
    for text in page.locator(OUTPUTS).all_text_contents():
        if any(sign in text for sign in signs):
            errors.append(text)
    assert not errors, "\n\n".join(errors)


def axe_violations(page: Page, selector: str = f"{OUTPUTS}, {TEXTS}") -> list[str]:
    """What axe-core finds that is serious or critical in outputs and rendered Markdown.

    A line for each element: impact, rule, what is wrong, its HTML. JupyterLab around them is not
    ours, and is not scanned.
    """
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    page.locator("details").evaluate_all("all => all.forEach(details => details.open = true)")
    with _whole_notebook(page):
        found = axe.run(page, context=selector).response["violations"]
    lines = [
        f"{violation['impact']}: {violation['id']}: {node['failureSummary']}\n    {node['html']}"
        for violation in found
        if violation["impact"] in ("serious", "critical")
        for node in violation["nodes"]
    ]
    # JupyterLab names every image that has no alt text "Image", and axe is content with that.
    for image in page.locator(selector).locator("img[alt='Image']").all():
        html = image.evaluate("image => image.outerHTML")
        lines.append(f"critical: image-alt: an image without alt text\n    {html[:200]}")
    return lines


def screenshot(seen: Page | Locator, name: str) -> None:
    """Save it as `name`.png, if there is a folder for screenshots."""
    if folder := os.environ.get("MINIBATCH_SCREENSHOTS"):
        seen.screenshot(path=Path(folder) / f"{name}.png")


def screenshot_outputs(page: Page, prefix: str) -> None:
    """Save every figure and widget of a notebook that ran, as `prefix`-01.png and so on."""
    if not os.environ.get("MINIBATCH_SCREENSHOTS"):
        return
    drawn = page.locator(OUTPUTS).filter(has=page.locator("img, svg, canvas, .jupyter-widgets"))
    with _whole_notebook(page):
        for number, output in enumerate(drawn.all(), start=1):
            screenshot(output, f"{prefix}-{number:02}")


@contextmanager
def _whole_notebook(page: Page) -> Iterator[None]:
    """A window so high that no part of the notebook is scrolled out of view.

    JupyterLab's body has a height of 0, which makes axe take all in it for hidden.
    """
    panel = page.locator(".jp-WindowedPanel-outer")
    hidden = panel.evaluate("panel => panel.scrollHeight - panel.clientHeight")
    page.add_style_tag(content="body { height: 100vh }")
    page.set_viewport_size({**VIEWPORT, "height": VIEWPORT["height"] + hidden})
    panel.evaluate("panel => panel.scrollTo(0, 0)")
    yield
    page.set_viewport_size(VIEWPORT)


def _idle(page: Page) -> Locator:
    """What the status bar says once the kernel has started and has nothing to do."""
    return page.locator("#jp-main-statusbar").get_by_text("| Idle")

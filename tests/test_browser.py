"""Lesson 04 in JupyterLab, in a real browser: what a learner sees after "Run All".

Needs the extra `browser` and a Chromium: Playwright's own, or one on the PATH, or the one that
MINIBATCH_CHROMIUM names. Screenshots go to the folder MINIBATCH_SCREENSHOTS, if that is set.
"""

import os
import secrets
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest

from minibatch.setup.launch import lab_options

ROOT = Path(__file__).parents[1]
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    """A running JupyterLab on this checkout; yields (address, token)."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port = listener.getsockname()[1]
    token = secrets.token_hex(16)
    folder = tmp_path_factory.mktemp("jupyter")
    command = [sys.executable, "-m", "jupyterlab", *lab_options(ROOT), "--no-browser"]
    command += [f"--port={port}", f"--IdentityProvider.token={token}"]
    home = {name: str(folder) for name in ("JUPYTER_CONFIG_DIR", "JUPYTER_RUNTIME_DIR")}
    home["JUPYTERLAB_WORKSPACES_DIR"] = str(folder)
    with (folder / "log").open("wb") as log:
        server = subprocess.Popen(
            command, env={**os.environ, **home}, stdout=log, stderr=subprocess.STDOUT
        )
    address = f"http://localhost:{port}"
    try:
        for _ in range(240):
            try:
                urllib.request.urlopen(f"{address}/api?token={token}", timeout=2).close()
                break
            except OSError:
                assert server.poll() is None, (folder / "log").read_text()
                time.sleep(0.25)
        yield address, token
    finally:
        server.terminate()
        server.wait(20)


@pytest.fixture(scope="module")
def browser():
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


@pytest.mark.browser
@pytest.mark.slow
def test_lesson_04_runs_in_jupyterlab(lab, browser):
    address, token = lab
    page = browser.new_page(viewport={"width": 1440, "height": 1000})
    page.goto(f"{address}/lab/tree/lessons/04_continuous_batching.ipynb?reset&token={token}")
    page.get_by_role("heading", name="4 · Continuous batching").wait_for(timeout=60_000)
    _screenshot(page, "04-opened")

    page.get_by_role("menuitem", name="Run", exact=True).click()
    page.get_by_role("menuitem", name="Run All Cells", exact=True).click()
    notebook = page.locator(".jp-Notebook")
    last_output = notebook.get_by_text("835 of 1,600 rows are padding = 52.2%")
    _scroll_until_seen(page, last_output)

    _screenshot(page, "04-run")
    assert page.locator(".jp-OutputArea-output[data-mime-type*='error']").count() == 0
    text = notebook.inner_text()
    assert "Error displaying widget" not in text
    assert "Traceback" not in text
    page.close()


def _scroll_until_seen(page, wanted):
    """JupyterLab draws cells as they scroll into view, so go down until the text is there."""
    deadline = time.monotonic() + 240
    while time.monotonic() < deadline:
        if wanted.count():
            wanted.first.scroll_into_view_if_needed()
            return
        page.locator(".jp-WindowedPanel-outer").first.hover()
        page.mouse.wheel(0, 700)
        page.wait_for_timeout(500)
    pytest.fail("the last output of the lesson did not appear within 240 s")


def _screenshot(page, name):
    if folder := os.environ.get("MINIBATCH_SCREENSHOTS"):
        Path(folder).mkdir(parents=True, exist_ok=True)
        page.screenshot(path=Path(folder) / f"{name}.png")

"""The pages whose Python runs in a browser: real schedulers, the right number of steps, a stop, and
no way out for a policy."""

import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import quote

import pytest

from minibatch import arena
from minibatch.course.site import build_site
from minibatch.course.site.serve import server

pytestmark = pytest.mark.browser

LEAVES = """
import gc, sys
ways = {{
    "js": lambda: __import__("js").fetch("{0}"),
    "request": lambda: sent(__import__("js").XMLHttpRequest.new()),
    "pyodide_js": lambda: __import__("pyodide_js")._module,
    "http": lambda: __import__("pyodide.http").http.open_url("{0}"),
    "code": lambda: __import__("pyodide.code").code.run_js("fetch('{0}')"),
    "socket": lambda: __import__("urllib.request").request.urlopen("{0}", timeout=2),
    "proxies": lambda: [fetched(o) for o in gc.get_objects() if type(o).__name__ == "JsProxy"][0],
    "modules": lambda: {{n for n in sys.modules if n in ("js", "pyodide_js")}}.pop(),
}}
def sent(request):
    request.open("GET", "{0}", False)
    request.send()
def fetched(proxy):
    return proxy.constructor.constructor("return fetch('{0}')")()
got = []
for name, way in ways.items():
    try:
        got.append((name, way()))
    except BaseException:
        pass
raise ValueError(f"{{len(ways)}} ways tried; open: {{[name for name, _ in got]}}")
"""
FORGES = """
import json, minibatch as mb
class Mine(mb.Continuous):
    def plan(self, now):
        html = "<meta http-equiv=refresh content='0;url={0}'><a href='{0}'>on</a><img src='{0}'>"
        json.dumps = lambda _: '{{"result": {{"html": "%s", "steps": {{}}}}}}' % (html + "forged")
        raise ValueError
"""


@contextmanager
def in_thread(running):
    thread = threading.Thread(target=running.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{running.server_port}/"
    finally:
        running.shutdown()
        running.server_close()
        thread.join()


class Elsewhere(BaseHTTPRequestHandler):
    """Another host, which writes down what it was asked."""

    asked = []

    def do_GET(self):
        self.asked.append(self.path)
        self.send_response(200)
        self.send_header("Access-Control-Allow-Origin", "*")
        self.send_header("Content-Type", "text/javascript")
        self.end_headers()

    def log_message(self, *_):
        pass


@pytest.fixture
def elsewhere():
    Elsewhere.asked.clear()
    with in_thread(ThreadingHTTPServer(("127.0.0.1", 0), Elsewhere)) as address:
        yield address


@pytest.fixture(scope="module")
def site_folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    if not build_site.write_live_pages(folder):
        pytest.skip("Pyodide's tarball is not cached, and npm cannot get it")
    return folder


@pytest.fixture(scope="module")
def site(site_folder):
    with in_thread(server(site_folder)) as address:
        yield address


@pytest.fixture
def open_page(browser, site):
    page = browser.new_page()
    page.asked = []
    page.on("request", lambda request: page.asked.append(request.url))

    def at(path):
        page.goto(site + path)
        return page

    yield at
    page.close()


def run(page, policy=None):
    if policy is not None:
        page.get_by_label("Its source").fill(policy)
    page.get_by_role("button", name="Run").click()


def test_a_policy_runs_and_an_endless_one_is_stopped(open_page):
    page = open_page("playground.html")
    run(page)
    page.get_by_text("MyContinuous(3): 370 steps; Static(3): 430 steps").wait_for(timeout=60_000)
    page.get_by_text("Static(3): the longest wait for a next token is").wait_for()
    step = page.get_by_role("slider", name="Step")
    step.press("ArrowRight")
    page.get_by_text("step 1:").wait_for()
    page.get_by_label("Show").select_option(label="both policies, side by side")
    step.press("End")
    page.get_by_text("Static(3), step 430:").wait_for()
    run(page, "while True:\n    pass")
    page.get_by_role("button", name="Stop").click()
    page.get_by_text("Stopped.", exact=True).wait_for()
    assert page.get_by_role("button", name="Run").is_enabled()


def test_a_policy_reaches_no_network(open_page, elsewhere, site):
    page = open_page("playground.html")
    run(page, LEAVES.format(elsewhere))
    page.get_by_text("8 ways tried; open: []").wait_for(timeout=60_000)
    assert Elsewhere.asked == []
    assert {url for url in page.asked if not url.startswith((site, f"blob:{site}"))} == set()


def test_the_worker_has_the_content_policy_of_its_page(open_page, elsewhere):
    page = open_page("playground.html")
    with page.expect_worker() as started:
        run(page, "while True:\n    pass")
    told = started.value.evaluate(
        f"import('{elsewhere}x.mjs').then(() => 'came', (e) => e.message)"
    )
    assert told != "came"
    assert Elsewhere.asked == []


def test_a_forged_answer_leads_nowhere(open_page, elsewhere, site):
    page = open_page("playground.html")
    run(page, FORGES.format(elsewhere))
    page.get_by_text("forged").wait_for(timeout=60_000)
    assert page.locator("#shown a").count() == 0
    page.wait_for_timeout(300)
    assert page.url.startswith(site)
    assert Elsewhere.asked == []


def test_a_menu_fills_the_editor_and_an_edit_makes_it_your_own(open_page):
    page = open_page("playground.html")
    shipped, source = page.get_by_role("combobox", name="Policy"), page.get_by_label("Its source")
    shipped.focus()
    page.keyboard.press("End")  # your own
    assert "class MyContinuous(" in source.input_value()
    page.keyboard.press("ArrowUp")
    assert "class MySequential(" in source.input_value()
    page.get_by_label("Traffic").select_option(label="fifty agents")
    assert page.get_by_label("Its requests").input_value().count("\n") == 49
    source.press("End")
    assert shipped.input_value() != ""
    source.press_sequentially("#")
    assert shipped.input_value() == ""


def test_a_policy_from_a_link_is_shown_and_not_run(open_page):
    linked = "raise ValueError('from a link')"
    page = open_page(f"playground.html#policy={quote(linked)}")
    page.get_by_text("came with the link").wait_for()
    assert page.get_by_label("Its source").input_value() == linked
    page.wait_for_timeout(300)
    assert page.workers == []
    assert not any("pyodide" in url for url in page.asked)
    run(page)
    page.get_by_text("Line 1: ValueError: from a link").wait_for(timeout=60_000)


def test_settings_are_in_the_link_and_an_older_link_has_none(open_page):
    page = open_page("playground.html#shipped=Dynamic&window=2&slots=x&num_blocks=60")
    window, slots = page.get_by_label("Window"), page.get_by_role("spinbutton", name="Slots")
    budget, blocks = page.get_by_label("Token budget"), page.get_by_label("KV blocks of")
    assert "class MyDynamic(" in page.get_by_label("Its source").input_value()
    assert [each.input_value() for each in (window, budget, blocks)] == ["2", "0", "60"]
    page.get_by_role("button", name="Run").click()  # not before each number is one
    assert page.workers == []
    slots.fill("3")
    window.focus()
    page.keyboard.press("ArrowUp")
    assert window.input_value() == "3"
    run(page)
    page.get_by_text("MyDynamic(3):").first.wait_for(timeout=60_000)
    assert "window=3&budget=0&num_blocks=60" in page.url
    policy = "from minibatch.schedulers import Static"
    older = open_page(f"playground.html?#policy={quote(policy)}")
    assert older.get_by_label("Its source").input_value() == policy
    assert window.input_value() == "0.25"


@pytest.mark.parametrize("name", ["playground", "arena", "exercises"])
def test_a_page_from_a_file_shows_a_sentence_and_a_picture(browser, site_folder, name):
    page = browser.new_page()
    page.goto((site_folder / f"{name}.html").as_uri())
    page.get_by_text("This page runs where a server gives it").wait_for()
    assert page.get_by_text("Recorded when this page was made").is_visible()
    assert page.locator("#still svg, #still img").first.is_visible()
    assert page.get_by_role("button", name="Run").count() == 0
    page.close()


@pytest.mark.full
def test_the_arena_plays_its_public_matches(open_page):
    page = open_page("arena.html")
    run(page)
    page.get_by_text("on the public matches.").last.wait_for(timeout=200_000)
    score = arena.public_scores()["engine"]["scores"]["TensorRT-LLM MAX_UTILIZATION"]
    assert page.get_by_role("row", name="your policy").inner_text().endswith(f"{score:.3f}")
    assert page.locator("tr.own").count() == 1
    assert page.get_by_role("row", name="in time").is_visible()


def test_an_exercise_is_tried_on_public_cases(open_page):
    page = open_page("exercises.html")
    editor = page.get_by_label("Its source")
    stub = editor.input_value()
    begins = "    # YOUR CODE for Exercise 3.1 begins here\n"
    run(page, stub.replace(begins, begins + "    return len(arrival_times) >= max_batch_size\n"))
    page.get_by_text("3 of 6 cases are right.").wait_for(timeout=60_000)
    assert page.get_by_role("cell", name="✗ expected True, got False").count() == 1
    assert page.get_by_role("cell", name="✗ not written yet").count() == 2
    assert page.locator(".prism-code-editor .token.keyword").count() > 5


@pytest.mark.full
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", ["playground", "arena", "exercises"])
def test_the_pages_are_accessible(browser, site, name, scheme):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    page = browser.new_page(color_scheme=scheme, bypass_csp=True)
    page.goto(f"{site}{name}.html")
    found = axe.run(page).response["violations"]
    assert [each["id"] for each in found if each["impact"] in ("serious", "critical")] == []
    page.close()

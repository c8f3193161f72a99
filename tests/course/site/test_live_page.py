"""What the pages with a Python of their own load: how much, under which licences, and what they say
where a package that they load is missing."""

import subprocess
import zipfile

import nbformat
import pytest

from minibatch.course.site import build_site, live_page, npm_package
from minibatch.course.site.npm_package import PYODIDE


@pytest.fixture
def no_pyodide(monkeypatch, tmp_path):
    monkeypatch.setattr(npm_package, "CACHE", tmp_path / "cache")
    monkeypatch.setattr(npm_package.shutil, "which", lambda _: None)


def test_without_npm_and_cache_the_site_is_made_and_says_what_is_missing(
    no_pyodide, monkeypatch, tmp_path
):
    monkeypatch.setattr(build_site, "run", lambda path: nbformat.read(path, as_version=4))
    assert build_site.main([str(tmp_path), "00", "--repository", ""]) == 0
    assert not (tmp_path / "live").exists()
    for name in ("playground", "arena", "exercises"):
        page = (tmp_path / f"{name}.html").read_text(encoding="utf-8")
        assert "Pyodide or the editor was not available" in page
        assert "<form" not in page
        assert "live/" not in page
        assert f'href="{name}.html"' in (tmp_path / "index.html").read_text(encoding="utf-8")


PICTURED = {
    "playground": "MyContinuous(3): a line for each of 8 requests. H waits longest, 4.28 s",
    "arena": "Shortest prompt",
    "exercises": "MyDynamic(3): a line for each of 8 requests.",
}


@pytest.mark.parametrize("name", PICTURED)
def test_a_page_that_cannot_run_has_a_picture_with_words(no_pyodide, tmp_path, name):
    build_site.write_live_pages(tmp_path)
    page = (tmp_path / f"{name}.html").read_text(encoding="utf-8")
    still = page.partition('id="still"')[2].partition("</figure>")[0]
    assert "<svg" in still or "data:image/svg+xml" in still
    assert PICTURED[name] in still
    assert "Recorded when this page was made" in still


def test_another_tarball_is_not_used(no_pyodide):
    npm_package.CACHE.mkdir()
    (npm_package.CACHE / f"{PYODIDE.name}-{PYODIDE.version}.tgz").write_bytes(b"another")
    assert PYODIDE.tarball() is None


def test_an_npm_that_does_not_answer_is_given_up(no_pyodide, monkeypatch):
    def waits(*_, timeout, **__):
        raise subprocess.TimeoutExpired("npm", timeout)

    monkeypatch.setattr(npm_package.shutil, "which", lambda _: "npm")
    monkeypatch.setattr(npm_package.subprocess, "run", waits)
    assert PYODIDE.tarball() is None


def test_what_a_page_loads_is_at_most_15_mb_and_each_part_has_its_licence(tmp_path):
    if not live_page.write_live(tmp_path):
        pytest.skip("Pyodide's tarball is not cached, and npm cannot get it")
    live = tmp_path / "live"
    loaded = live.rglob("*")
    assert sum(file.stat().st_size for file in loaded if file.is_file()) <= 15e6
    packages = {name.split("/")[0] for name in zipfile.ZipFile(live / "course.zip").namelist()}
    assert packages == {"minibatch", "jinja2", "markupsafe"}
    texts = {
        name: (live / "licences" / file).read_text(encoding="utf-8")
        for name, file in live_page.LICENCES.items()
    }
    assert "Mozilla Public License Version 2.0" in texts["Pyodide"]
    assert "PYTHON SOFTWARE FOUNDATION LICENSE" in texts["CPython"]
    assert "MIT License" in texts["Prism code editor"]
    assert all("Redistribution and use" in texts[name] for name in ("Jinja2", "MarkupSafe"))

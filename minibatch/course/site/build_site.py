"""`python -m minibatch site DIR`: runs every lesson and writes it as a page that needs no network.

A page contains all that it shows: figures, pictures, style. Exercises are unsolved. With the
repository's address, the pages link to its files, and open a lesson in Codespaces or Colab.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

import nbformat
from markupsafe import Markup
from nbconvert.filters import markdown2html
from pygments.formatters import HtmlFormatter

from minibatch.course.notebooks.run_notebook import Client
from minibatch.course.setup import ROOT
from minibatch.course.setup.findings import SetupError
from minibatch.course.setup.git import git
from minibatch.course.site import slider_film
from minibatch.course.site.cells import cells, data_uri, sections
from minibatch.course.site.contents import COVER, LEAD, cards, cover, ways
from minibatch.course.site.course_map import FILE, words
from minibatch.course.site.live_page import (
    LICENCES,
    arena,
    exercises,
    playground,
    with_hashes,
    write_live,
)
from minibatch.course.site.serve import serve
from minibatch.plots.pages import pages

LESSONS = ROOT / "lessons"
_PAGES = pages(__file__)
_MOST_BYTES = 3_000_000  # of one page
_GITHUB = re.compile(r"(?:https://|git@)github\.com[/:]([\w.-]+/[\w.-]+?)(?:\.git)?/?$")


def main(arguments: list[str]) -> int:
    """`site DIR [--repository ADDRESS] [LESSON ...]`: 0 if every page was written."""
    parser = argparse.ArgumentParser(
        prog="python -m minibatch site",
        description="Run every lesson, and write each as a page to read without installing.",
    )
    parser.add_argument("folder", type=Path, metavar="DIR", help="where the pages go")
    parser.add_argument("lessons", nargs="*", metavar="04", help="only these lessons; default: all")
    parser.add_argument(
        "--repository",
        default=_origin(),
        metavar="ADDRESS",
        help="https://github.com/OWNER/NAME, for links to its files; default: where it was cloned",
    )
    parser.add_argument("--serve", action="store_true", help="serve the pages that DIR has")
    options = parser.parse_intermixed_args(arguments)
    if options.serve:
        serve(options.folder)
        return 0
    paths = sorted(LESSONS.glob("[0-9]*.ipynb"))
    chosen = [p for p in paths if not options.lessons or p.name[:2] in options.lessons]
    if not chosen:
        parser.error(f"no such lesson; there are {', '.join(path.name[:2] for path in paths)}")
    options.folder.mkdir(parents=True, exist_ok=True)
    too_large = 0
    for path in chosen:
        print(f"{path.name}: runs ...", flush=True)
        page = lesson_page(run(path), path, paths, options.repository)
        too_large += _write(options.folder / f"{path.stem}.html", page)
    write_live_pages(options.folder)
    _write(options.folder / "index.html", contents_page(options.repository))
    shutil.copy(LESSONS / "images" / f"{COVER}.png", options.folder)
    return 1 if too_large else 0


def write_live_pages(folder: Path) -> bool:
    """Write the playground, the arena, the exercises, and what they load; False where they cannot
    run."""
    live = write_live(folder)
    made = {"playground": playground(), "arena": arena(), "exercises": exercises()}
    for name, shown in made.items():
        page = _page(f"{name}.html", "", live=live, licences=LICENCES, **shown)
        _write(folder / f"{name}.html", with_hashes(page))
    return live


def run(path: Path) -> nbformat.NotebookNode:
    """The lesson with its outputs and the state of its controls, from a new kernel. The learner's
    files in exercises/ are not used. Controls with a slider are filmed. Raises nbclient's
    CellExecutionError."""
    notebook = nbformat.read(path, as_version=4)
    played = []
    for cell in notebook.cells:
        played.append(cell)
        if cell.cell_type == "code" and slider_film.MADE.search(cell.source):
            played.append(nbformat.v4.new_code_cell(slider_film.CODE))
    notebook.cells = played
    with tempfile.TemporaryDirectory() as empty:
        Client(
            notebook,
            timeout=300,
            kernel_name="python3",
            coalesce_streams=True,  # text that is printed word by word stays on one line
            resources={"metadata": {"path": LESSONS}},
        ).execute(env={**os.environ, "MINIBATCH_EXERCISES": empty})
    return notebook


def lesson_page(
    notebook: nbformat.NotebookNode, path: Path, lessons: list[Path], repository: str
) -> str:
    """The page of one lesson that was run. lessons: all lessons, for the links at its foot."""
    number = lessons.index(path)
    around = {
        "before": lessons[number - 1] if number else None,
        "after": lessons[number + 1] if number + 1 < len(lessons) else None,
    }
    shown = cells(notebook, LESSONS, lambda target: _target(target, LESSONS, repository))
    return _page(
        "lesson.html",
        repository,
        title=_title(notebook),
        cells=shown,
        sections=sections(shown),
        name=path.name,
        **around,
    )


def contents_page(repository: str) -> str:
    """The first page: what the course is, and a card for each lesson."""
    (picture, alt), parts = cover(ROOT), cards(LESSONS)
    return _page(
        "contents.html",
        repository,
        title="How language models are served",
        lead=LEAD,
        cover=picture,
        cover_alt=alt,
        map=data_uri(FILE),
        map_alt=words(parts),
        ways=ways(LESSONS),
        picture=f"{COVER}.png",
        parts=parts,
    )


def _page(template: str, repository: str, **names: object) -> str:
    styles = Markup("\n").join(
        [
            Markup(HtmlFormatter(style="default").get_style_defs(".highlight")),
            Markup("@media (prefers-color-scheme: dark) {{ {} }}").format(
                Markup(HtmlFormatter(style="github-dark").get_style_defs(".highlight"))
            ),
        ]
    )
    found = _GITHUB.match(repository)
    return _PAGES.get_template(template).render(
        styles=styles, repository=repository, github=found[1] if found else "", **names
    )


def _title(notebook: nbformat.NotebookNode) -> str:
    heading = next(cell.source for cell in notebook.cells if cell.cell_type == "markdown")
    return re.sub("<[^>]+>", "", markdown2html(heading.splitlines()[0])).strip("¶ \n")


def _target(target: str, folder: Path, repository: str) -> str:
    """The address on the site of a relative link of a page in `folder`."""
    name, _, heading = target.partition("#")
    path = (folder / name).resolve()
    heading = f"#{heading}" if heading else ""
    if path.parent == LESSONS and path.suffix == ".ipynb":
        return f"{path.stem}.html{heading}"
    if path == LESSONS / "README.md":
        return f"index.html{heading}"
    inside = path.relative_to(ROOT).as_posix()
    return f"{repository}/blob/main/{inside}{heading}" if repository else ""


def _origin() -> str:
    """The address of the cloned repository, if it is a web page; otherwise ""."""
    with suppress(SetupError):
        found = _GITHUB.match(git(ROOT, "remote", "get-url", "origin").strip())
        return f"https://github.com/{found[1]}" if found else ""
    return ""


def _write(path: Path, page: str) -> bool:
    """Write a page. Returns whether it is larger than _MOST_BYTES."""
    path.write_text(page, encoding="utf-8")
    size = len(page.encode())
    print(f"{path}: {size / 1e6:.1f} MB", flush=True)
    if size > _MOST_BYTES:
        print(f"  more than {_MOST_BYTES / 1e6:g} MB: draw less in it", file=sys.stderr)
    return size > _MOST_BYTES

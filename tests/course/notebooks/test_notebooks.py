"""The lessons' notebooks keep one form, and the links, pictures and sources of every page hold."""

import io
import json
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import nbformat
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minibatch.course.notebooks import hygiene, links
from minibatch.course.notebooks.problem import Problem
from minibatch.course.setup import ROOT, cli, environment

OPENING = (
    "# 1 · Waiting\n\n![Two requests, of which the second waits for the first.](https://a.b/c)"
)


def good():
    """A notebook without problems, as parsed JSON; tests break it."""
    return {
        "cells": [
            {
                "cell_type": "markdown",
                "id": "title",
                "metadata": {},
                "source": OPENING.splitlines(keepends=True),
            },
            {
                "cell_type": "code",
                "execution_count": None,
                "id": "one-step",
                "metadata": {"jupyter": {"source_hidden": True}, "tags": ["slow"]},
                "outputs": [],
                "source": ["a = 1\n", "a"],
            },
        ],
        "metadata": {
            "kernelspec": {
                "display_name": "Python 3 (ipykernel)",
                "language": "python",
                "name": "python3",
            },
            "language_info": {"name": "python"},
        },
        "nbformat": 4,
        "nbformat_minor": 5,
    }


def written(notebook):
    return json.dumps(notebook, ensure_ascii=False, indent=1, sort_keys=True) + "\n"


@pytest.fixture
def lesson(tmp_path):
    """Writes a notebook, given as JSON or as text, and returns its path."""

    def write(notebook):
        path = tmp_path / "01_waiting.ipynb"
        text = notebook if isinstance(notebook, str) else written(notebook)
        path.write_bytes(text.encode())
        return path

    return write


def source(cell):
    return "".join(cell["source"])


# The one form


def test_a_notebook_in_the_one_form_has_no_problems(lesson):
    path = lesson(good())
    assert hygiene.problems(path) == []
    assert hygiene.fixed(path.read_text(encoding="utf-8")) == path.read_text(encoding="utf-8")


def test_line_ends_that_git_makes_on_windows_are_no_problem(lesson):
    assert hygiene.problems(lesson(written(good()).replace("\n", "\r\n"))) == []


OUTPUT = {"output_type": "stream", "name": "stdout", "text": ["1\n"]}
EMPTY = {"cell_type": "markdown", "id": "empty", "metadata": {}, "source": [" \n"]}
WIDGETS = {"application/vnd.jupyter.widget-state+json": {"version_major": 2, "state": {}}}


@pytest.mark.parametrize(
    ("damage", "cell", "words"),
    [
        (lambda nb: nb.update(nbformat_minor=4), None, "not nbformat 4.5"),
        (lambda nb: nb["metadata"].update(widgets=WIDGETS), None, "widget state"),
        (lambda nb: nb["metadata"]["language_info"].update(version="3.13"), None, "metadata"),
        (lambda nb: nb["cells"][1].update(outputs=[OUTPUT]), "one-step", "has outputs"),
        (lambda nb: nb["cells"][1].update(execution_count=3), "one-step", "execution count"),
        (lambda nb: nb["cells"][1]["metadata"].update(collapsed=True), "one-step", "metadata"),
        (lambda nb: nb["cells"][1].update(source="a"), "one-step", "not a list of lines"),
        (lambda nb: nb["cells"][1].update(source=["a\n", "  \n"]), "one-step", "blank space"),
        (lambda nb: nb["cells"][1].pop("id"), "a", "has no id in readable words"),
        (lambda nb: nb["cells"][1].update(id="title"), "title", "has no id in readable words"),
        (
            lambda nb: nb["cells"][1].update(id="5f0e1c2d"),
            "5f0e1c2d",
            "has no id in readable words",
        ),
        (
            lambda nb: nb["cells"][1].update(id="cafedad1"),
            "cafedad1",
            "has no id in readable words",
        ),
        (
            lambda nb: nb["cells"][1].update(id="One_Step"),
            "One_Step",
            "has no id in readable words",
        ),
        (lambda nb: nb["cells"].append(EMPTY), "empty", "is empty"),
        (lambda nb: nb["cells"][0].update(attachments={}), None, "JupyterLab's layout"),
    ],
)
def test_a_fault_of_form_is_found_and_mended(lesson, damage, cell, words):
    notebook = good()
    damage(notebook)
    path = lesson(notebook)
    (problem,) = hygiene.problems(path)
    assert (problem.path, problem.cell) == (path, cell)
    assert words in problem.sentence
    assert "--fix" in problem.sentence
    hygiene.main(["--fix", str(path)])
    assert hygiene.problems(path) == []


@pytest.mark.parametrize(
    "layout",
    [
        lambda text: text.rstrip("\n"),
        lambda text: text + "\n",
        lambda text: json.dumps(json.loads(text), indent=2, sort_keys=True) + "\n",
        lambda text: text.replace("·", "\\u00b7"),
        lambda text: (
            json.dumps(dict(reversed(good().items())), ensure_ascii=False, indent=1) + "\n"
        ),
    ],
    ids=["no last newline", "two last newlines", "indent 2", "escaped letters", "order of keys"],
)
def test_another_layout_is_found_and_mended(lesson, layout):
    path = lesson(layout(written(good())))
    (problem,) = hygiene.problems(path)
    assert "JupyterLab" in problem.sentence
    assert hygiene.fixed(path.read_text(encoding="utf-8")) == written(good())


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (lambda nb: nb["cells"].clear(), "does not open with a Markdown cell"),
        (lambda nb: nb["cells"].reverse(), "does not open with a Markdown cell"),
        (lambda nb: nb["cells"][0].update(source=["## Small"]), "does not open with a Markdown"),
        (lambda nb: nb["cells"][0].update(source=["# No picture"]), "no picture with alt text"),
        (
            lambda nb: nb["cells"][0].update(
                source=["# T\n", "![Exactly twenty chars](https://a.b)"]
            ),
            "more than 20 characters",
        ),
        (
            lambda nb: nb["cells"][0].update(attachments={"a.png": {"image/png": "AAAA"}}),
            "holds a pasted picture",
        ),
        (lambda nb: nb["cells"][1].update(source=["open('/home/a/b')"]), "folder of one machine"),
        (lambda nb: nb["cells"][1].update(source=[r"open('C:\\Users\\a')"]), "folder of one"),
        (lambda nb: nb["cells"][1].update(source=["open('/root/a')"]), "folder of one machine"),
        (lambda nb: nb["cells"][1].update(source=["open('/Users/a')"]), "folder of one machine"),
        (lambda nb: nb["cells"][1].update(source=[f"t = 'hf_{'a1' * 15}'"]), "secret token"),
        (lambda nb: nb["cells"][1].update(source=[f"t = 'sk-{'a1' * 15}'"]), "secret token"),
        (lambda nb: nb["cells"][1].update(source=[f"t = 'ghp_{'a1' * 15}'"]), "secret token"),
    ],
)
def test_what_only_the_author_can_mend_is_found_and_left(lesson, damage, words):
    notebook = good()
    damage(notebook)
    path = lesson(notebook)
    (problem,) = hygiene.problems(path)
    assert words in problem.sentence
    assert "--fix" not in problem.sentence
    assert hygiene.main(["--fix", str(path)]) == 1
    assert json.loads(path.read_text(encoding="utf-8")) == notebook


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        '{"cells": ["text"]}',
        written(good()).replace(' "nbformat"', '<<<<<<< HEAD\n "nbformat"'),
        written(good() | {"nbformat": 3}),
        written(good()).replace('"cell_type": "code"', '"cell_type": "heading"'),
        written(good()).replace('"tags": [', '"tags": [1,'),
        written(good()).replace("a = 1", "\\ud800"),
    ],
    ids=["empty", "list", "text cell", "conflict", "nbformat 3", "heading", "tags", "surrogate"],
)
def test_what_is_no_notebook_is_reported_in_one_line_and_not_touched(lesson, text, capsys):
    path = lesson(text)
    assert hygiene.main(["--fix", str(path)]) == 1
    (line,) = capsys.readouterr().out.splitlines()
    assert path.name in line
    assert path.read_bytes() == text.encode()


def test_a_file_that_is_not_even_text_is_reported_and_not_touched(lesson, capsys):
    path = lesson("")
    path.write_bytes(b"\xff\xfe")
    assert hygiene.main(["--fix", str(path)]) == 1
    assert path.name in capsys.readouterr().out
    assert path.read_bytes() == b"\xff\xfe"


def test_prose_may_name_any_folder(lesson):
    notebook = good()
    notebook["cells"][0]["source"].append("\n\nOn Linux it is in /home/you.")
    notebook["cells"][0]["source"] = source(notebook["cells"][0]).splitlines(keepends=True)
    assert hygiene.problems(lesson(notebook)) == []


@pytest.mark.parametrize(
    ("lines", "made"),
    [
        ("## Where the steps went, and why\n\nIn the table", "where-the-steps-went"),
        ("Before it.\n\n### The *arithmetic* of `Static`", "the-arithmetic-of-static"),
        ("%load_ext autoreload\n\nimport time", "load-ext-autoreload"),
        ("# What must hold\nassert True", "what-must-hold"),
        ("# Internationalization of the model", "of-the-model"),
        ("1 + 1", "code"),
    ],
)
def test_an_id_is_made_of_the_first_heading_or_line(lines, made):
    notebook = good()
    notebook["cells"][1] |= {"id": "5f0e1c2d-31b2-4f1e-9a35-0d2a8c7b6e5f", "source": lines}
    assert json.loads(hygiene.fixed(written(notebook)))["cells"][1]["id"] == made


def test_an_id_that_another_cell_has_is_numbered():
    notebook = good()
    notebook["cells"] += [notebook["cells"][1] | {"id": None, "source": "# One step"}] * 2
    ids = [cell["id"] for cell in json.loads(hygiene.fixed(written(notebook)))["cells"]]
    assert ids == ["title", "one-step", "one-step-2", "one-step-3"]


IDS = ["title", "code", "code-2", "markdown", "fp16-or-int8", "5f0e1c2d", "Title", "x" * 65]
cells = st.fixed_dictionaries(
    {
        "cell_type": st.sampled_from(["code", "markdown", "raw"]),
        "source": st.text() | st.lists(st.text() | st.sampled_from(["# One\n", "two", "  \n"])),
    },
    optional={
        "id": st.sampled_from(IDS) | st.text() | st.none(),
        "metadata": st.sampled_from(
            [
                {},
                {"tags": ["slow"]},
                {"tags": [], "collapsed": True},
                {"jupyter": {"source_hidden": True, "outputs_hidden": True}},
                {"jupyter": []},
            ]
        ),
        "execution_count": st.none() | st.integers(),
        "outputs": st.sampled_from([[], [OUTPUT]]),
    },
)
pictures = st.sampled_from(
    [{}, {"attachments": {}}, {"attachments": {"a.png": {"image/png": "A"}}}]
)
cells |= st.builds(lambda cell, more: cell | {"cell_type": "markdown"} | more, cells, pictures)
notebooks = st.fixed_dictionaries(
    {
        "cells": st.lists(cells, max_size=6),
        "metadata": st.sampled_from([{}, {"widgets": WIDGETS}]),
        "nbformat": st.just(4),
        "nbformat_minor": st.integers(0, 5),
    }
)
for_all_notebooks = settings(deadline=None)


@for_all_notebooks
@given(notebooks)
def test_fixing_twice_is_fixing_once(notebook):
    once = hygiene.fixed(json.dumps(notebook))
    assert hygiene.fixed(once) == once


@for_all_notebooks
@given(notebooks)
def test_fixing_keeps_every_source_but_blank_space_at_its_end(notebook):
    def work(nb):
        return [
            (cell["cell_type"], source(cell).rstrip(), cell.get("attachments") or None)
            for cell in nb["cells"]
            if source(cell).strip() or cell.get("attachments")
        ]

    assert work(json.loads(hygiene.fixed(json.dumps(notebook)))) == work(notebook)


@for_all_notebooks
@given(notebooks)
def test_the_one_form_is_valid_and_written_as_jupyterlab_writes(notebook):
    text = hygiene.fixed(json.dumps(notebook))
    nbformat.validate(json.loads(text))
    assert nbformat.writes(nbformat.reads(text, as_version=4)) + "\n" == text


@for_all_notebooks
@given(notebooks)
def test_every_cell_gets_an_id_of_its_own_and_a_good_one_stays(notebook):
    kept = [cell for cell in notebook["cells"] if source(cell).strip() or cell.get("attachments")]
    ids = [cell["id"] for cell in json.loads(hygiene.fixed(json.dumps(notebook)))["cells"]]
    assert len(set(ids)) == len(ids) == len(kept)
    assert not set(IDS[5:]) & set(ids)
    own = [cell.get("id") for cell in kept]
    for name in set(IDS[:5]) & set(own):
        assert ids[own.index(name)] == name


# Links and pictures


@pytest.fixture
def page(tmp_path):
    """A page of a repository that has some files: writes it there and returns what is wrong."""
    root = tmp_path / "course"
    lessons = root / "lessons"
    (lessons / "images").mkdir(parents=True)
    (lessons / "images" / "01.svg").touch()
    (tmp_path / "outside.md").touch()
    (root / "README.md").write_text(
        "# A course: `mb`, *small*\n\n## Read\n\n```\n# no heading\n```\n\n"
        "## Read  \n\n## [One](x) two\n"
    )
    (lessons / "01_waiting.ipynb").write_text(written(good()), encoding="utf-8")

    def check(text, name="page.md"):
        path = lessons / name
        if name.endswith(".ipynb"):
            notebook = good()
            notebook["cells"][0]["source"] = text
            text = written(notebook)
        path.write_text(text, encoding="utf-8")
        return links.problems(path, root)

    return check


@pytest.mark.parametrize("name", ["page.md", "02_page.ipynb"])
@pytest.mark.parametrize(
    "text",
    [
        "[a](../README.md) [b](images) [c](../README.md#read) [d](../README.md#read-1)",
        "[a](../README.md#a-course-mb-small) [b](../README.md#one-two)",
        "[a](01_waiting.ipynb#1-·-Waiting) [b](01_waiting.ipynb#1-%C2%B7-Waiting)",
        "![Alt](images/01.svg) [![Alt](images/01.svg)](https://a.b/) <img src='x' alt=\"Alt\">",
        "See <https://a.b/c#d>, or https://a.b.",
        "[a](images/01.svg#frame) ![`code`](images/01.svg)",
        "In code, `[a](nothing.md)`, anything goes: ``http://a.b` ![](x)``.",
        "```\n[a](nothing.md) ![](x)\n```\n\n~~~~\nhttp://a.b\n~~~\n~~~~\n<!-- [a](nothing.md) -->",
    ],
)
def test_what_leads_somewhere_is_no_problem(page, text, name):
    assert page(text, name) == []


def test_a_link_into_its_own_page_is_looked_up_there(page):
    assert page("# Here\n\n[a](#here)") == []
    assert page("# Where it is\n\n[a](#Where-it-is)", "02_page.ipynb") == []


@pytest.mark.parametrize("name", ["page.md", "02_page.ipynb"])
@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[a](nothing.md)", '"nothing.md", which does not exist'),
        ("[a](nothing.md) [b](nothing.md)", '"nothing.md", which does not exist'),
        ("One ` here.\n\n[a](nothing.md), one ` there.", '"nothing.md", which does not exist'),
        ("```code``` in a line\n\n[a](nothing.md)", '"nothing.md", which does not exist'),
        ("![Alt](images/02.svg)", '"images/02.svg", which does not exist'),
        ("[![Alt](images/01.svg)](nothing.md)", '"nothing.md", which does not exist'),
        ('<a href="nothing.md">a</a>', '"nothing.md", which does not exist'),
        ("[a][b]\n\n[b]: nothing.md", '"nothing.md", which does not exist'),
        ("[a]()", "a link without a target"),
        ("[a](#gone)", '"#gone", but the headings there are'),
        ("[a](../README.md#gone)", "a-course-mb-small, one-two, read, read-1"),
        ("[a](../README.md#Read)", '"../README.md#Read", but the headings'),
        ("[a](../README.md#no-heading)", '"../README.md#no-heading", but the headings'),
        ("[a](01_waiting.ipynb#1--waiting)", "headings there are: 1-·-Waiting"),
        ("[a](../../outside.md)", "outside the repository"),
        ("[a](/etc/hosts)", "outside the repository"),
        ("[a](http://a.b/c)", '"http://a.b/c"; an address starts with https://'),
        ("See http://a.b/c.", "an address starts with https://"),
        ("[a](file:///b)", "an address starts with https://"),
        ("![Alt](attachment:a.png)", "an address starts with https://"),
        ("![](images/01.svg)", "a picture without alt text"),
        ("![ ](images/01.svg)", "a picture without alt text"),
        ("![][one]\n\n[one]: images/01.svg", "a picture without alt text"),
        ('<img src="images/01.svg">', "a picture without alt text"),
        ('<img src="images/01.svg" alt="">', "a picture without alt text"),
    ],
)
def test_a_bad_link_or_picture_is_found(page, text, words, name):
    (problem,) = page(text, name)
    assert words in problem.sentence
    assert problem.cell == (None if name == "page.md" else "title")


def test_the_repository_may_be_named_from_where_one_stands(tmp_path, monkeypatch):
    (tmp_path / "page.md").write_text("# Here\n\n[a](page.md#here)\n")
    monkeypatch.chdir(tmp_path)
    assert links.problems(Path("page.md"), Path(".")) == []


# Cited sources


@pytest.mark.parametrize(
    "bullet",
    [
        "Yu et al., *Orca: A Distributed Serving System*, OSDI 2022: iteration-level scheduling.",
        "NVIDIA, *A100 data sheet*, 2021: 312 TFLOP/s in float16 with float32 accumulation, dense.",
        "Kwon et al., [*Paged Attention*](https://a.b/c:d), SOSP 2023: blocks: what is under it.",
        "vLLM, *[Documentation](https://a.b)*, version 0.9, arXiv:2309.06180, 2025:\n  the `--x`.",
    ],
)
def test_a_full_citation_is_no_problem(page, bullet):
    assert page(f"# T\n\n## Sources\n\n- {bullet}\n\n## More\n\nAny text.") == []


@pytest.mark.parametrize(
    ("bullet", "missing"),
    [
        ("In vLLM it is the only mode.", ["a *title in italics*"]),
        ("Yu, **Orca**, OSDI 2022: scheduling.", ["a *title in italics*"]),
        ("*Orca*, OSDI 2022: scheduling.", ["authors or an organisation"]),
        ("Yu, *Orca in 2022*, OSDI: scheduling.", ["a year between title and colon"]),
        ("Yu, [*Orca*](https://a.b/2022/), OSDI: it.", ["a year between title and colon"]),
        ("Yu, *Orca*, OSDI 20222: scheduling.", ["a year between title and colon"]),
        ("Yu, *Orca: A System*, OSDI 2022.", ["a colon and what it is cited for"]),
        ("Yu, *Orca*, OSDI 2022: scheduling", ["a full stop at the end"]),
        ("Yu, *Orca*: it", ["a year between title and colon", "a full stop at the end"]),
    ],
)
def test_a_citation_that_lacks_something_is_told_what(page, bullet, missing):
    (problem,) = page(f"## Sources\n\n- {bullet}\n", "02_page.ipynb")
    assert problem.sentence.count("without") == len(missing)
    assert all(part in problem.sentence for part in missing)


@pytest.mark.parametrize(
    ("section", "words"),
    [
        ("", "no sources under Sources"),
        ("- Yu, *Orca*, OSDI 2022: scheduling.\n\nAnd others.", '"And others." under Sources'),
        ("* Yu, *Orca*, 2022: it.\n- Yu, *Orca*, 2022: it.", "is a list; start it with"),
    ],
)
def test_sources_are_a_list_and_nothing_else(page, section, words):
    (problem,) = page(f"## Sources\n\n{section}\n")
    assert words in problem.sentence


# The command, and the course itself


def test_the_command_checks_the_notebooks_and_the_links(lesson, tmp_path, monkeypatch, capsys):
    notebook = good()
    notebook["cells"][0]["source"].append("\n[a](nothing.md)\n")
    path = lesson(notebook)
    monkeypatch.setattr(environment, "find", lambda options: Path(sys.executable))
    assert cli.main(["notebooks", str(path)]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 2
    assert "ends in blank space" in lines[0]
    assert "outside the repository" in lines[1]
    assert path.read_text(encoding="utf-8") == written(notebook)  # only --fix writes


def test_the_command_says_so_when_all_is_well(lesson, capsys):
    assert hygiene.main(["--fix", str(lesson(good()))]) == 0
    assert capsys.readouterr().out == "Pages without problems: 1.\n"


def test_a_path_that_is_not_there_is_an_error(capsys):
    with pytest.raises(SystemExit):
        hygiene.main(["nothing.ipynb"])
    assert "nothing.ipynb" in capsys.readouterr().err


def test_a_problem_is_one_line_from_where_one_stands(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    problem = Problem(tmp_path / "a.ipynb", "title", "is empty")
    assert str(problem) == 'a.ipynb: cell "title" is empty'
    assert str(Problem(Path("b.md"), None, "is empty")) == "b.md: is empty"


@pytest.fixture(scope="module")
def committed_course(tmp_path_factory):
    """The files of the last commit: a learner may have run and changed those in the checkout."""
    archive = subprocess.run(
        ["git", "archive", "--format=zip", "HEAD"], cwd=ROOT, capture_output=True
    )
    if archive.returncode:
        return ROOT
    folder = tmp_path_factory.mktemp("committed")
    with zipfile.ZipFile(io.BytesIO(archive.stdout)) as files:
        files.extractall(folder)
    return folder


def test_the_course_is_committed_without_problems(committed_course, capsys):
    status = hygiene.main([], root=committed_course)
    assert status == 0, capsys.readouterr().out


def test_the_pages_of_the_course_are_its_readmes_and_its_lessons(committed_course):
    names = {
        path.relative_to(committed_course).as_posix() for path in links.pages(committed_course)
    }
    assert {"README.md", "lessons/README.md", "minibatch/wayfarer/weights/README.md"} < names
    assert "lessons/04_continuous_batching.ipynb" in names


def test_the_cells_that_a_teacher_s_plan_names_are_in_the_lessons(committed_course):
    """In the tables of TEACHING.md, a column "cells …" names cells by their ids."""
    lessons = committed_course / "lessons"
    there = {
        cell["id"]
        for path in lessons.glob("[0-9]*.ipynb")
        for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]
    }
    column, named = None, set()
    for line in (lessons / "TEACHING.md").read_text(encoding="utf-8").splitlines():
        fields = [field.strip() for field in line.split("|")]
        heads = [i for i, field in enumerate(fields) if field.startswith("cells")]
        column = heads[0] if heads else column if len(fields) > 1 else None
        if column:
            named |= set(re.findall(r"`([^`]+)`", fields[column]))
    assert len(named) > 40
    assert named - there == set()

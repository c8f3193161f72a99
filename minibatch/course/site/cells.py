"""A notebook's cells as HTML. nbconvert's filters convert text and code. Of an output, the best
form that a page can show is chosen: a control's still, HTML, a picture, text."""

from __future__ import annotations

import base64
import mimetypes
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

from markupsafe import Markup, escape
from nbconvert.filters import Highlight2HTML, ansi2html, markdown2html
from nbformat import NotebookNode

from minibatch.course.site.slider_film import CODE, MIME
from minibatch.course.site.stills import STATE, VIEW, Stills

_IMAGE = re.compile(r'(<img\b[^>]*\bsrc=")([^":]+)(")')
_LINK = re.compile(r'<a\b[^>]*\bhref="([^"]*)"[^>]*>(.*?)</a>', re.DOTALL)
_TABLE = re.compile("<table>.*?</table>", re.DOTALL)
_NAME = re.compile("(?<=<code>)[^<]*(?=</code>)")
_ASKS = re.compile(r"\bpredict(?:_curve)?\(\s*[\"'](\w+)[\"']")
_ANSWERS = re.compile(r"(?:\bguess=|\bsaid\()[\"'](\w+)[\"']")
_GIVES_AWAY = re.compile(r"\banswers-(\w+)")  # the tag of a cell that shows the answer early
_HEADING = re.compile(r"^<h[1-6]\b", re.MULTILINE)
_SECTION = re.compile(r'<h2 id="([^"]+)">(.*?)<a class="anchor-link"')
_CODE = Highlight2HTML(pygments_lexer="python")


@dataclass(slots=True)
class Cell:
    """body: the HTML to read. code: highlighted, above the body; folded if the lesson hides it,
    none if the cell only asks a question. asks: the name of that question; answers: the question
    that this cell answers, or continues to answer; otherwise "". after: the part of the text after
    an answer that gives the answer away."""

    body: Markup
    code: Markup = Markup("")
    is_folded: bool = False
    asks: str = ""
    answers: str = ""
    after: Markup = Markup("")


def cells(notebook: NotebookNode, folder: Path, link: Callable[[str], str]) -> list[Cell]:
    """Every cell that is not empty.

    folder: of relative pictures, which are embedded in the page. link: the address on the site of
    a relative link; "" if it has none there.
    """
    states = notebook.metadata.get("widgets", {}).get(STATE, {}).get("state", {})
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", ())]
    filmed = [output["data"][MIME] for output in outputs if MIME in output.get("data", ())]
    films = {each["model_id"]: each for each in filmed if each}
    stills = Stills(states, lambda output: _output(output, stills), films)
    shown_cells = [cell for cell in notebook.cells if cell.source.strip() and cell.source != CODE]
    shown = []
    for cell, following in zip(shown_cells, [*shown_cells[1:], None], strict=True):
        if cell.cell_type == "markdown":
            body = _TABLE.sub(_wide, markdown2html(cell.source))
            body = _IMAGE.sub(lambda found: _embedded(found, folder), body)
            text = _LINK.sub(lambda found: _linked(found, link), body)
            if shown and shown[-1].answers:
                start = _start_of_introduction(text, following)
                shown[-1].after += Markup(text[:start])
                text = text[start:]
            if text.strip():
                shown.append(Cell(Markup(text)))
        elif cell.cell_type == "code":
            body = Markup("").join(Markup(_output(output, stills)) for output in cell.outputs)
            asks, answers = (_name(pattern, cell.source) for pattern in (_ASKS, _ANSWERS))
            answers = answers or _name(_GIVES_AWAY, " ".join(cell.metadata.get("tags", ())))
            if not answers or answers not in {before.asks for before in shown}:
                goes_on = shown and not shown[-1].after and not asks
                answers = shown[-1].answers if goes_on else ""
            hidden = bool(cell.metadata.get("jupyter", {}).get("source_hidden"))
            code = Markup("") if asks else Markup(_CODE(cell.source))
            shown.append(Cell(body, code, hidden, asks, answers))
    return shown


def sections(shown: list[Cell]) -> list[tuple[str, Markup]]:
    """The anchor and the words of each second-level heading, in order."""
    html = "".join(cell.body + cell.after for cell in shown)
    return [(anchor, Markup(heading)) for anchor, heading in _SECTION.findall(html)]


def _start_of_introduction(text: str, following: NotebookNode | None) -> int:
    """The index, in the text (HTML) after an answer, where the introduction to the next cell
    begins: at the first heading. Without a heading: at the last paragraph, if the next cell is a
    question, or if the paragraph ends in a colon. A single paragraph introduces only a question."""
    heading = _HEADING.search(text)
    if heading:
        return heading.start()
    is_code = following is not None and following.cell_type == "code"
    asks = is_code and bool(_name(_ASKS, following.source))
    last = text.rstrip()
    if not (last.endswith("</p>") and asks or last.endswith(":</p>") and is_code):
        return len(text)
    start = text.rindex("<p>")
    return start if start or asks else len(text)


def _name(pattern: re.Pattern, source: str) -> str:
    found = pattern.search(source)
    return found[1] if found else ""


def _output(output: dict, stills: Stills) -> str:
    """One output in the richest form that does not need a kernel."""
    if output["output_type"] == "stream":
        return f"<pre>{ansi2html(_text(output['text']))}</pre>"
    if output["output_type"] == "error":
        return f"<pre>{ansi2html(_text(output['traceback'], chr(10)))}</pre>"
    data = output["data"]
    if VIEW in data:
        return stills.show(data[VIEW]["model_id"])
    if "text/html" in data:
        return _text(data["text/html"])
    if "text/markdown" in data:
        return markdown2html(_text(data["text/markdown"]))
    if "image/png" in data:
        return f'<img alt="" src="data:image/png;base64,{_text(data["image/png"]).strip()}">'
    return f"<pre>{escape(_text(data.get('text/plain', '')))}</pre>"


def _text(value: str | list[str], between: str = "") -> str:
    return value if isinstance(value, str) else between.join(value)


def _embedded(found: re.Match, folder: Path) -> str:
    """A picture of the repository, embedded in the page."""
    return f"{found[1]}{data_uri(folder / unquote(found[2]))}{found[3]}"


def data_uri(path: Path) -> str:
    """A picture's file as a data URI."""
    kind = mimetypes.guess_type(path.name)[0] or "image/svg+xml"
    return f"data:{kind};base64,{base64.b64encode(path.read_bytes()).decode()}"


def _wide(table: re.Match) -> str:
    """A table that scrolls by itself. A name in it breaks only behind a slash or an underscore."""
    text = _NAME.sub(lambda name: re.sub("(?<=[/_])", "<wbr>", name[0]), table[0])
    return f'<div class="wide">{text}</div>'


def _linked(found: re.Match, link: Callable[[str], str]) -> str:
    """An anchor with its address on the site; without one, its text and the file's path in the
    course's folder."""
    target, words = found[1], found[2]
    if target.startswith(("#", "https:", "http:")):
        return found[0]
    on_the_site = link(target)
    if on_the_site:
        return f'<a href="{escape(on_the_site)}">{words}</a>'
    path = target.partition("#")[0].removeprefix("../")
    return words if path in words else f"{words} (<code>{escape(path)}</code>)"

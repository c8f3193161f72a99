"""A notebook's cells as HTML. nbconvert's filters do the text and the code; the rest is choosing
which form of an output a page can show: a control's still, HTML, a picture, text."""

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
_WIDE = r'<div class="wide">\g<0></div>'  # scrolls by itself
_ASKS = re.compile(r"\bpredict(?:_curve)?\(\s*[\"'](\w+)[\"']")
_ANSWERS = re.compile(r"(?:\bguess=|\bsaid\()[\"'](\w+)[\"']")
_GIVES_AWAY = re.compile(r"\banswers-(\w+)")  # the tag of a cell that shows it on its way
_HEADING = re.compile(r"^<h[1-6]\b", re.MULTILINE)
_CODE = Highlight2HTML(pygments_lexer="python")


@dataclass(slots=True)
class Cell:
    """body: what is read. code: highlighted, above it; folded if the lesson hides it, none if it
    only asks. asks: the question it puts; answers: the one whose answer it gives, or goes on with;
    else "". after: of the text that follows an answer, what tells it."""

    body: Markup
    code: Markup = Markup("")
    is_folded: bool = False
    asks: str = ""
    answers: str = ""
    after: Markup = Markup("")


def cells(notebook: NotebookNode, folder: Path, link: Callable[[str], str]) -> list[Cell]:
    """Every cell that has something to show.

    folder: where relative pictures lie; they are put into the page. link: what a relative link
    leads to on the site; "" if it leads nowhere there.
    """
    states = notebook.metadata.get("widgets", {}).get(STATE, {}).get("state", {})
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", ())]
    filmed = [output["data"][MIME] for output in outputs if MIME in output.get("data", ())]
    films = {each["model_id"]: each for each in filmed if each}
    stills = Stills(states, lambda output: _output(output, stills), films)
    told = [cell for cell in notebook.cells if cell.source.strip() and cell.source != CODE]
    shown = []
    for cell, following in zip(told, [*told[1:], None], strict=True):
        if cell.cell_type == "markdown":
            body = _TABLE.sub(_WIDE, markdown2html(cell.source))
            body = _IMAGE.sub(lambda found: _embedded(found, folder), body)
            text = _LINK.sub(lambda found: _linked(found, link), body)
            if shown and shown[-1].answers:
                start = _start_of_what_is_open(text, following)
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


def _start_of_what_is_open(text: str, following: NotebookNode | None) -> int:
    """Where, in the text (HTML) behind an answer, that which leads on to the next cell begins: at
    the first heading. Without any, a last paragraph leads to a question, and to code if it says so
    by a colon; an only one just to a question."""
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
    """One output in the richest form that needs no kernel."""
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
    """A picture of the repository, as part of the page."""
    return f"{found[1]}{data_uri(folder / unquote(found[2]))}{found[3]}"


def data_uri(path: Path) -> str:
    """A picture's file as the address of itself."""
    kind = mimetypes.guess_type(path.name)[0] or "image/svg+xml"
    return f"data:{kind};base64,{base64.b64encode(path.read_bytes()).decode()}"


def _linked(found: re.Match, link: Callable[[str], str]) -> str:
    """An anchor that leads somewhere from the site, or its words, and where in the course's folder
    the file is."""
    target, words = found[1], found[2]
    if target.startswith(("#", "https:", "http:")):
        return found[0]
    on_the_site = link(target)
    if on_the_site:
        return f'<a href="{escape(on_the_site)}">{words}</a>'
    path = target.partition("#")[0].removeprefix("../")
    return words if path in words else f"{words} (<code>{escape(path)}</code>)"

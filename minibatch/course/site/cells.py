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

from minibatch.course.site import film
from minibatch.course.site.stills import STATE, VIEW, Stills

_IMAGE = re.compile(r'(<img\b[^>]*\bsrc=")([^":]+)(")')
_LINK = re.compile(r'<a\b[^>]*\bhref="([^"]*)"[^>]*>(.*?)</a>', re.DOTALL)
_ASKS = re.compile(r"\bpredict(?:_curve)?\(\s*[\"'](\w+)[\"']")
_ANSWERS = re.compile(r"(?:\bguess=|\bsaid\()[\"'](\w+)[\"']")
_CODE = Highlight2HTML(pygments_lexer="python")


@dataclass(slots=True)
class Cell:
    """body: what is read. code: highlighted, above it; folded if the lesson hides it, none if it
    only asks. asks: the question it puts; answers: the one whose answer it gives; else "". after:
    the text that follows an answer, and tells it, up to the next heading or code."""

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
    filmed = [
        output["data"][film.MIME] for output in outputs if film.MIME in output.get("data", ())
    ]
    films = {each["model_id"]: each for each in filmed if each}
    stills = Stills(states, lambda output: _output(output, stills), films)
    shown = []
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            body = _IMAGE.sub(lambda found: _embedded(found, folder), markdown2html(cell.source))
            text = Markup(_LINK.sub(lambda found: _linked(found, link), body))
            if shown and shown[-1].answers and not text.startswith("<h"):
                shown[-1].after += text
            else:
                shown.append(Cell(text))
        elif cell.cell_type == "code" and cell.source.strip() and cell.source != film.CODE:
            body = Markup("").join(Markup(_output(output, stills)) for output in cell.outputs)
            asks, answers = (_name(pattern, cell.source) for pattern in (_ASKS, _ANSWERS))
            is_asked = answers in {before.asks for before in shown}
            hidden = bool(cell.metadata.get("jupyter", {}).get("source_hidden"))
            code = Markup("") if asks else Markup(_CODE(cell.source))
            shown.append(Cell(body, code, hidden, asks, answers if is_asked else ""))
    return shown


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
    """An anchor that leads somewhere from the site, or its words alone."""
    target = found[1]
    if target.startswith(("#", "https:", "http:")):
        return found[0]
    target = link(target)
    return f'<a href="{escape(target)}">{found[2]}</a>' if target else found[2]

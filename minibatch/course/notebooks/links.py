"""The links, pictures and cited sources of every page: Markdown files and notebooks' Markdown.

A link leads to https, to a file of the repository, or to an existing heading. A picture has alt
text. Under `## Sources` is a list, with lines of this form:

    - Authors, *Title*, venue year: what it is cited for.
"""

import json
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote

from minibatch.course.notebooks.problem import Problem
from minibatch.course.setup import ROOT

IMAGE = re.compile(r"!\[([^\]]*)\][(\[]")  # its group: the alt text

_FENCED = re.compile(r"^ *(`{3,}|~{3,})[^`\n]*\n.*?(?:^ *\1|\Z)", re.MULTILINE | re.DOTALL)
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_INLINE_CODE = re.compile(r"(`+)(?:(?!\n\s*\n).)+?\1", re.DOTALL)
_LINK = re.compile(r"!?\[([^\[\]]*)\]\([^)]*\)")  # its group: the text
_TARGET = re.compile(
    r"""\]\(\s*<?([^)>\s]*)           # [text](target), ![alt](target)
    | ^\ {0,3}\[[^\]]+\]:\s*<?([^>\s]+)  # [name]: target
    | \b(?:src|href)="([^"]*)"
    | \b([a-z][a-z+.-]*://[^)>\s"]+)  # a bare address
    """,
    re.IGNORECASE | re.MULTILINE | re.VERBOSE,
)
_HTML_IMAGE = re.compile(r"<img\b(?![^>]*\balt=\"[^\"]*[^\"\s])[^>]*>")
_HEADING = re.compile(r"^ {0,3}#{1,6} +(.*?) *$", re.MULTILINE)
_SOURCES = re.compile(r"^## Sources *$(.*?)(?=^#{1,2} |\Z)", re.MULTILINE | re.DOTALL)
_CITATION = re.compile(r"(?P<who>[^*]*)\*(?P<title>[^*]+)\*(?P<where>.*?)(?::\s+(?P<what>.+))?")


def pages(root: Path = ROOT) -> list[Path]:
    """All pages of the course."""
    card = root / "minibatch" / "wayfarer" / "weights" / "README.md"
    lessons = root / "lessons"
    return [
        root / "README.md",
        card,
        *sorted(lessons.glob("*.md")),
        *sorted(lessons.glob("[0-9]*.ipynb")),
    ]


def problems(path: Path, root: Path = ROOT) -> list[Problem]:
    """The problems of the links, pictures and sources of a page in the repository `root`."""
    found = []
    for cell, text in _markdown(path):
        text = _COMMENT.sub("", _FENCED.sub("", text))
        prose = _INLINE_CODE.sub("code", text)
        sentences = [*_bad_links(prose, path, root.resolve()), *_bad_images(prose)]
        for section in _SOURCES.findall(text):
            sentences += _bad_sources(section)
        found += [Problem(path, cell, sentence) for sentence in sentences]
    return found


def anchors(path: Path) -> set[str]:
    """Valid targets after `#` in a link: a page's headings, as GitHub or JupyterLab spell them."""
    found: set[str] = set()
    seen: Counter[str] = Counter()
    for _, text in _markdown(path):
        for heading in _HEADING.findall(_FENCED.sub("", text)):
            title = _LINK.sub(r"\1", heading)
            if path.suffix == ".ipynb":
                found.add(re.sub(r"[*`]", "", title).replace(" ", "-"))
                continue
            slug = re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")
            found.add(f"{slug}-{seen[slug]}" if seen[slug] else slug)
            seen[slug] += 1
    return found


def _markdown(path: Path) -> list[tuple[str | None, str]]:
    """The page's Markdown, as (id of the cell, or None; text)."""
    text = path.read_text(encoding="utf-8", errors="replace")
    if path.suffix != ".ipynb":
        return [(None, text)]
    try:
        cells = [cell for cell in json.loads(text)["cells"] if cell["cell_type"] == "markdown"]
        return [(cell.get("id"), "".join(cell["source"])) for cell in cells]
    except (KeyError, TypeError, ValueError):
        return []  # hygiene.py reports such a notebook


def _bad_links(prose: str, path: Path, root: Path) -> Iterator[str]:
    for target in dict.fromkeys("".join(groups) for groups in _TARGET.findall(prose)):
        if target.startswith("https://"):
            continue
        name, anchor = (unquote(part) for part in target.partition("#")[::2])
        file = (path.parent / name).resolve() if name else path
        if re.match(r"[a-z][a-z\d+.-]*:", target, re.IGNORECASE):
            yield f'links to "{target}"; an address starts with https://'
        elif not target:
            yield "has a link without a target; add one"
        elif not file.resolve().is_relative_to(root):
            yield f'links to "{target}", outside the repository, which a clone does not have'
        elif not file.exists():
            yield f'links to "{target}", which does not exist; fix the link or add the file'
        elif anchor and file.suffix in (".md", ".ipynb") and anchor not in anchors(file):
            near = ", ".join(sorted(anchors(file)))
            yield f'links to "{target}", but the headings there are: {near or "none"}'


def _bad_images(prose: str) -> Iterator[str]:
    if _HTML_IMAGE.search(prose) or not all(alt.strip() for alt in IMAGE.findall(prose)):
        yield "has a picture without alt text; describe the picture"


def _bad_sources(section: str) -> Iterator[str]:
    lines = [line for line in section.splitlines() if line.strip()]
    for line in lines:
        if not line.startswith(("- ", "  ")):
            yield f'has "{line}" under Sources, which is a list; start it with "- " or move it'
    bullets = re.findall(r"^- (.*(?:\n  .*)*)", section, re.MULTILINE)
    if not bullets:
        yield "has no sources under Sources; list them, or remove the heading"
    for bullet in bullets:
        cited = _LINK.sub(r"\1", " ".join(bullet.split()))
        missing = _missing(cited)
        if missing:
            yield (
                f'cites "{cited}" without {" and without ".join(missing)}; '
                "write: Authors, *Title*, venue year: what it is cited for."
            )


def _missing(cited: str) -> list[str]:
    parts = _CITATION.fullmatch(cited)
    if parts is None:
        return ["a *title in italics*"]
    there = {
        "authors or an organisation before the title": parts["who"].strip(" ,"),
        "a year between title and colon": re.search(r"\b(19|20)\d\d\b", parts["where"]),
        "a colon and what it is cited for": parts["what"],
        "a full stop at the end": cited.endswith("."),
    }
    return [part for part, present in there.items() if not present]

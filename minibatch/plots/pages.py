"""HTML and SVG come from templates, in a folder `templates` beside the file that fills them in.

What is filled in is escaped, unless it is `Markup`: a piece that has come out of a template itself.
"""

from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

FRAMED = "border: 1px solid var(--jp-border-color1, #bbb); border-radius: 4px"


def pages(file: str, **names: object) -> Environment:
    """The templates beside that file, each compiled when first asked for. names: what all of them
    may use, beside `framed`, a card's edge. A misspelt name is an error, not an empty place."""
    folder = Path(file).with_name("templates")
    environment = Environment(
        loader=FileSystemLoader(folder),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals |= {"framed": FRAMED} | names
    return environment

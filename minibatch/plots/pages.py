"""HTML and SVG come from templates, in a folder `templates` beside the file that renders them.

A value is escaped, unless it is `Markup`: the output of another template.
"""

from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

FRAMED = "border: 1px solid var(--jp-border-color1, #bbb); border-radius: 4px"


def pages(file: str, **names: object) -> Environment:
    """The templates beside `file`, each compiled at its first use. names: values that all of them
    may use, besides `framed`, the border of a card. A misspelt name in a template is an error."""
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

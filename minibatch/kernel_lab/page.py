"""A report as a page for a notebook: the source, with each line's bytes moved and its faults."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from jinja2 import Environment, FileSystemLoader

if TYPE_CHECKING:
    from .report import Report

TEMPLATES = FileSystemLoader(Path(__file__).with_name("templates"))
PAGES = Environment(loader=TEMPLATES, autoescape=True, trim_blocks=True, lstrip_blocks=True)
WIDEST = 6  # of a bar, em


def page(report: Report) -> str:
    """A bar for each line: used bytes in a calm colour, the rest in vermillion, and the numbers."""
    bytes_of = report.bytes_by_line
    most = max((moved for moved, _ in bytes_of.values()), default=1)
    faulty = {fault.line for fault in report.faults if fault.site.file == report.file}
    known = {"report": report, "bytes_of": bytes_of, "faulty": faulty, "em": WIDEST / most}
    return PAGES.get_template("report.html").render(known)

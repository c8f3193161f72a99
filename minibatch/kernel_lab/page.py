"""A report as a page for a notebook: the source, with what every line moved and what is wrong."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .report import Report

USED, WASTED, FAULT = "#A9D3EE", "#D55E00", "#D55E00"
CELL = "padding:0 .6em;text-align:right;white-space:nowrap"
CODE = "padding:0 .6em;text-align:left;white-space:pre;font-family:monospace"
TABLE = "border-collapse:collapse;margin-bottom:.8em;color:#222;background:white;font-size:90%"


def page(report: Report) -> str:
    """A bar for each line: used bytes calm, the rest in vermillion, with the numbers beside it."""
    number = len(report.faults)
    says = [f"{number or 'no'} fault{'s' * (number != 1)}", *report.findings]
    rows = [[entry.array, f"{entry.needed:,}", *_factors(entry)] for entry in report.ledger]
    heads = ["array", "bytes needed", "× by thread blocks", "× within one"]
    return (
        "<div tabindex='0' role='group' aria-label='Report of a kernel' "
        "style='color:#222;background:white;padding:.4em;overflow-x:auto'>"
        f"<b>{escape(report.headline)}</b>"
        f"<ul>{''.join(f'<li>{escape(said)}</li>' for said in says)}</ul>"
        f"{_table(heads, rows)}{_source(report)}</div>"
    )


def _factors(entry: object) -> list[str]:
    if entry.is_broadcast:
        return ["broadcast", "as good as free"]
    return [f"{entry.by_others:.1f}", f"{entry.within:.1f}"]


def _table(heads: list[str], rows: list[list[str]]) -> str:
    lines = [f"<tr>{''.join(f'<th style={CELL!r}>{head}</th>' for head in heads)}</tr>"]
    for row in rows:
        cells = "".join(f"<td style={CELL!r}>{escape(cell)}</td>" for cell in row)
        lines.append(f"<tr>{cells}</tr>")
    return f"<table style='{TABLE}'>{''.join(lines)}</table>"


def _source(report: Report) -> str:
    moved: dict[int, int] = {}
    asked: dict[int, int] = {}
    for traffic in report.traffic:
        if traffic.space == "global" and not traffic.file:
            moved[traffic.line] = moved.get(traffic.line, 0) + traffic.bytes_moved
            asked[traffic.line] = asked.get(traffic.line, 0) + traffic.bytes_asked
    most, faulty = max(moved.values(), default=1), {fault.line for fault in report.faults}
    lines = []
    for number, text in report.source.items():
        bar, said = "", ""
        if number in moved:
            share = asked[number] / moved[number]
            wide = 6 * moved[number] / most
            bar = "".join(
                f"<span style='display:inline-block;height:.8em;width:{size:.2f}em;"
                f"background:{colour}'></span>"
                for size, colour in ((wide * share, USED), (wide * (1 - share), WASTED))
            )
            said = f"{moved[number]:,} bytes, {share:.0%} used"
        mark = f"border-left:4px solid {FAULT}" if number in faulty else ""
        lines.append(
            f"<tr style='{mark}'><td style='{CELL}'>{said}</td><td>{bar}</td>"
            f"<td style='{CELL}'>{'✗ ' if number in faulty else ''}{number}</td>"
            f"<td style='{CODE}'>{escape(text)}</td></tr>"
        )
    return f"<table style='{TABLE}'>{''.join(lines)}</table>"

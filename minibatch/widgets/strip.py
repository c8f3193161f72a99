"""A timeline of slots as a small SVG, quick enough to be drawn anew at every step."""

import html
import itertools
from collections.abc import Callable

from ..core.records import StepRecord
from ..plots.picture import colour_of, ink_on
from ..plots.timeline import Span, spans

WIDTH = 1000  # of the drawing's own units; it is stretched to the page
HATCHES = (
    '<pattern id="prefill{0}" width="6" height="6" patternUnits="userSpaceOnUse" '
    'patternTransform="rotate(45)"><rect width="2" height="6" fill="#222"/></pattern>'
    '<pattern id="padding{0}" width="6" height="6" patternUnits="userSpaceOnUse">'
    '<path d="M0 0L6 6M6 0L0 6" stroke="#888" stroke-width="0.8"/></pattern>'
)
LEGEND = (
    '<p style="margin: 0; font-size: 12px; color: #555">plain: decode · striped: prefill · '
    "crossed: padding · grey: empty</p>"
)
_numbers = itertools.count()  # an id must be one of its kind in the whole page


def strip(
    steps: list[StepRecord],
    max_batch_size: int,
    end: float,
    alt: str,
    edges: Callable[[Span], tuple[float, float]] = lambda span: (span.start, span.end),
    cursor: float | None = None,
    row_height: int = 14,
) -> str:
    """Who held which slot, from 0 to `end`, one line a slot.

    edges: where a span begins and ends on the same axis; as a rule, its steps. cursor: a place to
    mark. alt: what the picture says, for those who cannot see it.
    """
    height = max_batch_size * row_height
    scale = WIDTH / max(end, 1e-9)
    number = next(_numbers)
    parts = [f'<rect width="{WIDTH}" height="{height}" fill="#f4f4f4"/>']
    for span in spans(steps):
        left, right = (place * scale for place in edges(span))
        parts.append(_bar(span, left, right - left, span.slot * row_height, row_height, number))
    if cursor is not None:
        x = cursor * scale
        parts.append(f'<path d="M{x:.1f} 0V{height}" stroke="#222" stroke-width="2"/>')
    return (
        f'<svg role="img" aria-label="{html.escape(alt)}" viewBox="0 0 {WIDTH} {height}" '
        f'style="width: 100%; display: block">'
        f"<defs>{HATCHES.format(number)}</defs>{''.join(parts)}</svg>"
    )


def _bar(span: Span, x: float, width: float, y: int, height: int, number: int) -> str:
    colour = colour_of(span.request_id)
    box = f'x="{x:.1f}" y="{y + 1}" width="{width:.1f}" height="{height - 2}"'
    if span.kind == "padding":
        return f'<rect {box} fill="#fff"/><rect {box} fill="url(#padding{number})"/>'
    bar = f'<rect {box} fill="{colour}"/>'
    if span.kind == "prefill":
        return bar + f'<rect {box} fill="url(#prefill{number})"/>'
    if width < 9 * len(span.request_id):
        return bar
    return bar + (
        f'<text x="{x + width / 2:.1f}" y="{y + height - 3}" font-size="{height - 3}" '
        f'text-anchor="middle" fill="{ink_on(colour)}">{html.escape(span.request_id)}</text>'
    )

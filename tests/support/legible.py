"""What makes the words of a figure hard to read: they leave its frame, or lie on one another.

`complaints(figure)` lays a figure out and looks at every text that would be drawn: titles, labels,
ticks, legends, annotations. `watched()` collects the figures that a piece of code makes, `tell()`
is for a kernel that shows some."""

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import combinations
from unittest import mock

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.legend import Legend
from matplotlib.text import Text
from matplotlib.transforms import Bbox

from minibatch.plots.picture import Picture

UNREADABLE = "cannot be read:"
SLACK = 2  # points; two texts may lie on one another by as much


def complaints(figure: Figure) -> list[str]:
    """One line for each text that leaves the frame, and for each pair that overlaps."""
    renderer = FigureCanvasAgg(figure).get_renderer()
    boxes = [(text.get_text(), _box(text, renderer)) for text in _drawn(figure)]
    legends = [("a legend", key.get_window_extent(renderer)) for key in figure.findobj(Legend)]
    frame, slack = figure.bbox, SLACK * figure.dpi / 72
    found = [
        f"{words!r} leaves the frame"
        for words, box in boxes + legends
        if box.x0 < -slack
        or box.y0 < -slack
        or box.x1 > frame.width + slack
        or box.y1 > frame.height + slack
    ]
    for (words, box), (others, other) in combinations(boxes, 2):
        wide = min(box.x1, other.x1) - max(box.x0, other.x0)
        high = min(box.y1, other.y1) - max(box.y0, other.y0)
        if min(wide, high) > slack:
            found.append(f"{words!r} lies on {others!r}, {wide:.0f} x {high:.0f}")
    return found


@contextmanager
def watched() -> Iterator[list[Picture]]:
    """The Pictures that are made meanwhile."""
    made, begin = [], Picture.__init__

    def noted(self, *args, **kwargs) -> None:
        begin(self, *args, **kwargs)
        made.append(self)

    with mock.patch.object(Picture, "__init__", noted):
        yield made


def tell() -> None:
    """From now on a Picture prints its complaints where it is shown."""
    to_svg = Picture.to_svg

    def told(self) -> str:
        for line in complaints(self):
            print(UNREADABLE, line)
        return to_svg(self)

    Picture.to_svg = told


def _drawn(figure: Figure) -> list[Text]:
    """The texts that a drawing of the figure draws; ticks outside an axis are none of them."""
    found, draw = [], Text.draw

    def noted(self, renderer, *args, **kwargs) -> None:
        found.append(self)
        draw(self, renderer, *args, **kwargs)

    figure.draw_without_rendering()  # the first layout still has the ticks of before
    with mock.patch.object(Text, "draw", noted):
        figure.draw_without_rendering()
    return [text for text in found if text.get_visible() and text.get_text().strip()]


def _box(text: Text, renderer) -> Bbox:
    """Where its letters are, in pixels: a line's box is higher than its letters."""
    box = Text.get_window_extent(text, renderer)
    air = 0.12 * text.get_fontsize() * renderer.dpi / 72
    if text.get_rotation() in (90, 270):
        return Bbox.from_extents(box.x0 + air, box.y0, box.x1 - air, box.y1)
    return Bbox.from_extents(box.x0, box.y0 + air, box.x1, box.y1 - air)

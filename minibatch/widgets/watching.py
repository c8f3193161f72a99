"""Answers that grow in boxes, side by side: from a real engine, or from the clients of a server.

There are no controls: the boxes change while their cell runs, and their last state stays.
"""

import re
import threading
import time
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

import ipywidgets
from IPython.display import HTML, display

from ..core.records import StepRecord
from ..core.request import Request
from ..engine.engine import Engine
from ..plots.colours import WORK, own_colours
from .widget_templates import PAGES

FRAME_S = 0.04  # the shortest time between two drawings: more cannot be seen


@dataclass
class Box:
    """One request: its question, and its answer so far. begun, first, last: the passes of its first
    prefill, its first token and its last token (from 1; 0: not yet)."""

    name: str
    question: str
    colour: str = WORK
    text: str = ""
    newest: str = ""
    num_tokens: int = 0
    begun: int = 0
    first: int = 0
    last: int = 0
    ended: bool = False

    @property
    def state(self) -> str:
        """A few words on its state, for the line under the name."""
        if self.ended:
            return f"{self.num_tokens} tokens, passes {self.first}–{self.last}"
        if self.first:
            return f"{self.num_tokens} tokens so far"
        return "is being read" if self.begun else "waits"


def watch(
    engine: Engine, requests: Iterable[Request], slow: float = 0.0, highlight: Collection[str] = ()
) -> None:
    """Serve the requests, which must have ids, and show each answer in its own box as it grows.

    slow: seconds of pause after every pass, to make it readable. The engine's clock continues
    during a pause, but the pause is not part of any step's time. highlight: ids of the one to three
    requests with their own colours, as in a timeline.
    """
    requests = list(requests)
    own = own_colours(list(highlight))
    boxes = {
        r.request_id: Box(r.request_id, _question(r), own.get(r.request_id, WORK)) for r in requests
    }
    shown = display(HTML(_page(boxes, None)), display_id=True)
    record: StepRecord | None = None
    drawn = 0.0

    def after_step(new: StepRecord) -> None:
        nonlocal record, drawn
        if time.perf_counter() - drawn > FRAME_S or slow:  # shows the tokens of the step before
            shown.update(HTML(_page(boxes, record)))
            drawn = time.perf_counter()
            time.sleep(slow)
        record = new
        for row in new.rows:
            boxes[row.request_id].begun = boxes[row.request_id].begun or new.index + 1

    engine.on_step(after_step)
    try:
        for event in engine.stream(requests):
            box = boxes[event.request_id]
            box.text, box.newest = box.text + box.newest, event.text
            box.num_tokens += 1
            box.first = box.first or record.index + 1
            if event.finish_reason:
                box.last, box.ended = record.index + 1, True
    finally:
        engine.off_step(after_step)
        shown.update(HTML(_page(boxes, record)))


class Answers(ipywidgets.HTML):
    """A box for each question, by the name of its client. `add` and `end` may be called from any
    thread, such as one for each client of a server."""

    def __init__(self, questions: Mapping[str, str]) -> None:
        self._boxes = {name: _ClientBox(name, text) for name, text in questions.items()}
        self._lock = threading.Lock()  # else an older drawing could replace a newer one
        super().__init__(self._drawn())

    def add(self, name: str, piece: str) -> None:
        """Append a piece of text to this client's answer."""
        box = self._boxes[name]
        with self._lock:
            box.begun, box.text, box.newest = 1, box.text + box.newest, piece
            self.value = self._drawn()

    def end(self, name: str) -> None:
        """This client's answer is complete."""
        with self._lock:
            self._boxes[name].ended = True
            self.value = self._drawn()

    def _drawn(self) -> str:
        complete = sum(box.ended for box in self._boxes.values())
        return _page(self._boxes, None, f"{complete} of {len(self._boxes)} answers complete")


class _ClientBox(Box):
    """A client sees text, not passes."""

    @property
    def state(self) -> str:
        return "complete" if self.ended else "is answered" if self.begun else "waits"


def _page(boxes: Mapping[str, Box], record: StepRecord | None, heading: str = "") -> str:
    """heading: instead of the words on the passes so far."""
    page = PAGES.get_template("watch.html")
    return page.render(boxes=list(boxes.values()), record=record, heading=heading)


def _question(request: Request) -> str:
    """The agent's question, if the prompt has chat markers; otherwise ""."""
    found = re.findall(r"<\|user\|>(.*?)<\|end\|>", str(request.prompt), re.DOTALL)
    return found[-1].strip() if found else ""

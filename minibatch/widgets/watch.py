"""Answers that grow in boxes, side by side, while a real engine serves them: who writes, who waits.

It has no controls: it runs as its cell runs, and its last moment stays on the page.
"""

import re
import time
from collections.abc import Iterable
from dataclasses import dataclass

from IPython.display import HTML, display

from ..core.records import StepRecord
from ..core.request import Request
from ..engine.engine import Engine
from .widget_templates import PAGES

FRAME_S = 0.04  # a moment is drawn no sooner after the last one: eyes see no more


@dataclass
class Box:
    """One request's: what was asked, what has come, in which pass it began to be read, had its
    first token and its last (from 1; 0: not yet)."""

    name: str
    question: str
    text: str = ""
    newest: str = ""
    num_tokens: int = 0
    begun: int = 0
    first: int = 0
    last: int = 0

    @property
    def state(self) -> str:
        """A few words under the name."""
        if self.last:
            return f"{self.num_tokens} tokens, passes {self.first}–{self.last}"
        if self.first:
            return f"{self.num_tokens} tokens so far"
        return "is being read" if self.begun else "waits"


def watch(engine: Engine, requests: Iterable[Request], slow: float = 0.0) -> None:
    """Serve the requests, which have ids, and show each answer in a box of its own as it grows.

    slow: seconds of rest after every pass, so that eyes can follow. The engine's clock does not
    stop meanwhile, but no step's own time holds any of it.
    """
    requests = list(requests)
    boxes = {r.request_id: Box(r.request_id, _question(r)) for r in requests}
    shown = display(HTML(_page(boxes, None)), display_id=True)
    record: StepRecord | None = None
    drawn = 0.0

    def after_step(new: StepRecord) -> None:
        nonlocal record, drawn
        if time.perf_counter() - drawn > FRAME_S or slow:  # the tokens of the step before
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
            box.last = record.index + 1 if event.finish_reason else 0
    finally:
        engine.off_step(after_step)
        shown.update(HTML(_page(boxes, record)))


def _page(boxes: dict[str, Box], record: StepRecord | None) -> str:
    return PAGES.get_template("watch.html").render(boxes=list(boxes.values()), record=record)


def _question(request: Request) -> str:
    """What the agent asked, if the prompt says where that is; nothing else of the prompt."""
    found = re.findall(r"<\|user\|>(.*?)<\|end\|>", str(request.prompt), re.DOTALL)
    return found[-1].strip() if found else ""

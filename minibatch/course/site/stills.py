"""A control in its state when the lesson was run: a page without a kernel shows it, with a remark.

nbclient keeps the state of every widget in the notebook's metadata: `state[model_id]`. A box is
shown as its children in order, an HTML view as it is, a slider as its name and value. Only a
question can be answered without a kernel: the reader's guess is then shown above the answer.
"""

from __future__ import annotations

import base64
import gzip
import json
import re
from collections.abc import Callable, Iterator
from urllib.parse import quote

from markupsafe import Markup

from minibatch.course.site.recorded_scoreboard import CARD, recorded
from minibatch.plots.pages import pages
from minibatch.widgets.predict import NOT_MOVED, unit_of

VIEW = "application/vnd.jupyter.widget-view+json"
STATE = "application/vnd.jupyter.widget-state+json"
QUESTION = "minibatch-question"  # the class of `mb.predict` and its like
_SVG = re.compile(r"(data:image/svg\+xml);base64,([\w+/=]+)")
_PAGES = pages(__file__)


class Stills:
    """states: of a notebook's widgets, by model id. show_output: converts an output inside a
    control to HTML. films: of controls, from slider_film.py."""

    def __init__(
        self,
        states: dict[str, dict],
        show_output: Callable[[dict], str],
        films: dict[str, dict],
    ) -> None:
        self.states, self.show_output, self.films = states, show_output, films
        self._num_controls = 0  # of the widget that is shown now

    def show(self, model_id: str) -> Markup:
        """The whole control in a frame, with a line that says how to make it move. A progress bar,
        or a view without controls, is shown without a frame."""
        self._num_controls = 0
        state = self.states.get(model_id, {"state": {}})["state"]
        if QUESTION in state.get("_dom_classes", ()):
            return self._question(state)
        if model_id in self.films:
            return self._film(self.films[model_id])
        if lesson := _lesson_of_scoreboard(state):
            chips = self._inside(state["children"][0].removeprefix("IPY_MODEL_"))
            return Markup(_PAGES.get_template("still.html").render(body=chips + recorded(lesson)))
        body = self._inside(model_id)
        if not self._num_controls:
            return body
        return Markup(_PAGES.get_template("still.html").render(body=body))

    def _film(self, film: dict) -> Markup:
        """One picture, and all pictures compressed: as lines, each stored once, because most lines
        are the same in every picture."""
        lines: dict[str, int] = {}
        frames = [
            (place, [lines.setdefault(line, len(lines)) for line in _lines(picture)])
            for place, picture in film["frames"]
        ]
        made = json.dumps({"lines": list(lines), "frames": frames}, separators=(",", ":"))
        place, picture = film["frames"][film["start"]]
        return Markup(
            _PAGES.get_template("film.html").render(
                last=len(frames) - 1,
                start=film["start"],
                place=place,
                picture=Markup(picture),
                live=film.get("live", ""),
                packed=base64.b64encode(gzip.compress(made.encode(), mtime=0)).decode(),
            )
        )

    def _question(self, state: dict) -> Markup:
        """A question for a number can be answered on the page; for a curve, only in the lesson.
        A slider that was never moved has half steps (widgets/predict.py)."""
        halves = 2 if NOT_MOVED in state.get("_dom_classes", ()) else 1
        inside = list(self._below(state))
        asked = next(part["value"] for kind, part in inside if kind == "HTML")
        sliders = [part for kind, part in inside if kind.endswith("Slider")]
        units = [part["value"] for kind, part in inside if kind == "Label"]
        page = _PAGES.get_template("question.html")
        unit = units[0] if units else ""
        names = {"asked": Markup(asked), "unit": unit, "unit_of_one": unit_of(1, unit)}
        names["halves"] = halves
        return Markup(page.render(slider=sliders[0] if len(sliders) == 1 else None, **names))

    def _below(self, state: dict) -> Iterator[tuple[str, dict]]:
        """(kind, state) of all widgets in a box, from the top."""
        for child in state.get("children", ()):
            model = self.states.get(child.removeprefix("IPY_MODEL_"))
            if model:
                yield model["model_name"].removesuffix("Model"), model["state"]
                yield from self._below(model["state"])

    def _inside(self, model_id: str) -> Markup:
        model = self.states.get(model_id, {"model_name": "", "state": {}})
        kind, state = model["model_name"].removesuffix("Model"), model["state"]
        layout = self.states.get(str(state.get("layout")).removeprefix("IPY_MODEL_"), {})
        if layout.get("state", {}).get("display") == "none":
            return Markup("")
        if "children" in state:
            kinds = [self._kind(child) for child in state["children"]]
            if any(kind.endswith("Progress") for kind in kinds) and "Button" not in kinds:
                return Markup("")  # a finished progress bar with its numbers
            inner = [self._inside(child.removeprefix("IPY_MODEL_")) for child in state["children"]]
            side = "row" if kind in ("HBox", "Box") else "column"
            return Markup('<div class="{}">{}</div>').format(side, Markup("").join(inner))
        if kind == "Output":
            outputs = [Markup(self.show_output(output)) for output in state.get("outputs", ())]
            return Markup("").join(outputs)
        if kind in ("HTML", "HTMLMath"):
            text, width = Markup(state.get("value", "")), layout.get("state", {}).get("width")
            pane = Markup('<div style="width: {}; align-self: flex-start">{}</div>')
            return pane.format(width, text) if width else text
        return self._chip(kind, state)

    def _kind(self, child: str) -> str:
        model = self.states.get(child.removeprefix("IPY_MODEL_"), {"model_name": ""})
        return model["model_name"].removesuffix("Model")

    def _chip(self, kind: str, state: dict) -> Markup:
        """A button, a slider or a menu: its name and its value."""
        if not kind or kind.endswith("Progress"):
            return Markup("")
        self._num_controls += 1
        value = state.get("value")
        if "_options_labels" in state and state.get("index") is not None:
            value = state["_options_labels"][state["index"]]
        says_all = kind in ("Button", "ToggleButton")  # their names are enough
        words = [state.get("description") or "", "" if says_all else value]
        shown = " ".join(str(word) for word in words if word not in ("", None))
        return Markup('<span class="chip">{}</span>').format(shown) if shown else Markup("")


def _lesson_of_scoreboard(state: dict) -> int:
    """The number of the lesson whose scoreboard this control is; 0 for another control."""
    classes = [name for name in state.get("_dom_classes", ()) if name.startswith(CARD)]
    return int(classes[0].removeprefix(CARD)) if classes else 0


def _lines(picture: str) -> list[str]:
    """The lines of a picture's HTML, and of the SVG files that it holds."""

    def plain(found: re.Match) -> str:
        return f"{found[1]},{quote(base64.b64decode(found[2]), safe='/=:;,()')}"

    return re.split("(?<=\n)|(?<=%0A)", _SVG.sub(plain, picture))

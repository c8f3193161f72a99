"""A player for a real engine: forward runs it, step by step; back shows what its trace remembers.

The engine is asked only through its public face, so any policy can be watched, a learner's too.
`ipywidgets.Play` counts in the browser and so drives the steps: nothing here waits for anything,
and the notebook stays free. Every control is a native one: Tab reaches it, a screen reader names
it.
"""

from collections.abc import Iterable

import ipywidgets

from ..core.records import StepRecord
from ..core.request import Request
from ..engine.engine import Engine
from ..engine.intake import stop_token_ids
from ..engine.kinds import as_requests, check_request
from ..model.text import TextStream
from .frame import Frame, frame_html
from .still import WithStill

SPEEDS = {"slow": 800, "normal": 250, "fast": 60}  # milliseconds from one step to the next
FAR = 1_000_000  # steps; the browser counts on while the end is not known


class EnginePlayer(WithStill):
    """Controls and a picture of `engine` as it serves `requests`, which are added at once.
    One that is refused raises the engine's ValueError, and none of them stays.

    Position 0 is before the first step. Going back changes nothing in the engine; going forward
    past the newest step makes it take one. What a policy of your own raises is shown in the card,
    and the next step tries again.
    """

    def __init__(self, engine: Engine, requests: Iterable[Request]) -> None:
        self.engine = engine
        self.trace = engine.trace
        self.trace.names = True  # the card shows who waits
        self.first_step = engine.trace.num_steps
        self._streams = _add_all(engine, requests)
        names = list(self._streams)
        self.frames = [Frame(None, dict.fromkeys(names, ""), dict.fromkeys(names, 0))]
        self.position = 0
        self.error = ""
        self._moving = False

        narrow = ipywidgets.Layout(width="7em")
        self.back_button = ipywidgets.Button(
            description="◀ Back", tooltip="one step back", layout=narrow
        )
        self.step_button = ipywidgets.Button(
            description="Step ▶", tooltip="one step forward", layout=narrow
        )
        self.play_button = ipywidgets.ToggleButton(
            description="Play", icon="play", tooltip="step by itself, or stop", layout=narrow
        )
        self.play = ipywidgets.Play(min=0, max=FAR, interval=SPEEDS["normal"])
        self.play.layout.display = "none"  # it counts; its own buttons have no names to read out
        self.speed = ipywidgets.Dropdown(
            options=SPEEDS,
            value=SPEEDS["normal"],
            description="speed",
            layout=ipywidgets.Layout(width="11em"),
            style={"description_width": "3.5em"},
        )
        self.go_to_box = ipywidgets.BoundedIntText(
            min=0,
            max=FAR,
            description="go to step",
            layout=ipywidgets.Layout(width="12em"),
            style={"description_width": "6em"},
        )
        self.back_button.on_click(lambda _: self.go_to(self.position - 1))
        self.step_button.on_click(lambda _: self.go_to(self.position + 1))
        self.play.observe(lambda change: self.go_to(change["new"]), "value")
        self.go_to_box.observe(lambda change: self._jump(change["new"]), "value")
        self.play_button.observe(self._name_play_button, "value")
        ipywidgets.link((self.speed, "value"), (self.play, "interval"))
        ipywidgets.jslink((self.play_button, "value"), (self.play, "playing"))
        buttons = [self.back_button, self.step_button, self.play_button, self.play]
        super().__init__([*buttons, self.speed, self.go_to_box])
        self._show()

    def go_to(self, position: int) -> None:
        """Show the engine after that many steps; takes those that have not been taken yet."""
        if self._moving:  # our own setting of the controls, come back as an event
            return
        self._moving = True
        try:
            self.error = ""
            self._catch_up()
            while position >= len(self.frames) and self.can_go_on and not self.error:
                self._take_step()
            self.position = min(max(0, position), len(self.frames) - 1)
            self._show()
        finally:
            self._moving = False

    def _jump(self, position: int) -> None:
        """Go there and stay: a jump ends the playing."""
        if not self._moving:
            self.play_button.value = False
            self.go_to(position)

    def _name_play_button(self, _change: object) -> None:
        """What a press would do next."""
        playing = self.play_button.value
        self.play_button.description = "Pause" if playing else "Play"
        self.play_button.icon = "pause" if playing else "play"

    @property
    def can_go_on(self) -> bool:
        """Whether the engine has more to do, and is still at the run that is shown here."""
        return self.engine.has_work and self.engine.trace is self.trace

    def _take_step(self) -> None:
        try:
            self.engine.step()
        except Exception as error:  # a policy under construction: say so here, and stop
            self.error = f"{type(error).__name__}: {error}"
        self._catch_up()

    def _catch_up(self) -> None:
        """A frame for each step in the trace, also those that were taken elsewhere."""
        number = self.trace.num_steps - self.first_step - (len(self.frames) - 1)
        for record in self.trace.steps[-number:] if number else ():
            self.frames.append(self._frame_after(record))

    def _frame_after(self, record: StepRecord) -> Frame:
        last = self.frames[-1]
        texts, counts = dict(last.texts), dict(last.num_output_tokens)
        for row in record.rows:
            stream = self._streams.get(row.request_id)
            if stream is not None and row.token_ids:
                *before, newest = row.token_ids
                pieces = [stream.push(token_id) for token_id in before]
                pieces.append(stream.push(newest, last=row.request_id in record.finished))
                texts[row.request_id] += "".join(pieces)
                counts[row.request_id] += len(row.token_ids)
        return Frame(record, texts, counts, last.finished + record.finished)

    def _show(self) -> None:
        steps = [frame.record for frame in self.frames[1 : self.position + 1]]
        self.view.value = frame_html(self.trace, steps, self.frames[self.position], self.error)
        at_the_end = self.position == len(self.frames) - 1 and not self.can_go_on
        if at_the_end or self.error:
            self.play.playing = self.play_button.value = False
        self.play.max = FAR if self.can_go_on else len(self.frames) - 1
        self.go_to_box.max = self.play.max
        self.play.value = self.go_to_box.value = self.position
        self.back_button.disabled = self.position == 0
        self.step_button.disabled = at_the_end


def _add_all(engine: Engine, requests: Iterable[Request]) -> dict[str, TextStream]:
    """The text of each request, by its id; if the engine refuses one, the others are aborted."""
    streams: dict[str, TextStream] = {}
    try:
        for request in as_requests(requests):
            check_request(request)
            hidden = stop_token_ids(request, engine.model)
            streams[engine.add(request)] = TextStream(engine.model.tokenizer, hidden)
    except Exception:
        for name in streams:
            engine.abort(name)
        raise
    return streams

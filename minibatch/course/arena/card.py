"""The arena's card in a notebook: play a file, see its place, and read one match.

The file is played by the judge, in a process of its own, as `arena play` does. A lesson that is run
without pressing the button goes on without it.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import ipywidgets
from markupsafe import Markup

from minibatch.course.arena.play import FILES, YOURS, Played, new, play_public, submit
from minibatch.course.exercise_card import PAGES, button
from minibatch.course.exercises.source import exercises_folder
from minibatch.course.open_button import open_beside
from minibatch.plots.figures.leaderboard import leaderboard
from minibatch.plots.figures.request_values import request_values
from minibatch.widgets.still import WithStill


class ArenaCard(WithStill):
    """Buttons Play and Submit for one file. If there is none, Play writes the template.

    played: the newest result, or None.
    """

    def __init__(self, division: str, path: Path) -> None:
        self.division, self.path = division, path
        self.played: Played | None = None
        self.play_button = button("Play", "play", f"play {path.name} on the public matches")
        self.submit_button = button("Submit", "check", f"play {path.name}, and keep it to hand in")
        self.progress = ipywidgets.IntProgress(max=27, layout=ipywidgets.Layout(width="16em"))
        self.play_button.on_click(lambda _: self._press(self._play))
        self.submit_button.on_click(lambda _: self._press(self._submit))
        link = PAGES.get_template("open_button.html").render(
            file=near(path), attributes=open_beside(path)
        )
        super().__init__(
            [self.play_button, self.submit_button, ipywidgets.HTML(link), self.progress]
        )
        what = "Press Play" if path.is_file() else "Press Play: it writes a file to begin with"
        self.view.value = f"<p>{what}.</p>"

    def _press(self, action: object) -> None:
        """Run an action with the buttons disabled. An error is displayed, not raised."""
        buttons = self.play_button, self.submit_button
        for each in buttons:
            each.disabled = True
        self.progress.value = 0
        try:
            shown = action()
        except Exception as error:
            shown = Markup("<pre>{}</pre>").format(error)
        finally:
            for each in buttons:
                each.disabled = False
        self.view.value = f'<div role="status" aria-live="polite">{shown}</div>'

    def _count(self, match: object) -> None:
        self.progress.value += 1

    def _play(self) -> str:
        if not self.path.is_file():
            new(self.path, self.division)
        self.played = play_public(self.path, self._count)
        return shown(self.played)

    def _submit(self) -> str:
        target, self.played = submit(self.path)
        kept = Markup(
            "<p>Kept as <code>{}</code>: <code>python -m minibatch handin</code> packs it.</p>"
        )
        return kept.format(f"{target.parent.name}/{target.name}") + Markup(shown(self.played))


def near(path: Path) -> str:
    """A path as a page shows it: the file in its folder, without a temporary folder's name."""
    temporary = Path(tempfile.gettempdir()).resolve() == path.resolve().parent.parent
    return path.name if temporary else f"{path.parent.name}/{path.name}"


def shown(played: Played) -> str:
    """A result as HTML: the table, the leaderboard, and the match in which most was lost."""
    text = str(Markup('<pre style="line-height: 1.4">{}</pre>').format(str(played)))
    text += leaderboard(played.table, own=YOURS)._repr_html_()
    results = zip(played.outcomes, played.score.matches, strict=True)
    outcome, worst = min(results, key=lambda pair: pair[1].score)
    if outcome.fates:
        title = f"{worst.mix}, load {worst.load:g}, seed {worst.seed}"
        text += request_values({title: (outcome, worst)})._repr_html_()
    return text


def arena_card(division: str = "engine", file: str | Path | None = None) -> ArenaCard:
    """The card of one file; None is arena_policy.py, or arena_router.py, beside the exercises."""
    return ArenaCard(division, Path(file) if file else exercises_folder() / FILES[division])

"""`python -m minibatch certificate`: what a learner has built, with their own figures, as a page.

The page contains all that it shows, and prints on paper. It is made of the progress file, which a
learner can edit: it is a keepsake, and grades come from judging files.
"""

from __future__ import annotations

import argparse
import os
import platform
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from matplotlib.figure import Figure

from minibatch.course import scoreboard
from minibatch.course.exercises import learner_file
from minibatch.course.exercises.hand_in import stored_name, writable_folder
from minibatch.course.exercises.progress import Progress
from minibatch.course.exercises.source import Task, all_tasks
from minibatch.course.judging.verdict import PASSED
from minibatch.plots.figures.ladder import ladder
from minibatch.plots.figures.scoreboard import scoreboard as draw_scoreboard
from minibatch.plots.pages import pages

DIVISIONS = {"engine": "one engine", "fleet": "a fleet of engines"}
OURS = "the course's simple kernel"
YOURS = {"6.2": "decode", "6.3": "decode_group"}  # the kernels that can be on the ladder


@dataclass(frozen=True)
class Certificate:
    """What the page shows. lessons: the passed tasks of each exercise file, by the lesson's number;
    ladder, scoreboard: a Figure, or None without a result; arena: as in the progress file."""

    name: str
    lessons: dict[int, list[Task]]
    num_tasks: int
    points: float
    max_points: float
    scoreboard: Figure | None
    ladder: Figure | None
    arena: dict[str, dict]

    def page(self, today: date) -> str:
        """The page, as HTML."""
        return (
            pages(__file__)
            .get_template("certificate.html")
            .render(
                made=self,
                day=f"{today:%d %B %Y}".lstrip("0"),
                machine=f"{platform.system()}, {platform.machine()}, {os.cpu_count()} CPU cores",
                num_passed=sum(map(len, self.lessons.values())),
                divisions=DIVISIONS,
            )
        )

    def missing(self) -> list[str]:
        """What the page leaves out, and where a learner gets it."""
        lacks = {
            "exercises: none has passed yet": not self.lessons,
            "scoreboard: the buttons of lessons 01 to 04 fill it": self.scoreboard is None,
            "kernels: exercises 6.2 and 6.3 add them": self.ladder is None,
            "arena: lesson 14, or `python -m minibatch arena play FILE`": not self.arena,
        }
        return [what for what, is_missing in lacks.items() if is_missing]


def certificate(name: str) -> Certificate:
    """What this learner has built so far."""
    tasks, progress = all_tasks(), Progress()
    lessons: dict[int, list[Task]] = {}
    for task in tasks.values():
        if progress[task.id].outcome == PASSED:
            lessons.setdefault(int(task.id.split(".")[0]), []).append(task)
    lines = scoreboard.lines()
    return Certificate(
        name,
        lessons,
        len(tasks),
        sum(progress[task_id].points for task_id in tasks),
        sum(task.points for task in tasks.values()),
        draw_scoreboard(lines, scoreboard.price()) if lines else None,
        _ladder([number for number in YOURS if progress[number].outcome == PASSED]),
        progress.arena,
    )


def _ladder(passed: list[str]) -> Figure | None:
    """The learner's kernels, run again in the kernel lab, below the course's simplest one."""
    from minibatch import kernel_lab as lab
    from minibatch.attention.cuda.simple import paged_attention_simple

    written = {
        number: kernel
        for number in passed
        if (kernel := learner_file.yours_or(YOURS[number], paged_attention_simple)[0])
        is not paged_attention_simple
    }
    if not written:
        return None
    case = lab.paged_case([1, 16, 17, 40])  # lesson 06's
    rungs = {OURS: case.run(paged_attention_simple, threads=32)}
    for number, kernel in written.items():
        per_kv_head = {"grid": lambda rows, heads, kv_heads: (rows, kv_heads)}
        grid = per_kv_head if number == "6.3" else {}
        rungs[f"{number}: {YOURS[number]}"] = case.run(kernel, threads=32, **grid)
    return ladder(rungs, yours=tuple(list(rungs)[1:]))


def main(arguments: list[str]) -> int:
    """`certificate [FILE.html] [--name NAME]`: writes the page."""
    parser = argparse.ArgumentParser(
        prog="python -m minibatch certificate",
        description="Write what you have built, with your own figures, as a page to print.",
    )
    parser.add_argument("file", nargs="?", type=Path, help="default: certificate.html, here")
    parser.add_argument("--name", help="your name; default: that of your last hand-in")
    options = parser.parse_args(arguments)
    made = certificate(stored_name() if options.name is None else options.name)
    path = options.file or writable_folder() / "certificate.html"
    path.write_text(made.page(date.today()), encoding="utf-8")
    print(f"Wrote {path.resolve()}. Open it in a browser, and print it from there.")
    for what in made.missing():
        print(f"  not on it yet: {what}")
    if not made.name:
        print('  not on it yet: your name: certificate --name "YOUR NAME"')
    return 0

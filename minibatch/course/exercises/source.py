"""An exercise file: solved in `solutions/`, where it is written, and as the stub made from it.

    # -------------------------------------------------------------------------------------------
    # Exercise 4.1: Who runs next
    # 6 points, 20 minutes, difficulty 3 of 5
    # lessons/04_continuous_batching.ipynb, "The idea"
    # changes minibatch/: core engine       (only a task that edits these folders has this line)
    #
    # What to do, in a few sentences.
    #
    # HINT A nudge; it goes on
    #      over several lines.
    # HINT The idea.
    # HINT Almost the code.
    # -------------------------------------------------------------------------------------------

    def answer(n: int) -> int:
        # BEGIN SOLUTION
        return 42
        # END SOLUTION

The stub has no hints, and a marked place with a `raise` in place of the solution. If a task's
solution is in several functions, each has its own place: `# BEGIN SOLUTION of share`. A task
without a solution in the file changes `minibatch/` itself; its solution is a patch.
"""

import ast
import os
import re
from dataclasses import dataclass, field
from pathlib import Path

from minibatch.course.setup import ROOT

SOLUTIONS = ROOT / "solutions"
PATCH = "minibatch.patch"  # a submission's edits in minibatch/, as `git diff` prints them

_TITLE = re.compile(r"# Exercise (?P<id>\d+\.\d+): (?P<title>.+)")
_CARD = re.compile(
    r"# (?P<points>\d+) points?, (?P<minutes>\d+) minutes, difficulty (?P<difficulty>[1-5]) of 5"
)
_LESSON = re.compile(r'# lessons/(?P<lesson>\w+\.ipynb), "(?P<section>[^"]+)"')
_CHANGES = re.compile(r"# changes minibatch/: (?P<rooms>\w+(?: \w+)*)")
_RULE = re.compile(r"# -{20,}")
_HINT = "# HINT "
_BEGIN, _END = re.compile(r"# BEGIN SOLUTION(?: of (?P<part>\w+))?"), "# END SOLUTION"
_YOURS = "# YOUR CODE for Exercise {} "


class SourceError(ValueError):
    """An exercise's source does not have the form above; the message names file, line and fix."""


@dataclass(slots=True)
class Task:
    """One exercise, "4.1": its card, its hints, and its solution.

    points count in the grade; difficulty is 1 to 5; hints go from a nudge to almost the code.
    signature, doc: of the function to write, after its class; doc ends with an example. With
    several functions, each one's doc begins with its name.
    """

    id: str
    title: str
    stem: str  # of its file
    points: int = 0
    minutes: int = 0
    difficulty: int = 0
    lesson: str = ""
    section: str = ""
    text: str = ""
    signature: str = ""
    doc: str = ""
    hints: list[str] = field(default_factory=list)
    solution: str = ""
    may_change: list[str] = field(default_factory=list)  # "minibatch/core", …

    @property
    def changes_minibatch(self) -> bool:
        return bool(self.may_change)

    @property
    def file_name(self) -> str:
        return f"{self.stem}.py"


def exercises_folder() -> Path:
    """The folder of the learner's files: exercises/, or $MINIBATCH_EXERCISES (on a JupyterHub with
    one course for all learners, and a folder for each)."""
    return Path(os.environ.get("MINIBATCH_EXERCISES") or ROOT / "exercises").resolve()


def stems(solutions: Path | None = None) -> list[str]:
    """The exercise files' names, in order, without ".py"."""
    return sorted(path.stem for path in (solutions or SOLUTIONS).glob("ex[0-9][0-9]_*.py"))


def all_tasks(solutions: Path | None = None) -> dict[str, Task]:
    """Every task of the course by id, in order."""
    solutions = solutions or SOLUTIONS
    found: dict[str, Task] = {}
    for stem in stems(solutions):
        for task in tasks_of(solutions / f"{stem}.py"):
            if task.id in found:
                raise SourceError(f"{stem}.py: {found[task.id].stem}.py has a task {task.id} too")
            found[task.id] = task
    return found


def select(name: str | None, tasks: dict[str, Task] | None = None) -> list[Task]:
    """The tasks called "4.2", "ex04", "4" or None (all). Raises ValueError with the valid names."""
    tasks = all_tasks() if tasks is None else tasks
    if name is None:
        return list(tasks.values())
    key = name.strip().lower().removesuffix(".py")
    number = re.fullmatch(r"(?:ex)?0*(\d+)", key)
    chosen = [
        task
        for task in tasks.values()
        if key in (task.id, task.stem) or (number and task.id.split(".")[0] == number[1])
    ]
    if not chosen:
        raise ValueError(f'no exercise is called "{name}"; there are {", ".join(tasks)}')
    return chosen


def tasks_of(path: Path) -> list[Task]:
    """The tasks of one file in `solutions/`."""
    tasks: list[Task] = []
    in_card = in_solution = False
    source = path.read_text(encoding="utf-8")
    for number, line in enumerate(source.splitlines(), 1):
        where, stripped = f"{path.name}, line {number}", line.strip()
        if match := _TITLE.fullmatch(stripped):
            tasks.append(Task(match["id"], match["title"], path.stem))
            in_card = True
        elif in_card and _RULE.fullmatch(stripped):
            in_card = False
        elif in_card:
            _read_card_line(tasks[-1], stripped, where)
        elif match := _BEGIN.fullmatch(stripped):
            if not tasks or in_solution:
                raise SourceError(
                    f"{where}: a solution begins outside a task, or inside another solution; "
                    "begin it inside a task"
                )
            in_solution = True
            _begin_solution(tasks[-1], *_function(source, number), match["part"])
        elif stripped == _END:
            if not in_solution:
                raise SourceError(f"{where}: END SOLUTION without a BEGIN SOLUTION")
            in_solution = False
        elif in_solution:
            tasks[-1].solution += f"{line}\n"
    for task in tasks:
        task.text, task.solution = task.text.strip(), task.solution.rstrip("\n")
        if not task.points or not task.lesson:
            raise SourceError(f"{path.name}: exercise {task.id} lacks its points or its lesson")
        if bool(task.solution) == task.changes_minibatch:
            raise SourceError(
                f"{path.name}: exercise {task.id} needs either a solution or a line "
                "`# changes minibatch/: …`"
            )
        if len(task.hints) < 3:
            raise SourceError(f"{path.name}: exercise {task.id} has {len(task.hints)} hints of 3")
    return tasks


def _begin_solution(task: Task, signature: str, doc: str, part: str | None) -> None:
    """Start a solution; with several functions, their signatures and docs are joined."""
    before = task.signature.splitlines()
    new = [line for line in signature.splitlines() if line not in before]
    task.signature = "\n".join([*before, *new])
    said = f"`{part}`: {doc}" if part and doc else doc
    task.doc = f"{task.doc}\n\n{said}".strip() if part else doc
    if part:
        task.solution += ("\n" if before else "") + new[-1] + "\n"


def _function(source: str, line: int) -> tuple[str, str]:
    """Signature and docstring of the function around a line; a method's class comes first."""
    lines, signature, doc = source.splitlines(), [], ""
    for node in ast.walk(ast.parse(source)):  # outer nodes come before inner ones
        is_around = isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        if is_around and node.lineno < line <= node.end_lineno:
            is_class = isinstance(node, ast.ClassDef)
            last = node.lineno if is_class else node.body[0].lineno - 1
            header = lines[node.lineno - 1 : last]
            signature += [text for text in header if not _BEGIN.fullmatch(text.strip())]
            doc = ast.get_docstring(node) or ""
    return "\n".join(signature), doc


def _read_card_line(task: Task, line: str, where: str) -> None:
    content = line.removeprefix("#").removeprefix(" ")
    if match := _CARD.fullmatch(line):
        task.points, task.minutes = int(match["points"]), int(match["minutes"])
        task.difficulty = int(match["difficulty"])
    elif match := _LESSON.fullmatch(line):
        task.lesson, task.section = match["lesson"], match["section"]
    elif match := _CHANGES.fullmatch(line):
        task.may_change = [f"minibatch/{room}" for room in match["rooms"].split()]
    elif line.startswith(_HINT):
        task.hints.append(line.removeprefix(_HINT))
    elif not line.startswith("#"):
        raise SourceError(f"{where}: the card of exercise {task.id} has no rule at its end")
    elif task.hints:
        task.hints[-1] += "\n" + content.removeprefix("     ")
    else:
        task.text += f"{content}\n"


def stub(source: str) -> str:
    """The learner's stub: the source without hints, with a marked place for each solution."""
    lines: list[str] = []
    task, in_hint, in_solution = "", False, False
    for line in source.splitlines():
        indent, stripped = line[: len(line) - len(line.lstrip())], line.strip()
        if match := _TITLE.fullmatch(stripped):
            task, title = match["id"], match["title"]
        if stripped.startswith(_HINT):
            in_hint = True
            while lines[-1].strip() == "#":
                lines.pop()
        if in_hint and _RULE.fullmatch(stripped):
            in_hint = False
        if match := _BEGIN.fullmatch(stripped):
            in_solution = True
            message = f'"Exercise {task}: {title}: not written yet"'
            yours = _YOURS.format(f"{task} ({match['part']})" if match["part"] else task)
            lines += [
                f"{indent}{yours}begins here",
                f"{indent}raise NotImplementedError({message})",
                f"{indent}{yours}ends here",
            ]
        elif stripped == _END:
            in_solution = False
        elif not in_hint and not in_solution:
            lines.append(line)
    return "\n".join(lines) + "\n"


def place(text: str, name: str) -> tuple[int, int] | None:
    """A marked place in a learner's file, "4.1" or "5.2 (share)", as text.splitlines()[a:b],
    without the marks. None if the marks are gone."""
    yours = _YOURS.format(name)
    marks = [line.strip() for line in text.splitlines()]
    try:
        begin, end = marks.index(f"{yours}begins here"), marks.index(f"{yours}ends here")
    except ValueError:
        return None
    return (begin + 1, end) if begin < end else None


def marked_places(text: str, task_id: str | None = None) -> list[str]:
    """The names of the marked places in a learner's file, from the top; of one task, or of all."""
    begins = _YOURS.format(r"(\d+\.\d+(?: \(\w+\))?)") + "begins here"
    found = re.findall(rf"^\s*{begins}\s*$", text, re.MULTILINE)
    return [name for name in found if task_id in (None, name.split()[0])]

"""The commands of `python -m minibatch` for exercises: grade, hint, solution, status, reset,
handin."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path

from minibatch.course import learner
from minibatch.course.exercises.hand_in import pack, student_name
from minibatch.course.exercises.source import select
from minibatch.course.judging import verdict_card
from minibatch.course.judging.judge import JudgeError, Options, judge


def grade(arguments: list[str]) -> int:
    """`grade [ex04 | 4.2] [--submission DIR]`: 0 if every task passed, 1 if not, 2 for a fault."""
    parser = argparse.ArgumentParser(
        prog="python -m minibatch grade",
        description="Judge exercises by their tests: your own, a submission's, or a whole class's.",
    )
    parser.add_argument("name", nargs="?", help='"ex04" or "4.2"; default: all of them')
    parser.add_argument(
        "--submission", type=Path, metavar="DIR", help="judge the files of this folder"
    )
    parser.add_argument(
        "--class",
        dest="class_folder",
        type=Path,
        metavar="FOLDER",
        help="judge a class: FOLDER has a folder or a zip for each student",
    )
    parser.add_argument(
        "--out",
        type=Path,
        default=Path("grades"),
        metavar="DIR",
        help="where a class's reports go; default: grades/",
    )
    parser.add_argument(
        "--hidden", type=Path, metavar="DIR", help="run a teacher's own graders, too"
    )
    parser.add_argument(
        "--sandbox",
        action="store_true",
        help="require a sandbox, as --class does; default: use one if this computer has it",
    )
    parser.add_argument(
        "--no-sandbox",
        action="store_true",
        help="for a class or an autograder: judge even without a sandbox",
    )
    parser.add_argument(
        "--seconds", type=float, default=20.0, help="seconds for each task; default: 20"
    )
    parser.add_argument("--seed", type=int, help="seed of the random cases, to repeat a run")
    parser.add_argument("--jobs", type=int, help="students judged at once; default: one per core")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write verdicts to FILE")
    parser.add_argument(
        "--export", choices=["gradescope"], help="write an autograder's zip instead"
    )
    options = parser.parse_args(arguments)
    return _report_errors(parser, lambda: _grade(parser, options))


def _grade(parser: argparse.ArgumentParser, options: argparse.Namespace) -> int:
    how = Options(
        hidden=options.hidden,
        sandbox=options.sandbox or None,
        seconds=options.seconds,
        seed=options.seed,
    )
    for folder in (options.submission, options.class_folder, options.hidden):
        if folder is not None and not folder.is_dir():
            parser.error(f"there is no folder {folder}")
    if options.export:
        from minibatch.course.classroom.gradescope import export_gradescope

        path = options.out.with_suffix(".zip") if options.out.suffix != ".zip" else options.out
        export_gradescope(path, no_sandbox=options.no_sandbox)
        print(f"Wrote {path}: upload it as the assignment's autograder.")
        return 0
    tasks = select(options.name)
    if options.class_folder:
        from minibatch.course.classroom import grade_class

        result = grade_class(
            options.class_folder,
            options.out,
            how,
            jobs=options.jobs,
            tasks=tasks,
            no_sandbox=options.no_sandbox,
        )
        print(result.summary())
        return 1 if result.num_open else 0
    if options.submission is None and not options.sandbox and options.hidden is None:
        shown = learner.check(options.name, stay_ready=False)
        verdicts, text = shown.verdicts, shown.text
    else:
        verdicts = judge(tasks, options.submission, how)
        text = "\n\n".join(verdict_card.as_text(verdict) for verdict in verdicts)
    print(text)
    points, most = (sum(getattr(v, n) for v in verdicts) for n in ("points", "max_points"))
    print(f"\n{points:g} of {most:g} points.")
    if options.json:
        data = [verdict.to_dict() for verdict in verdicts]
        options.json.write_text(json.dumps(data, indent=1), encoding="utf-8")
    return 0 if all(verdict.passed for verdict in verdicts) else 1


def hint(arguments: list[str]) -> int:
    """`hint 4.1 [number]`."""
    parser = _parser("hint", "The next hint of an exercise.")
    parser.add_argument("number", nargs="?", type=int, help="show this hint, not the next")
    options = parser.parse_args(arguments)
    return _report_errors(parser, lambda: _show(learner.hint(options.name, options.number)))


def solution(arguments: list[str]) -> int:
    """`solution 4.1 [--insist]`."""
    parser = _parser("solution", "The course's answer, after yours has passed.")
    parser.add_argument(
        "--insist", action="store_true", help="show the answer before yours has passed"
    )
    options = parser.parse_args(arguments)

    def show() -> int:
        return _show(learner.solution(options.name, options.insist, in_shell=True))

    return _report_errors(parser, show)


def reset(arguments: list[str]) -> int:
    """`reset 4.1` or `reset ex04`."""
    parser = _parser("reset", "Reset an exercise to its stub; a dated copy is kept in backups/.")
    options = parser.parse_args(arguments)
    return _report_errors(parser, lambda: _show(learner.reset(options.name)))


def status(arguments: list[str]) -> int:
    """`status`: a table of all tasks."""
    parser = argparse.ArgumentParser(
        prog="python -m minibatch status", description="Show what you have solved so far."
    )
    parser.parse_args(arguments)
    return _report_errors(parser, lambda: _show(learner.status()))


def hand_in(arguments: list[str]) -> int:
    """`handin [FILE.zip] [--name NAME]`: one zip for the teacher."""
    parser = argparse.ArgumentParser(
        prog="python -m minibatch handin",
        description="Pack your exercises, and your edits in minibatch/, into a zip to hand in.",
    )
    parser.add_argument("file", nargs="?", type=Path, help="default: handin-YOUR_NAME.zip, here")
    parser.add_argument("--name", help="your name, as your teacher knows it; it is stored")
    options = parser.parse_args(arguments)

    def write() -> int:
        name = student_name(options.name)
        packed = pack(options.file, name)
        print(f"Wrote {packed.path}: {packed.contents()}.")
        if not name:
            print('It does not have your name. To add it: handin --name "YOUR NAME"')
        return 0

    return _report_errors(parser, write)


def _parser(name: str, description: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog=f"python -m minibatch {name}", description=description)
    parser.add_argument("name", help='an exercise, such as "4.1"')
    return parser


def _show(shown: learner.Shown) -> int:
    print(shown.text)
    return 0


def _report_errors(parser: argparse.ArgumentParser, action: Callable[[], int]) -> int:
    """Run the action; an error that the user can fix is printed as a sentence."""
    try:
        return action()
    except ValueError as error:
        parser.error(str(error))
    except (JudgeError, OSError) as error:
        print(error, file=sys.stderr)
        return 2

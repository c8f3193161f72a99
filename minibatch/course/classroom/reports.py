"""The reports of a class: a table, a page for each student, and one for the class."""

from __future__ import annotations

import csv
import json
import re

from minibatch.course.classroom.results import ClassResult, StudentResult
from minibatch.course.judging import verdict_card
from minibatch.course.judging.verdict import PASSED, SYMBOLS, Verdict
from minibatch.plots.pages import pages

_PAGES = pages(__file__)
# At the beginning of a cell, also where a spreadsheet begins a cell after each semicolon.
_FORMULA = re.compile(r"(^|;)(?=[\"\s]*[-=+@\uff0b\uff0d\uff1d\uff20])")


def write_reports(result: ClassResult) -> None:
    """grades.csv, grades.json, class.html and students/NAME.html in `result.out`."""
    folder = result.out / "students"
    folder.mkdir(parents=True, exist_ok=True)
    _write_table(result)
    data = [
        {"student": s.name, "note": s.note, "verdicts": [v.to_dict() for v in s.verdicts]}
        for s in result.students
    ]
    (result.out / "grades.json").write_text(json.dumps(data, indent=1), encoding="utf-8")
    for student in result.students:
        page = _PAGES.get_template("student.html").render(
            student=student,
            most=student.most(result.tasks),
            cards=[verdict_card.as_html(verdict) for verdict in student.verdicts],
            hidden=hidden_line(student),
        )
        (folder / f"{student.safe_name}.html").write_text(page, encoding="utf-8")
    page = _PAGES.get_template("class.html").render(
        result=result,
        most=max((s.most(result.tasks) for s in result.students), default=0),
        symbols=SYMBOLS,
        verdicts={s.safe_name: {v.task: v for v in s.verdicts} for s in result.students},
        passed={
            task.id: sum(v.passed for s in result.students for v in s.verdicts if v.task == task.id)
            for task in result.tasks
        },
    )
    (result.out / "class.html").write_text(page, encoding="utf-8")


def hidden_line(student: StudentResult) -> str:
    """How many of the teacher's hidden tests passed, not which ones. "" if there were none."""
    hidden = [r for verdict in student.verdicts for r in verdict.results if r.hidden]
    passed = sum(result.outcome == PASSED for result in hidden)
    return f"hidden tests: {passed} of {len(hidden)} passed" if hidden else ""


def _write_table(result: ClassResult) -> None:
    with (result.out / "grades.csv").open("w", newline="", encoding="utf-8") as file:
        table = csv.writer(file)
        ids = [task.id for task in result.tasks]
        table.writerow(["student", *ids, "points", "of", *(f"{i} outcome" for i in ids), "note"])
        for student in result.students:
            verdicts = {verdict.task: verdict for verdict in student.verdicts}
            points = [f"{verdicts[i].points:g}" if i in verdicts else "0" for i in ids]
            outcomes = [_outcome(verdicts.get(i)) for i in ids]
            row = [student.name, *points, f"{student.points:g}"]
            row += [f"{student.most(result.tasks):g}", *outcomes]
            table.writerow([cell(value) for value in [*row, student.note]])


def _outcome(verdict: Verdict | None) -> str:
    return "not judged" if verdict is None else verdict.outcome


def cell(text: str) -> str:
    """The text of a cell, on one line, escaped so that a spreadsheet reads no part as a formula."""
    return _FORMULA.sub(r"\1'", " ".join(text.split()))

"""`arena run`: a class's submissions on hidden seeds, each in a sandbox; and the board.

    DIR/arena.json    seeds, scores, and the history of each student: what the board is made of
    DIR/board.csv     a row for each student and division
    DIR/board.html    the same as a page, which needs no network

The seeds are drawn when a board is begun, and stay the same for it, so that all students play the
same matches. Keep arena.json to yourself: it has them. Of hidden matches the pages have three
digits of the score, and no text of a policy, which saw the answers' lengths.
"""

from __future__ import annotations

import csv
import hashlib
import json
import os
import secrets
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from itertools import cycle
from pathlib import Path

from tqdm.auto import tqdm

from minibatch import arena
from minibatch.arena.scoring import Mark
from minibatch.course.arena.judge import play_file
from minibatch.course.arena.play import FILES
from minibatch.course.classroom.grade_class import digest, what_is_missing
from minibatch.course.classroom.reports import cell
from minibatch.course.classroom.submissions import Submission, SubmissionError, submissions
from minibatch.course.judging.student import NoSandbox
from minibatch.course.judging.worker_files import remove
from minibatch.plots.pages import pages

NUM_SEEDS = 5
BOARD = "arena.json"
SANDBOX = True  # required
ANIMALS = (
    "ant badger beaver bison camel crane dolphin eagle falcon ferret fox gecko goose hare heron "
    "horse ibis jackal koala lemur lion llama lynx magpie marten mole moose newt otter owl panda "
    "pelican puffin quail rabbit raven robin salmon seal shark sloth snail stork swan tapir tiger "
    "toad trout turtle walrus weasel whale wolf wombat yak zebra"
)
PAGES = pages(__file__)
MARKING = threading.Lock()  # held to change board["marks"], and to read all of it
ON_A_HIDDEN_SEED = "stopped on a hidden seed, not on a public one; arena.json has the reason"


def run_class(
    folder: Path,
    out: Path,
    *,
    jobs: int | None = None,
    seeds_from: Path | None = None,
    anonymous: bool = False,
) -> dict:
    """Judge every submission in `folder` on the board's hidden seeds and on the public ones, and
    write the board. A submission whose Python files the board knows is not judged again.

    seeds_from: another board's arena.json, for the same seeds. Raises ValueError without a sandbox
    or without submissions.
    """
    if lacks := what_is_missing():
        raise ValueError(lacks)
    found = submissions(folder)
    if not found:
        raise ValueError(f"{folder} holds no submission: a folder or a zip for each student")
    out.mkdir(parents=True, exist_ok=True)
    board = _opened(out, seeds_from)
    with ThreadPoolExecutor(jobs or os.cpu_count() or 1) as pool:
        rows = pool.map(lambda s: _judged(s, board), found)
        for student, files in tqdm(zip(found, rows, strict=True), total=len(found), unit="student"):
            with MARKING:
                _note(board["students"].setdefault(student.name, {}), files)
                text = json.dumps(board, indent=1)
            _write(out / BOARD, text)
    write_board(out, anonymous)
    return board


def _opened(out: Path, seeds_from: Path | None) -> dict:
    """The board so far, or a new one with seeds of its own."""
    if (out / BOARD).is_file():
        return json.loads((out / BOARD).read_text(encoding="utf-8"))
    if seeds_from is not None:
        seeds = json.loads(seeds_from.read_text(encoding="utf-8"))["seeds"]
    else:
        seeds = [secrets.token_hex(16) for _ in range(NUM_SEEDS)]
    return {"seeds": seeds, "marks": {}, "students": {}}


def _judged(student: Submission, board: dict) -> dict[str, dict]:
    """By division: the digest of all Python files, scores, error. What the judge cannot do has no
    digest, so it is done again next time."""
    copy = Path(tempfile.mkdtemp(prefix="minibatch-arena-"))
    rows = {}
    try:
        student.copy_to(copy)
        code = digest(sorted(copy.glob("*.py")))[:16]  # of helpers too
        for division, name in FILES.items():
            path = copy / name
            if not path.is_file():
                continue
            known = board["students"].get(student.name, {}).get(division, [])
            if not (known and known[-1]["file"] == code):
                rows[division] = {"file": code, **_scores(path, division, board)}
    except SubmissionError as error:
        rows["engine"] = {"file": "", "public": 0.0, "hidden": 0.0, "error": str(error)}
    except (OSError, NoSandbox) as error:  # the judge's own fault
        text = f"could not be judged: {error}"
        rows["engine"] = {"file": "", "public": 0.0, "hidden": 0.0, "error": text}
    finally:
        remove(copy)
    return rows


def _scores(path: Path, division: str, board: dict) -> dict:
    public, hidden = arena.matches(division), arena.matches(division, tuple(board["seeds"]))
    with MARKING:  # once, not for each student at a time
        missing = [match for match in hidden if match.key not in board["marks"]]
        for key, mark in arena.marks(division, missing).items():
            board["marks"][key] = [mark.points, mark.num_refused]
        marks = {key: Mark(*numbers) for key, numbers in board["marks"].items()}
    outcomes = play_file(path, [*public, *hidden], sandbox=SANDBOX, at_once=1)
    seen = arena.score(outcomes[: len(public)], arena.marks(division))
    unseen = arena.score(outcomes[len(public) :], marks)
    detail = next(iter(unseen.errors), "")
    error = detail if not detail or detail in seen.errors else ON_A_HIDDEN_SEED
    return {"public": seen.total, "hidden": unseen.total, "error": error, "detail": detail}


def _note(history: dict, files: dict[str, dict]) -> None:
    for division, row in files.items():
        rows = history.setdefault(division, [])
        if rows and not rows[-1]["file"]:
            rows.pop()
        rows.append(row | {"judged": datetime.now().isoformat(" ", "minutes")})


def board_rows(board: dict, division: str, anonymous: bool = False) -> list[dict]:
    """The students of one division, by hidden score: place, name, public, hidden, submissions, all
    hidden scores so far, error."""
    names = sorted(board["students"])
    order = sorted(
        names, key=lambda name: hashlib.sha256((board["seeds"][0] + name).encode()).digest()
    )
    animals = dict(zip(order, cycle(ANIMALS.split())))
    rows = []
    for name in names:
        if not (history := board["students"][name].get(division)):
            continue
        rows.append(
            {
                "name": animals[name] if anonymous else name,
                "public": history[-1]["public"],
                "hidden": history[-1]["hidden"],
                "submissions": len(history),
                "history": [row["hidden"] for row in history],
                "error": "" if anonymous else history[-1]["error"],
            }
        )
    rows.sort(key=lambda row: (-row["hidden"], row["name"]))
    return [{"place": 1 + sum(r["hidden"] > row["hidden"] for r in rows), **row} for row in rows]


def write_board(out: Path, anonymous: bool = False) -> list[Path]:
    """Write board.csv and board.html from arena.json; returns both paths. Raises ValueError if
    there is no board in `out`."""
    if not (out / BOARD).is_file():
        raise ValueError(
            f"{out} has no {BOARD}; `python -m minibatch arena run FOLDER` makes this file"
        )
    board = json.loads((out / BOARD).read_text(encoding="utf-8"))
    tables = {division: board_rows(board, division, anonymous) for division in FILES}
    columns = "division", "place", "name", "public", "hidden", "submissions", "error"
    with (out / "board.csv").open("w", newline="", encoding="utf-8") as file:
        table = csv.writer(file)
        table.writerow(columns)
        for division, rows in tables.items():
            for row in rows:
                named = {"division": division, **row}
                table.writerow([_cell(named[column]) for column in columns])
    shipped = {division: arena.public_scores()[division]["scores"] for division in FILES}
    page = PAGES.get_template("board.html").render(tables=tables, shipped=shipped)
    (out / "board.html").write_text(page, encoding="utf-8")
    return [out / "board.csv", out / "board.html"]


def _cell(value: object) -> object:
    if isinstance(value, float):
        return f"{value:.3f}"
    return cell(value) if isinstance(value, str) else value


def _write(path: Path, text: str) -> None:
    fresh = path.with_suffix(".new")
    fresh.write_text(text, encoding="utf-8")
    fresh.replace(path)

"""`python -m minibatch arena new | play | explain | submit | run | board | confirm`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from types import SimpleNamespace

from tqdm.auto import tqdm

from minibatch import arena
from minibatch.course.arena import play as playing
from minibatch.course.arena.run_class import run_class, write_board


def main(arguments: list[str]) -> int:
    """Returns 0; 2 for a fault, which it prints."""
    parser = argparse.ArgumentParser(
        prog="python -m minibatch arena",
        description="Scheduling policies play the same matches. Lesson 14 explains the score.",
    )
    actions = parser.add_subparsers(dest="action", required=True)
    new = actions.add_parser("new", help="write a file to begin with")
    new.add_argument("file", type=Path)
    new.add_argument(
        "--division", choices=list(arena.DIVISIONS), default="engine", help="default: engine"
    )
    for name, what in (
        ("play", "play the public matches, and show the score beside the shipped policies"),
        ("explain", "what each part of a policy is worth, and which requests it lost"),
        ("submit", "play it, and put it beside your exercises, so that `handin` packs it"),
        ("confirm", "play some matches on the real model, and compare the order of policies"),
    ):
        actions.add_parser(name, help=what).add_argument("file", type=Path)
    run = actions.add_parser("run", help="judge a class on hidden seeds, and write its board")
    run.add_argument("folder", type=Path, help="a folder or zip for each student")
    run.add_argument("--jobs", type=int, help="students at once; default: one per core")
    run.add_argument(
        "--seeds-from", type=Path, metavar="FILE", help="take the seeds of this arena.json"
    )
    board = actions.add_parser("board", help="write the board of results again")
    for each in (run, board):
        each.add_argument(
            "--anonymous", action="store_true", help="show animals, not students' names"
        )
    run.add_argument("--out", type=Path, default=Path("arena"), help="default: arena/")
    board.add_argument("out", type=Path, nargs="?", default=Path("arena"), help="default: arena/")
    options = parser.parse_args(arguments)
    try:
        return {
            "new": _new,
            "play": _play,
            "explain": _explain,
            "submit": _submit,
            "confirm": _confirm,
            "run": _run,
            "board": _board,
        }[options.action](options)
    except (ValueError, OSError) as error:
        print(error, file=sys.stderr)
        return 2


def load(path: Path) -> SimpleNamespace:
    """The names that a file defines, run here: for the learner's own file, on their own computer.
    Raises ValueError if there is no such file, or if it defines no policy."""
    playing.check_is_file(path)
    names: dict[str, object] = {"__name__": path.stem, "__file__": str(path)}
    exec(compile(path.read_text(encoding="utf-8"), str(path), "exec"), names)
    if not callable(names.get("make_policy")):
        raise ValueError(f"{path} defines no make_policy(max_batch_size, max_batch_tokens)")
    return SimpleNamespace(**names)


def _new(options: argparse.Namespace) -> int:
    path = playing.new(options.file, options.division)
    print(f"Wrote {path}. Next: python -m minibatch arena play {path}")
    return 0


def _play(options: argparse.Namespace) -> int:
    with tqdm(total=27, unit="match", leave=False) as bar:
        print(playing.play_public(options.file, lambda match: bar.update()))
    return 0


def _explain(options: argparse.Namespace) -> int:
    matches = [match for match in arena.matches("engine") if match.load > 0.6]
    print(arena.explain(load(options.file).make_policy, matches, arena.marks("engine")))
    print("\nOf the public matches at the loads 0.9 and 1.3, played in this process.")
    return 0


def _submit(options: argparse.Namespace) -> int:
    path, played = playing.submit(options.file)
    print(played)
    print(f"\nIt is stored as {path}; `python -m minibatch handin` packs it with your exercises.")
    return 0


def _confirm(options: argparse.Namespace) -> int:
    from minibatch.course.arena.confirm import confirm  # torch

    print(confirm(load(options.file).make_policy))
    return 0


def _run(options: argparse.Namespace) -> int:
    if not options.folder.is_dir():
        raise ValueError(f"there is no folder {options.folder}")
    how = {"jobs": options.jobs, "seeds_from": options.seeds_from, "anonymous": options.anonymous}
    run_class(options.folder, options.out, **how)
    print(f"Wrote {options.out / 'board.html'} and board.csv")
    return 0


def _board(options: argparse.Namespace) -> int:
    for path in write_board(options.out, options.anonymous):
        print(f"Wrote {path}")
    return 0

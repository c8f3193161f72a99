"""`python -m minibatch exercises build [--check]`: makes exercises/ from solutions/.

For authors. It does not overwrite a stub that a learner has begun to solve: it reports it.
"""

import argparse
import subprocess
from pathlib import Path

from minibatch.course.exercises import source
from minibatch.course.setup import ROOT


def main(arguments: list[str], root: Path = ROOT) -> int:
    """Build or check the stubs; 1 if --check finds one out of date or a build had to leave one."""
    parser = argparse.ArgumentParser(
        prog="python -m minibatch exercises",
        description="For authors: make exercises/ from solutions/.",
    )
    parser.add_argument("action", choices=["build"])
    parser.add_argument("--check", action="store_true", help="write nothing; show what differs")
    parser.add_argument(
        "--force", action="store_true", help="overwrite solved stubs as well; nothing is kept"
    )
    options = parser.parse_args(arguments)
    solutions, exercises = root / "solutions", root / "exercises"
    source.all_tasks(solutions)  # raises if a source breaks the form
    status = 0
    for stem in source.stems(solutions):
        fresh = source.stub((solutions / f"{stem}.py").read_text(encoding="utf-8"))
        path = exercises / f"{stem}.py"
        if path.is_file() and path.read_text(encoding="utf-8") == fresh:
            continue
        if options.check:
            print(f"{path.relative_to(root)} is not what solutions/{stem}.py gives; build it.")
            status = 1
        elif path.is_file() and not options.force and _is_edited(path, root):
            print(f"{path.relative_to(root)} has its own edits; not changed (use --force).")
            status = 1
        else:
            path.parent.mkdir(exist_ok=True)
            path.write_text(fresh, encoding="utf-8", newline="\n")
            print(f"Built {path.relative_to(root)}.")
    return status


def _is_edited(path: Path, root: Path) -> bool:
    command = ["git", "-C", str(root), "status", "--porcelain", "--", str(path)]
    try:
        done = subprocess.run(command, capture_output=True, text=True)
    except FileNotFoundError:
        return True  # without git, the original is not known
    return bool(done.stdout.strip()) and not done.stdout.startswith("??")

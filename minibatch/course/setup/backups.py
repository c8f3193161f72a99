"""Dated folders in backups/: the learner's files before a command changed them."""

from datetime import datetime
from itertools import count
from pathlib import Path

BACKUPS = "backups"


def new_backup(root: Path) -> Path:
    """A new, empty folder with the time in its name."""
    stem = datetime.now().strftime("%Y-%m-%d-%H%M%S")
    for number in count(1):
        folder = root / BACKUPS / (stem if number == 1 else f"{stem}-{number}")
        try:
            folder.mkdir(parents=True)
        except FileExistsError:
            continue
        return folder
    raise AssertionError

"""Files of the course as they are committed: learners run lessons, and edit what they like."""

import subprocess


def committed(path):
    """The text as of HEAD; where there is no git, or the file is new, as it stands."""
    command = ["git", "show", f"HEAD:./{path.name}"]
    shown = subprocess.run(command, cwd=path.parent, capture_output=True, encoding="utf-8")
    return path.read_text(encoding="utf-8") if shown.returncode else shown.stdout

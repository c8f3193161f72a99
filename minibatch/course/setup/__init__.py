"""From a fresh clone to a running lesson: the commands of `python -m minibatch`.

Nothing here imports anything but the standard library, because most of it runs before anything else
is installed. Read cli.py first; environment.py decides whether to install; machine.py and doctor.py
look at the computer; bounds.py compares versions; git.py asks git, whoever owns the clone.
"""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
"""The checkout: the folder that holds lessons/, minibatch/ and requirements.txt."""

LOCKS = Path("minibatch", "course", "setup", "locks")
"""In a checkout: every package, its version and its hashes, for each kind of computer."""

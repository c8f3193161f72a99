"""From a fresh clone to a running lesson: the commands of `python -m minibatch`.

These files import only the standard library at the top, because most of them run before anything
else is installed. Read cli.py first.

    cli.py                  the table of commands
    lab_and_test.py         `lab`, `test` and `setup`: starts JupyterLab and pytest
    environment.py          decides whether to install, and installs
    virtual_environment.py  the .venv of a checkout, and its stamp
    pip_progress.py         what pip is doing, while it says nothing
    bounds.py               compares installed versions with pyproject.toml
    wheelhouse.py           `wheels`: a folder to install from without a network
    doctor.py               `doctor`: checks the computer and the installation
    gpu_run.py              `gpu`: checks and measures a GPU, in parts, each with a time limit
    computer.py             checks of the computer alone: system, Python, disk, memory, port
    course_files.py         checks that the course's files can be read, run and written beside
    model_files.py          checks that the course's model is complete
    findings.py             the result of a check: fine, a warning or a failure; SetupError
    process.py              starts another program and waits for it
    git.py                  runs git, also in a clone that another user owns
    conflict_marks.py       finds git's conflict marks
    backups.py              dated folders in backups/
    start_jupyterlab.py     starts JupyterLab; Ctrl-C before it is open is not an error
    lab_contents.py         how JupyterLab reads a lesson; the only one that imports Jupyter
    one_address.py          shortens JupyterLab's start message to one address
"""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
"""The checkout: the folder with lessons/, minibatch/ and requirements.txt."""

LOCKS = Path("minibatch", "course", "setup", "locks")
"""In a checkout: every package, its version and its hashes, for each kind of computer."""

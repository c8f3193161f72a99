"""The commands `lab`, `test` and `setup`, in the environment that set-up has found or made."""

import os
import sys
from pathlib import Path

from minibatch.course.setup import ROOT
from minibatch.course.setup.git import set_filter
from minibatch.course.setup.process import run, run_ours

LAB_DEFAULTS = Path(__file__).parent / "jupyter"
"""JupyterLab's settings that we change.

labconfig/default_setting_overrides.json: no pop-up that asks about news; a saved notebook keeps the
last state of its widgets. jupyter_server_config.json: one address is printed, warnings, no more;
lab_contents.py reads the files.
labextensions/minibatch-page: lines of about 75 characters.
"""

_SAME_AS = {  # Jupyter's other names of an option of ours
    "--ServerApp.root_dir": {
        "--ServerApp.root_dir",
        "--ServerApp.notebook_dir",
        "--NotebookApp.notebook_dir",
        "--notebook-dir",
        "--ServerApp.preferred_dir",
        "--preferred-dir",
    },
    "--ServerApp.ip": {"--ServerApp.ip", "--ip", "--ServerApp.sock", "--sock"},
    "--LabApp.default_url": {"--LabApp.default_url", "--ServerApp.default_url"},
}

SHORT = "the short suite"
SUITES = {  # option: marks that pytest selects, hypothesis profile, the printed sentence
    SHORT: (
        "not full and not slow",
        "short",
        "The short suite: some minutes (test --all: three quarters of an hour on two cores)",
    ),
    "--all": ("not slow", "all", "The whole suite: about three quarters of an hour on two cores"),
    "--slow": ("", "release", "All tests, with many seeds: much longer; run it overnight"),
}


def lab(arguments: list[str]) -> int:
    """Open JupyterLab on this checkout; `arguments` go to it and override ours."""
    os.environ.update(lab_variables())  # run() passes them on
    set_filter(ROOT)
    options = without_those_given(lab_options(ROOT), arguments)
    program = [sys.executable, "-m", "minibatch.course.setup.start_jupyterlab"]
    return run_ours([*program, *options, *arguments])


def lab_options(root: Path) -> list[str]:
    """Root, first page and workspace; reachable from this computer only; no news, no updates."""
    as_root = hasattr(os, "geteuid") and os.geteuid() == 0  # usually in a container
    return [
        *(["--allow-root"] if as_root else []),
        f"--ServerApp.root_dir={root}",
        "--ServerApp.ip=localhost",
        f"--LabApp.default_url=/lab/workspaces/minibatch/tree/{first_page(root)}",
        "--LabApp.news_url=None",
        "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
        f"--LabApp.extra_labextensions_path={LAB_DEFAULTS / 'labextensions'}",
        *(["--KernelManager.transport_encryption=auto"] if can_encrypt() else []),
    ]


def can_encrypt() -> bool:
    """Whether what a kernel and JupyterLab say to each other can be encrypted. The sockets are open
    to every user of this computer, and a kernel warns of that."""
    import zmq  # here, because this module is also imported before the installation
    from jupyter_client import KernelManager

    return "transport_encryption" in KernelManager.class_traits() and zmq.has("curve")


def without_those_given(options: list[str], given: list[str]) -> list[str]:
    """Our options without those that the learner sets, by any name: Jupyter refuses duplicates."""
    theirs = {argument.partition("=")[0] for argument in given}
    return [
        option
        for option in options
        if theirs.isdisjoint(_SAME_AS.get(name := option.partition("=")[0], ()) or {name})
    ]


def lab_variables() -> dict[str, str]:
    """Variables that make Jupyter read LAB_DEFAULTS, too, after the learner's own folders.

    These are defaults: the learner's choices in JupyterLab's Settings override them.
    """
    theirs = os.environ.get("JUPYTER_CONFIG_PATH", "").split(os.pathsep)
    folders = [folder for folder in theirs if folder and folder != str(LAB_DEFAULTS)]
    config_path = os.pathsep.join([*folders, str(LAB_DEFAULTS)])
    return {"JUPYTER_CONFIG_PATH": config_path, **thread_variables()}


def thread_variables() -> dict[str, str]:
    """One thread of PyTorch fewer than cores, unless the learner has set the number.

    PyTorch's threads spin while they wait for each other, so a core that the browser uses for a
    moment stops them all. Beside one busy program, steps on two cores took up to 60 times as long
    with two threads, and no longer with one. (On an idle machine two threads are a fifth faster.)
    """
    import psutil  # here, because this module is also imported before the installation

    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    cores = min(usable or 1, psutil.cpu_count(logical=False) or usable or 1)
    return {"OMP_NUM_THREADS": os.environ.get("OMP_NUM_THREADS", str(max(1, cores - 1)))}


def first_page(root: Path) -> str:
    """The first lesson in reading order; the README if there is none."""
    lessons = sorted((root / "lessons").glob("*.ipynb"))
    return f"lessons/{lessons[0].name}" if lessons else "README.md"


def test(arguments: list[str]) -> int:
    """Run pytest in the repository's root and return its exit status (5: it found no test).

    --all, --slow: more than the short suite. All other arguments go to pytest. The graders judge
    the solutions here, never the learner's files.
    """
    wanted = [suite for suite in SUITES if suite in arguments]
    suite = wanted[-1] if wanted else SHORT
    rest = [argument for argument in arguments if argument not in wanted]
    marks, examples, says = SUITES[suite]
    print(f"{says}. Ctrl-C ends it.", flush=True)
    os.environ.update(thread_variables())
    options = ["-p", "minibatch.course.judging.plugin", "--submission", str(ROOT / "solutions")]
    options += ["-m", marks, f"--hypothesis-profile={examples}", *workers(rest)]
    return run([sys.executable, "-m", "pytest", *options, *rest], cwd=ROOT)


def workers(arguments: list[str]) -> list[str]:
    """Options for two processes, unless an argument needs the tests in this one; a file's tests
    stay together."""
    alone = ("-n", "--pdb", "-s", "--capture", "-x", "--collect-only", "--co", "-k", "tests/")
    if (os.cpu_count() or 1) < 2 or any(a.startswith(alone) for a in arguments):
        return []
    return ["-n", "2", "--dist", "loadfile"]


def ready(arguments: list[str]) -> int:
    """The command `setup`: print that all is installed, since every command installs first."""
    if arguments:
        print(f"python -m minibatch setup has no option {' '.join(arguments)}", file=sys.stderr)
        return 2
    print(f"Ready: {sys.executable}")
    return 0

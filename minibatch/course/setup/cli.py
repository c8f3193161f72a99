"""The commands of `python -m minibatch`: one table, and how a command finds its Python.

A command names its function, so torch, Jupyter or pytest are imported only where it runs."""

import argparse
import difflib
import sys
import tomllib
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from enum import Enum
from importlib import import_module
from pathlib import Path

from minibatch.course.setup import ROOT, environment
from minibatch.course.setup.course_files import refuse_broken_sources
from minibatch.course.setup.environment import Options
from minibatch.course.setup.findings import SetupError
from minibatch.course.setup.git import git, is_repository
from minibatch.course.setup.process import run_ours


class Needs(Enum):
    """Where a command runs."""

    ENVIRONMENT = "where everything is installed; installs it first if needed"
    WHAT_IS_THERE = "where everything is installed, or here if that does not exist yet"
    NOTHING = "here"


@dataclass(frozen=True, slots=True)
class Command:
    """One row of the table."""

    summary: str
    function: str  # "module:function"; takes the command's arguments, returns the exit status
    needs: Needs = Needs.ENVIRONMENT
    usage: str = ""  # what may follow the command; empty: the function prints its own help
    ray_with: str = ""  # an option that takes Ray, and so its environment


COMMANDS = {
    "lab": Command(
        "open the lessons in JupyterLab",
        "minibatch.course.setup.lab_and_test:lab",
        usage="Further arguments go to JupyterLab: lab --no-browser --port 8899",
    ),
    "test": Command(
        "run the tests: 6 minutes; --all: far more; --slow: what a release runs",
        "minibatch.course.setup.lab_and_test:test",
        usage="Further arguments go to pytest, in the repository's root: test -k continuous -x",
    ),
    "grade": Command(
        "judge your exercises (grade 4.2), a submission, or a class",
        "minibatch.course.commands:grade",
    ),
    "hint": Command("show the next hint of an exercise", "minibatch.course.commands:hint"),
    "solution": Command(
        "show the course's answer, after yours has passed", "minibatch.course.commands:solution"
    ),
    "status": Command("show what you have solved so far", "minibatch.course.commands:status"),
    "certificate": Command(
        "what you have built, as a page to print", "minibatch.course.certificate:main"
    ),
    "reset": Command(
        "reset an exercise to its stub, keeping a copy", "minibatch.course.commands:reset"
    ),
    "handin": Command(
        "pack your exercises into a zip to hand in", "minibatch.course.commands:hand_in"
    ),
    "arena": Command(
        "play your policy, explain its score; judge a class", "minibatch.course.arena.commands:main"
    ),
    "serve": Command(
        "serve a model by OpenAI's HTTP API; --replicas N: N of them, on Ray Serve",
        "minibatch.ray_serve.command:main",
        ray_with="--replicas",
    ),
    "bench": Command(
        "measure the four policies and transformers on this machine", "minibatch.bench.command:main"
    ),
    "replay": Command(
        "send a workload to any OpenAI-compatible server, and measure at the client",
        "minibatch.bench.replay_command:main",
    ),
    "gpu": Command(
        "check and measure an NVIDIA GPU: kernels, graphs, tokens, speed; about 15 minutes",
        "minibatch.course.setup.gpu_run:main",
        Needs.WHAT_IS_THERE,
    ),
    "notebooks": Command(
        "check the lessons: the notebooks' form (--fix repairs it), links, cited sources",
        "minibatch.course.notebooks.hygiene:main",
    ),
    "site": Command(
        "run every lesson and write it as a page to read without installing",
        "minibatch.course.site.build_site:main",
    ),
    "exercises": Command(
        "for authors: make exercises/ from solutions/",
        "minibatch.course.exercises.build_stubs:main",
    ),
    "setup": Command(
        "only install the packages that the other commands need",
        "minibatch.course.setup.lab_and_test:ready",
        usage="The other commands do this themselves when it is needed.",
    ),
    "wheels": Command(
        "fill a folder for an install without a network, for any Python and system",
        "minibatch.course.setup.wheelhouse:main",
        Needs.NOTHING,
    ),
    "doctor": Command(
        "check this computer and the installation; say what to do",
        "minibatch.course.setup.doctor:main",
        Needs.WHAT_IS_THERE,
    ),
    "update": Command(
        "get the newest lessons; keep your work and its outputs",
        "minibatch.course.changes.update:main",
        Needs.NOTHING,
    ),
    "diff": Command(
        "show your edits in minibatch/",
        "minibatch.course.changes.learner_edits:diff_main",
        Needs.NOTHING,
    ),
    "restore": Command(
        "undo your edits in minibatch/, or repair conflict marks, keeping a copy",
        "minibatch.course.changes.learner_edits:restore_main",
        Needs.NOTHING,
    ),
}


def main(argv: Sequence[str]) -> int:
    """Run one command and return its exit status; 2 for a command that does not exist."""
    if not argv or argv[0] in ("-h", "--help", "help"):
        print(overview())
        return 0
    name, *rest = argv
    if name == "--version":
        print(version(ROOT))
        return 0
    if name not in COMMANDS:
        close = difflib.get_close_matches(name, COMMANDS, n=1)
        hint = f'Did you mean "{close[0]}"?' if close else f"There are: {', '.join(COMMANDS)}."
        print(f'python -m minibatch has no command "{name}". {hint}', file=sys.stderr)
        return 2
    try:
        return _dispatch(name, rest)
    except SetupError as error:
        print(f"\n{error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\nInterrupted. The same command continues from here.", file=sys.stderr)
        return 130


def overview() -> str:
    """What `python -m minibatch` prints: the table, a line a command."""
    rows = [f"  {name:<11} {command.summary}" for name, command in COMMANDS.items()]
    return "\n".join(
        [
            "usage: python -m minibatch COMMAND [arguments]",
            "",
            *rows,
            "",
            "You need only lab and test: they make .venv and install into it, unless your Python",
            "has all packages that pyproject.toml requires. COMMAND --help says more.",
        ]
    )


def version(root: Path) -> str:
    """The course's version, its last commit if there is one, and its folder."""
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    commit = ""
    if is_repository(root):
        with suppress(SetupError):
            commit = f" ({git(root, 'log', '-1', '--format=%h, %cs').strip()})"
    return f"minibatch {project['version']}{commit}, in {root}, Python {sys.version.split()[0]}"


def setup_parser(name: str) -> argparse.ArgumentParser:
    """The options of set-up, which every command that needs an environment takes."""
    command = COMMANDS[name]
    parser = argparse.ArgumentParser(
        prog=f"python -m minibatch {name}",
        usage=f"python -m minibatch {name} [set-up options] [arguments]",
        description=f"{command.summary[0].upper()}{command.summary[1:]}. {command.usage}",
        allow_abbrev=False,
        add_help=False,
    )
    options = parser.add_argument_group("set-up options, for when something must be installed")
    options.add_argument(
        "--wheels",
        type=Path,
        metavar="DIR",
        help="install from the wheels in DIR, without a network; `wheels DIR` fills it",
    )
    options.add_argument("--cpu", action="store_true", help="PyTorch for the CPU; the default")
    options.add_argument(
        "--cuda",
        action="store_true",
        help="PyTorch for NVIDIA's GPUs, and the compiler of the CUDA kernels",
    )
    options.add_argument(
        "--numba-cuda", action="store_true", help="only this compiler, with PyTorch for the CPU"
    )
    options.add_argument(
        "--venv",
        action="store_true",
        help="use .venv, even if your Python already has everything",
    )
    options.add_argument(
        "--ray", action="store_true", help="use another environment, .venv-ray, with Ray"
    )
    return parser


def _dispatch(name: str, arguments: list[str]) -> int:
    command = COMMANDS[name]
    if not (ROOT / "requirements.txt").is_file():
        raise SetupError(
            f"{ROOT} is not a checkout of the course. Clone the course and run this there."
        )
    if command.needs is Needs.NOTHING:
        return _function(command)(arguments)
    if name == "grade":
        refuse_broken_sources(ROOT)

    options, rest, wants_help = Options(), arguments, False
    if command.needs is Needs.ENVIRONMENT:
        parser = setup_parser(name)
        parsed, rest = parser.parse_known_args(arguments)
        options = Options(**vars(parsed))
        if command.ray_with and any(each.split("=")[0] == command.ray_with for each in rest):
            options = replace(options, ray=True)
        wants_help = not {"-h", "--help"}.isdisjoint(rest)
        if wants_help and command.usage:
            parser.print_help()
            return 0

    python = environment.find(options)
    if python is None and command.needs is Needs.ENVIRONMENT:
        if wants_help:
            parser.print_help()
            print("\nThe command's own options are shown once everything is installed.")
            return 0
        python = environment.finish(options)
    if python is None or python == Path(sys.executable):
        return _function(command)(rest)
    return run_ours([python, "-m", "minibatch", name, *arguments])


def _function(command: Command) -> Callable[[list[str]], int]:
    module, function = command.function.split(":")
    return getattr(import_module(module), function)

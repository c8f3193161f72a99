"""`python -m minibatch doctor`: one line for each finding, and what to do if it is not fine.

It runs in the environment of the lessons or, if there is none yet, in any Python; then it checks
less. A check yields findings; a check that raises becomes a finding itself."""

import argparse
import json
import os
import platform
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import asdict
from importlib import metadata
from pathlib import Path

from minibatch.course.setup import ROOT, computer
from minibatch.course.setup.bounds import Requirement, project_requirements, unmet
from minibatch.course.setup.course_files import check_folders, check_sources
from minibatch.course.setup.environment import CPU_INDEX, CUDA_INDEX, TORCH
from minibatch.course.setup.findings import Finding, Status, failed, failure, fine, show, warning
from minibatch.course.setup.model_files import check_model
from minibatch.course.setup.virtual_environment import State, VirtualEnvironment

SET_UP = "python -m minibatch setup"
OLDEST_DRIVER = "580"  # of CUDA 13; text is enough, because all versions have three digits

Check = Callable[[], Iterator[Finding]]


def main(arguments: list[str]) -> int:
    """Print every finding; the exit status is 1 if one of them is a failure."""
    parser = argparse.ArgumentParser(
        prog="python -m minibatch doctor",
        description="Check this computer and the installation; say what to do.",
    )
    parser.add_argument("--json", action="store_true", help="print a list for programs to read")
    parser.add_argument(
        "--class",
        dest="for_class",
        action="store_true",
        help="print one line, for a teacher who collects the lines of a class",
    )
    options = parser.parse_args(arguments)
    findings = []
    for finding in examine(CHECKS):
        findings.append(finding)
        if not (options.json or options.for_class):
            show(finding)
    if options.for_class:
        print(class_line(findings))
    elif options.json:
        print(json.dumps([asdict(finding) for finding in findings], indent=2))
    else:
        print(summary(findings))
    return int(failed(findings))


def class_line(findings: list[Finding]) -> str:
    """Computer, verdict, problems, versions: separated by tabs, to paste into a table."""
    seen = {finding.topic: finding.seen for finding in findings}
    troubles = [f for f in findings if f.status is not Status.OK]
    verdict = "NOT READY" if failed(findings) else "ready"
    problems = "; ".join(f"{f.topic}: {f.seen}" for f in troubles) or "nothing"
    facts = [seen.get(topic, "?") for topic in ("system", "Python", "versions", "GPU")]
    return "\t".join([platform.node(), verdict, problems, *facts])


def examine(checks: list[Check]) -> Iterator[Finding]:
    """The findings of all checks, in order. A check that raises is a finding, not the end."""
    for check in checks:
        try:
            yield from check()
        except Exception as error:
            topic = check.__name__.removeprefix("check_")
            seen = f"this check stopped with an error: {type(error).__name__}: {error}"
            yield failure(topic, seen, "Please report this line.")


def summary(findings: list[Finding]) -> str:
    """The closing line."""
    count = Counter(finding.status for finding in findings)
    if not count[Status.FAILURE] + count[Status.WARNING]:
        return "All is well."
    first = f"To fix first: {n}." if (n := count[Status.FAILURE]) else "The course can run."
    return f"{first} Warnings: {count[Status.WARNING]}."


def check_machine() -> Iterator[Finding]:
    """System, Python, processors, memory and disk: these checks do not need an installation."""
    yield computer.system()
    yield computer.python()
    yield computer.processors()
    yield computer.memory()
    yield computer.disk(ROOT, 0 if is_installed() else computer.CPU_INSTALL_BYTES)
    yield computer.port()


def check_environment() -> Iterator[Finding]:
    """Whether this environment meets pyproject.toml, and .venv, if there is one, is complete."""
    venv, missing, wanted = VirtualEnvironment(), unmet(ROOT), project_requirements(ROOT)
    is_unfinished = (state := venv.state()) not in (State.FINISHED, State.ABSENT)
    if not missing:
        where = ".venv" if venv.is_running else sys.prefix
        yield fine("environment", f"{where} meets all {len(wanted)} requirements of pyproject.toml")
    elif 2 * len(missing) > len(wanted):
        yield computer.venv_module()
        if not is_unfinished:
            seen = f"not installed yet ({len(missing)} of {len(wanted)} packages)"
            yield failure("environment", seen, f"Install: {SET_UP}")
    else:
        by_hand = f"{sys.executable} -m pip install -r requirements.txt"
        to_do = f"`{SET_UP}` makes a .venv that has it; or install it here: {by_hand}"
        for requirement in missing:
            seen = f"{requirement.installed or 'missing'}; the course needs {requirement.bounds}"
            yield warning(requirement.name, seen, to_do)
    if is_unfinished:
        yield (failure if missing else warning)(".venv", f"{state}", f"Finish it: {SET_UP}")


def check_versions() -> Iterator[Finding]:
    """The versions that matter when someone asks for help."""
    if is_installed():
        names = ("torch", "transformers", "numba", "numpy", "jupyterlab", "ipywidgets")
        yield fine("versions", ", ".join(f"{name} {metadata.version(name)}" for name in names))


def check_package() -> Iterator[Finding]:
    """Whether a notebook finds `minibatch`, for every way to start Jupyter."""
    if not is_installed():
        return
    # Not in the checkout itself, where a build creates metadata that only this process sees.
    elsewhere = [folder for folder in sys.path if Path(folder).resolve() != ROOT]
    installed = next(iter(metadata.distributions(name="minibatch", path=elsewhere)), None)
    if installed is None:
        seen = "not installed here; only notebooks opened by `python -m minibatch lab` find it"
        yield warning("minibatch", seen, f"{sys.executable} -m pip install -e {ROOT}")
    else:
        yield fine("minibatch", f"{installed.version}, from {ROOT}")


def check_torch() -> Iterator[Finding]:
    """Whether PyTorch can be imported, which metadata does not show, and sees the GPU."""
    gpu = computer.gpu_name()
    if not Requirement("torch", "").installed:
        yield fine("GPU", gpu or "none; the lessons do not need one")
        return
    question = "import torch; print(torch.version.cuda, torch.cuda.is_available())"
    answer = subprocess.run([sys.executable, "-c", question], capture_output=True, text=True)
    if answer.returncode != 0:
        last = (answer.stderr.strip().splitlines() or [f"exit status {answer.returncode}"])[-1]
        to_do = (
            "Install the Microsoft Visual C++ Redistributable, then try again."
            if sys.platform == "win32"
            else f"Reinstall it: {_install_torch('cpu')}"
        )
        yield failure("PyTorch", f"does not start: {last}", to_do)
        return
    cuda, sees_gpu = answer.stdout.split()[-2:]
    built_for = "the CPU" if cuda == "None" else f"CUDA {cuda}"
    yield fine("PyTorch", f"starts; built for {built_for}")
    yield _gpu_finding(gpu, built_for, sees_gpu == "True")


def _install_torch(builds: str) -> str:
    index = CUDA_INDEX if builds == "cuda" else CPU_INDEX
    pip = f"{sys.executable} -m pip install --force-reinstall --no-deps"
    return f"{pip} torch=={TORCH} --index-url {index}"


def _gpu_finding(gpu: str | None, built_for: str, sees_gpu: bool) -> Finding:
    if gpu is None:
        return fine("GPU", "no NVIDIA GPU; the lessons do not need one")
    if built_for == "the CPU":
        to_do = f"To use it: {SET_UP} --cuda; in an environment of yours: {_install_torch('cuda')}"
        return warning("GPU", f"{gpu}, but this PyTorch is built for the CPU", to_do)
    driver = computer.driver_version() or "of an unknown version"
    if not sees_gpu or driver < OLDEST_DRIVER:
        seen = f"{gpu}, driver {driver}" + (", but PyTorch cannot use it" * (not sees_gpu))
        to_do = f"CUDA 13 needs an NVIDIA driver of version {OLDEST_DRIVER} or newer: install one."
        return warning("GPU", seen, to_do)
    if missing := set(unmet(ROOT, ("cuda",))) - set(unmet(ROOT)):
        to_do = f"Install the kernels' compiler: {SET_UP} --numba-cuda"
        return warning("GPU", f"{gpu}; {missing.pop()} is not installed", to_do)
    return fine("GPU", f"{gpu}, driver {driver}, {built_for}")


def check_kernel() -> Iterator[Finding]:
    """Whether notebooks run in this environment rather than where an old kernel spec points."""
    if not Requirement("jupyter_client", "").installed:
        return
    from jupyter_client.kernelspec import KernelSpecManager, NoSuchKernel

    mend = f"{sys.executable} -m ipykernel install --sys-prefix"
    try:
        spec = KernelSpecManager().get_kernel_spec("python3")
    except NoSuchKernel:
        yield failure("kernel", "Jupyter has no kernel called python3", mend)
        return
    program = spec.argv[0]
    # Jupyter replaces a bare name by its own interpreter.
    if re.fullmatch(r"python[\d.]*", program) or _same_folder(program, sys.executable):
        yield fine("kernel", "notebooks run in this environment")
    else:
        seen = f"notebooks would run {program}, because of {spec.resource_dir}"
        yield failure("kernel", seen, f"{mend}; or remove that folder")


def check_widgets() -> Iterator[Finding]:
    """Whether the widgets' Python half and browser half are installed and fit together."""
    if not Requirement("ipywidgets", "").installed:
        return
    version = metadata.version("ipywidgets")
    mend = f"{sys.executable} -m pip install --force-reinstall ipywidgets jupyterlab_widgets"
    asks_for = [Requirement.parse(line) for line in metadata.requires("ipywidgets") or ()]
    half = next(wanted for wanted in asks_for if wanted.name == "jupyterlab_widgets")
    places = [Path(place, "@jupyter-widgets/jupyterlab-manager") for place in _labextensions()]
    if not half.is_met:
        seen = f"ipywidgets {version} needs {half}; installed: {half.installed or 'none'}"
        yield failure("widgets", seen, mend)
    elif not any((place / "package.json").is_file() for place in places):
        seen = "the part for JupyterLab is missing; looked for " + ", ".join(map(str, places))
        yield failure("widgets", seen, mend)
    else:
        yield fine("widgets", f"ipywidgets {version} and jupyterlab_widgets {half.installed} fit")


def _labextensions() -> list[str]:
    """JupyterLab's folders of browser halves: the environment's, the user's, the system's."""
    try:
        from jupyter_core.paths import jupyter_path
    except ImportError:
        return [str(Path(sys.prefix, "share/jupyter/labextensions"))]
    return jupyter_path("labextensions")


def is_installed() -> bool:
    """Whether the lessons can run in this environment."""
    return not unmet(ROOT)


def _same_folder(one: str, other: str) -> bool:
    """Whether two interpreters are of one environment. (.venv's Python is a link: not followed.)"""
    return os.path.normcase(os.path.dirname(one)) == os.path.normcase(os.path.dirname(other))


CHECKS: list[Check] = [
    check_machine,
    check_folders,
    check_sources,
    check_environment,
    check_versions,
    check_package,
    check_torch,
    check_kernel,
    check_widgets,
    check_model,
]

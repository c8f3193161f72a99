"""Which Python runs the course; how .venv is made, finished, told apart, and what it is made of."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from minibatch.course.setup import (
    LOCKS,
    ROOT,
    computer,
    environment,
    findings,
    pip_progress,
    process,
    wheelhouse,
)
from minibatch.course.setup.environment import Options
from minibatch.course.setup.findings import SetupError
from minibatch.course.setup.virtual_environment import Parts, State, VirtualEnvironment

NOBODY_HAS = "surely-not-installed>=1"
PACKAGES, TORCH, ITSELF = "--require-hashes", "torch==", "--no-build-isolation"


def make_checkout(folder, *dependencies):
    text = (
        f'[project]\nname = "minibatch"\nversion = "0"\ndependencies = {json.dumps(dependencies)}\n'
    )
    text += f'optional-dependencies = {{ cuda = ["{NOBODY_HAS}"], ray = ["{NOBODY_HAS}"] }}\n'
    (folder / "pyproject.toml").write_text(text)
    (folder / LOCKS).mkdir(parents=True)
    for name in ("cpu.txt", "cuda.txt", "compiler.txt"):
        (folder / LOCKS / name).write_text(f"# Made for {name}\nsurely-not-installed==1\n")
    return folder


@pytest.fixture
def checkout(tmp_path):
    """A folder that set-up takes for a clone whose needs this environment does not meet."""
    root = tmp_path / "course"
    root.mkdir()
    return make_checkout(root, NOBODY_HAS)


@pytest.fixture
def installs(monkeypatch):
    """Stands for `venv` and pip: the commands that set-up would have run, in order."""
    commands = []

    def pretend(command, *watching, cwd=None):
        commands.append([str(part) for part in command])
        if "venv" in commands[-1]:
            folder = Path(command[-1])
            python = VirtualEnvironment(folder.parent, folder.name == ".venv-ray").python
            python.parent.mkdir(parents=True)
            python.touch()
        return 0

    monkeypatch.setattr("minibatch.course.setup.virtual_environment.run", pretend)
    monkeypatch.setattr(environment, "run", pretend)
    monkeypatch.setattr(environment, "watch", pretend)
    monkeypatch.setattr(VirtualEnvironment, "works", lambda venv: venv.python.exists())
    monkeypatch.setattr(computer, "gpu_name", lambda: None)
    monkeypatch.setattr(computer, "looks", lambda install_bytes, folder: [])
    monkeypatch.setattr(sys, "platform", "linux")
    return commands


def kinds(installs):
    words = ("venv", PACKAGES, TORCH, ITSELF)
    return [next(w for w in words if any(p.startswith(w) for p in parts)) for parts in installs]


@pytest.fixture
def breaks(monkeypatch):
    """Makes pip fail, as an install does that is cut short; with "", it works again."""
    pretend = environment.watch

    def at(word):
        def fail(command, log, *rest, cwd=None):
            log.write_text("no such wheel\n")
            return int(word in map(str, command)) if word else pretend(command, log, cwd=cwd)

        monkeypatch.setattr(environment, "watch", fail)

    return at


# Which Python


def test_an_environment_within_the_bounds_runs_the_course_itself(tmp_path):
    root = make_checkout(tmp_path, "pytest>=8")
    assert environment.find(Options(), root) == Path(sys.executable)
    assert not (root / ".venv").exists()


def test_asked_for_a_venv_a_sufficient_environment_is_passed_over(tmp_path):
    root = make_checkout(tmp_path, "pytest>=8")
    assert environment.find(Options(venv=True), root) is None


def test_without_a_venv_there_is_no_python_yet(checkout):
    assert environment.find(Options(), checkout) is None


def test_inside_a_venv_filled_by_hand_nothing_is_installed(tmp_path, monkeypatch):
    root = make_checkout(tmp_path, "pytest>=8")
    (root / ".venv").mkdir()
    monkeypatch.setattr(sys, "prefix", str(root / ".venv"))
    assert environment.find(Options(), root) == Path(sys.executable)


def test_inside_a_venv_that_set_up_left_unfinished_the_install_goes_on(tmp_path, monkeypatch):
    root = make_checkout(tmp_path, "pytest>=8")
    (root / ".venv").mkdir()
    VirtualEnvironment(root).mark_unfinished(Parts())
    monkeypatch.setattr(sys, "prefix", str(root / ".venv"))
    assert environment.find(Options(), root) is None


# How it is made


def test_an_install_is_made_of_the_locked_packages_torch_and_the_course_itself(checkout, installs):
    python = environment.finish(Options(), checkout)
    assert environment.find(Options(), checkout) == python
    assert kinds(installs) == ["venv", PACKAGES, TORCH, ITSELF]
    assert str(checkout / LOCKS / "cpu.txt") in installs[1]
    assert "--no-deps" in installs[2]
    assert "--no-index" in installs[3]


def test_the_stamp_is_written_after_pip_has_ended(checkout, installs, monkeypatch):
    seen, pretend = [], environment.watch

    def watch(*arguments, cwd=None):
        seen.append(VirtualEnvironment(checkout).state())
        return pretend(*arguments, cwd=cwd)

    monkeypatch.setattr(environment, "watch", watch)
    environment.finish(Options(), checkout)
    assert seen == [State.INTERRUPTED] * 3
    assert VirtualEnvironment(checkout).state() is State.FINISHED


def test_an_install_that_was_cut_short_says_why_and_is_finished_in_the_same_venv(
    checkout, installs, breaks
):
    breaks(PACKAGES)
    with pytest.raises(SetupError, match=r"(?s)no such wheel.*pip .*status 1"):
        environment.finish(Options(), checkout)
    assert environment.find(Options(), checkout) is None
    breaks("")
    installs.clear()
    environment.finish(Options(), checkout)
    assert kinds(installs) == [PACKAGES, TORCH, ITSELF]
    assert environment.find(Options(), checkout) is not None


@pytest.mark.parametrize(
    ("change", "state"),
    [
        ("locks", State.OUTDATED),
        ("moved", State.MOVED),
        ("interrupted", State.INTERRUPTED),
        ("python gone", State.ABSENT),
        ("stamp gone", State.ABSENT),
    ],
)
def test_a_venv_made_from_something_else_is_told_apart(checkout, installs, change, state):
    environment.finish(Options(), checkout)
    venv = VirtualEnvironment(checkout)
    if change == "locks":
        (checkout / LOCKS / "cpu.txt").write_text("tqdm==4.70.1\n")
    elif change == "moved":
        venv = VirtualEnvironment(checkout.rename(checkout.with_name("elsewhere")))
    elif change == "interrupted":
        venv.mark_unfinished(Parts())
    else:
        (venv.python if change == "python gone" else venv.stamp).unlink()
    assert venv.state() is state
    assert environment.find(Options(), venv.root) is None


def test_a_moved_folder_takes_nothing_but_the_path_to_itself(checkout, installs):
    environment.finish(Options(), checkout)
    installs.clear()
    moved = checkout.rename(checkout.with_name("elsewhere"))
    environment.finish(Options(), moved)
    assert kinds(installs) == [ITSELF]
    assert "--no-index" in installs[0]
    assert VirtualEnvironment(moved).state() is State.FINISHED


@pytest.mark.parametrize("text", ["# other words\nsurely-not-installed==1\n", None])
def test_a_comment_or_the_line_ends_of_windows_make_no_venv_outdated(checkout, installs, text):
    environment.finish(Options(), checkout)
    lock = checkout / LOCKS / "cpu.txt"
    lock.write_bytes((text or lock.read_text().replace("\n", "\r\n")).encode())
    assert VirtualEnvironment(checkout).state() is State.FINISHED


def test_files_that_pip_takes_away_while_they_are_counted_are_no_fault(tmp_path, monkeypatch):
    venv = VirtualEnvironment(tmp_path)
    (venv.folder / "lib").mkdir(parents=True)
    for name in ("gone", "stays"):
        (venv.folder / "lib" / name).write_bytes(b"12345")
    look = os.lstat

    def lstat(path, *more, **options):
        if str(path).endswith("gone"):
            raise FileNotFoundError(path)
        return look(path, *more, **options)

    monkeypatch.setattr(os, "lstat", lstat)
    assert venv.size_bytes() == 5


def test_a_venv_that_somebody_else_made_is_not_deleted(checkout, installs):
    treasure = checkout / ".venv" / "treasure"
    treasure.parent.mkdir()
    treasure.touch()
    with pytest.raises(SetupError, match=r"\.venv"):
        environment.finish(Options(), checkout)
    assert treasure.exists()
    assert installs == []


def test_a_folder_that_cannot_be_written_is_told_before_anything_is_made(
    checkout, installs, monkeypatch
):
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    with pytest.raises(SetupError, match="cannot be written to"):
        environment.finish(Options(), checkout)
    assert installs == []


def test_a_course_without_its_locks_is_told_so(checkout, installs):
    (checkout / LOCKS / "cpu.txt").unlink()
    with pytest.raises(SetupError, match=r"locks.cpu\.txt"):
        environment.finish(Options(), checkout)
    assert installs == []


def test_a_failed_look_stops_set_up_before_anything_is_made(
    checkout, installs, monkeypatch, capsys
):
    full = findings.failure("disk", "0.1 GB free, 3.0 GB needed: 2.9 GB missing", "Free some.")
    monkeypatch.setattr(computer, "looks", lambda install_bytes, folder: [full])
    with pytest.raises(SetupError, match="Nothing was downloaded"):
        environment.finish(Options(), checkout)
    assert installs == []
    assert not (checkout / ".venv").exists()
    assert "2.9 GB missing" in capsys.readouterr().out


# For the CPU or for CUDA


@pytest.mark.parametrize(
    ("platform", "options", "lock", "torch"),
    [
        ("linux", Options(), "cpu.txt", "+cpu"),
        ("linux", Options(cuda=True), "cuda.txt", None),
        ("darwin", Options(), "cpu.txt", None),
        ("win32", Options(), "cpu.txt", None),
        ("win32", Options(cuda=True), "cuda.txt", "+cu130"),
    ],
)
@pytest.mark.parametrize("gpu", [None, "NVIDIA H200"])
def test_builds_for_cuda_come_when_they_are_asked_for_and_never_because_of_a_probe(
    checkout, installs, monkeypatch, platform, options, lock, torch, gpu, capsys
):
    monkeypatch.setattr(sys, "platform", platform)
    monkeypatch.setattr(computer, "gpu_name", lambda: gpu)
    environment.finish(options, checkout)
    assert str(checkout / LOCKS / lock) in installs[1]
    builds = [part for command in installs for part in command if part.startswith(TORCH)]
    assert builds == ([f"torch=={environment.TORCH}{torch}"] if torch else [])
    told = bool(gpu) and not options.cuda
    assert ("setup --cuda" in capsys.readouterr().out) is told


def test_what_was_asked_for_once_stays_until_the_other_is_asked_for(checkout, installs):
    environment.finish(Options(cuda=True), checkout)
    (checkout / LOCKS / "cuda.txt").write_text("tqdm==4.70.1\n")
    environment.finish(Options(), checkout)
    assert VirtualEnvironment(checkout).parts == Parts("cuda", True)
    assert environment.find(Options(cpu=True), checkout) is None
    environment.finish(Options(cpu=True), checkout)
    assert VirtualEnvironment(checkout).parts.builds == "cpu"


def test_ray_is_installed_beside_the_course_in_an_environment_of_its_own(checkout, installs):
    (checkout / LOCKS / "ray.txt").write_text("ray==2.60.0\n")
    environment.finish(Options(), checkout)
    assert environment.find(Options(ray=True), checkout) is None
    installs.clear()
    python = environment.finish(Options(ray=True), checkout)
    assert python.is_relative_to(checkout / ".venv-ray")
    assert kinds(installs) == ["venv", PACKAGES, TORCH, ITSELF]
    packages = [part for part in installs[1] if part.endswith(".txt")]
    assert packages == [str(checkout / LOCKS / name) for name in ("cpu.txt", "ray.txt")]
    assert environment.find(Options(ray=True), checkout) == python
    assert environment.find(Options(), checkout) == VirtualEnvironment(checkout).python
    (checkout / LOCKS / "ray.txt").write_text("ray==2.60.1\n")
    assert VirtualEnvironment(checkout, ray=True).state() is State.OUTDATED
    assert VirtualEnvironment(checkout).state() is State.FINISHED


def test_the_cpu_build_that_pip_would_keep_is_taken_out_for_cuda(checkout, installs):
    environment.finish(Options(), checkout)
    site = VirtualEnvironment(checkout).folder / "lib/python3/site-packages"
    (site / f"torch-{environment.TORCH}+cpu.dist-info").mkdir(parents=True)
    installs.clear()
    environment.finish(Options(cuda=True), checkout)
    assert "uninstall" in installs[0]
    assert str(checkout / LOCKS / "cuda.txt") in installs[1]


def test_it_outlives_an_install_that_was_cut_short(checkout, installs, breaks):
    breaks(PACKAGES)
    with pytest.raises(SetupError):
        environment.finish(Options(numba_cuda=True), checkout)
    breaks("")
    environment.finish(Options(), checkout)
    assert VirtualEnvironment(checkout).parts == Parts("cpu", True)
    assert str(checkout / LOCKS / "compiler.txt") in installs[-3]


@pytest.mark.parametrize(
    ("platform", "options", "said"),
    [
        ("darwin", Options(cuda=True), "no CUDA on macOS"),
        ("linux", Options(cpu=True, cuda=True), "exclude each other"),
    ],
)
def test_what_cannot_be_is_refused(checkout, installs, monkeypatch, platform, options, said):
    monkeypatch.setattr(sys, "platform", platform)
    with pytest.raises(SetupError, match=said):
        environment.finish(options, checkout)
    assert installs == []


# Without a network


def test_wheels_are_installed_without_any_index(checkout, installs):
    wheels = checkout / "wheels"
    wheels.mkdir()
    (wheels / "one-1.0-py3-none-any.whl").write_bytes(b"1234")
    environment.finish(Options(wheels=wheels), checkout)
    pips = [" ".join(command) for command in installs if "pip" in command]
    assert all("--no-index" in command for command in pips)
    assert all(f"--find-links {wheels}" in command for command in pips[:2])


@pytest.mark.parametrize("name", ["empty", "absent"])
def test_a_folder_without_wheels_is_refused_before_anything_is_made(checkout, installs, name):
    (checkout / "empty").mkdir()
    with pytest.raises(SetupError, match=r"\.whl"):
        environment.finish(Options(wheels=checkout / name), checkout)
    assert installs == []
    assert not (checkout / ".venv").exists()


def test_a_wheel_that_does_not_fit_is_named_with_the_reason(tmp_path):
    lock = tmp_path / "lock.txt"
    names = ("fits", "missing", "old", "other")
    lock.write_text("".join(f"{name}==2.0 \\\n    --hash=sha256:00\n" for name in names))
    with lock.open("a") as file:
        file.write("elsewhere==1 ; sys_platform == 'nowhere' \\\n")
    for wheel in ("fits-2.0-py3-none-any", "old-1.5-py3-none-any", "other-2.0-cp27-cp27m-win32"):
        (tmp_path / f"{wheel}.whl").touch()
    command = [sys.executable, environment._WHEELHOUSE, tmp_path, "torch==9+cpu", lock]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 1
    said = [line.strip() for line in done.stdout.splitlines()]
    assert said[0].startswith("missing==2.0: ")
    assert said[1] == "old==2.0: the folder has only 1.5"
    assert said[2].startswith("other==2.0: other-2.0-cp27-cp27m-win32.whl does not fit Python 3.")
    assert said[3].startswith("torch==9+cpu: ")
    assert len(said) == 4


@pytest.mark.parametrize(
    ("system", "python", "has", "lacks", "torch"),
    [
        ("windows", "3.12", "colorama==", "pexpect==", []),
        ("linux", "3.13", "pexpect==", "colorama==", [f"torch=={environment.TORCH}+cpu"]),
        ("macos", "3.11.4", "appnope==", "colorama==", []),
    ],
)
def test_a_folder_is_filled_for_another_computer(monkeypatch, system, python, has, lacks, torch):
    """What applies is judged by the other one's markers; pip would judge by this one's."""
    asked, commands = [], []

    def pretend(command):
        if "-r" in command:
            asked.append(Path(command[-1]).read_text())
        commands.append(command)
        return subprocess.CompletedProcess(command, 0)

    monkeypatch.setattr(wheelhouse.subprocess, "run", pretend)
    assert wheelhouse.main(["wheels", "--for", system, "--python", python]) == 0
    (text,) = asked
    assert f"\n{has}" in text
    assert lacks not in text
    assert all("--hash=sha256:" in line and ";" not in line for line in text.splitlines())
    contourpy = next(line for line in text.splitlines() if line.startswith("contourpy"))
    assert contourpy.startswith("contourpy==1.3") is python.startswith("3.11")
    assert [command[-1] for command in commands[1:]] == torch


# The real thing, once


def test_a_long_install_shows_that_it_lives_and_keeps_what_was_said(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(process, "SIGN_EVERY_S", 0.05)
    log = tmp_path / "log"
    program = "import sys, time; print('said'); time.sleep(0.5); sys.exit(3)"
    command = [sys.executable, "-c", program]
    assert process.watch(command, log, lambda: "0.12 GB", tmp_path) == 3
    assert "0:00  0.12 GB" in capsys.readouterr().out
    assert log.read_text().endswith("said\n")


def test_an_install_says_which_package_it_is_at_and_how_many_are_left(tmp_path):
    site = tmp_path / "lib" / "python3.12" / "site-packages"
    said = "Collecting alpha\n  Downloading alpha-1.whl (3 MB)\n     ---- 3/3 MB"
    assert pip_progress.described(said, tmp_path) == "downloading alpha-1.whl (3 MB)"
    ignored = "Ignoring appnope: markers 'sys_platform == \"darwin\"' don't match\n"
    assert pip_progress.described(ignored + said, tmp_path, 5).startswith("package 1 of 4, down")
    said += "\nInstalling collected packages: alpha, be-ta, setuptools, gamma\n"
    said += "      Successfully uninstalled setuptools-65.5.0\n"
    assert pip_progress.described(said, tmp_path) == "0 of 4 packages are installed; now alpha"
    for name in ("Alpha-1.0", "be_ta-2"):
        (site / f"{name}.dist-info").mkdir(parents=True)
        (site / f"{name}.dist-info" / "RECORD").touch()
    (site / "setuptools-65.dist-info").mkdir()
    assert pip_progress.described(said, tmp_path) == "2 of 4 packages are installed; now setuptools"


@pytest.mark.full
def test_a_real_venv_is_made_and_found_from_the_folder_above(tmp_path, monkeypatch):
    """As of a clone called minibatch, which from above looks like a package of that name."""
    root = tmp_path / "minibatch"
    (root / "minibatch").mkdir(parents=True)
    (root / "minibatch" / "__init__.py").write_text("Request = 1\n")
    make_checkout(root, NOBODY_HAS)
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    section = text[text.index("[build-system]") : text.index("[project]")]
    section += text[
        text.index("[tool.setuptools]\n") : text.index("[tool.setuptools.packages.find]")
    ]
    (root / "pyproject.toml").write_text(section + (root / "pyproject.toml").read_text())
    lock = (ROOT / LOCKS / "cpu.txt").read_text(encoding="utf-8")
    setuptools = lock[lock.index("setuptools==") :].split("\nsix==")[0]
    (root / LOCKS / "cpu.txt").write_text(setuptools + "\n")
    monkeypatch.setattr(environment, "torch_of_its_own_index", lambda *any: ("", ""))
    monkeypatch.setattr(computer, "gpu_name", lambda: None)
    python = environment.finish(Options(), root)
    assert environment.find(Options(), root) == python
    command = [str(python), "-c", "import minibatch; print(minibatch.Request)"]
    variables = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, env=variables)
    assert done.stdout == "1\n", done.stderr

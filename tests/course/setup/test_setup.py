"""From a fresh clone to an environment: bounds, .venv and its stamp, refusals, commands, edits."""

import ast
import json
import os
import shutil
import subprocess
import sys
import tomllib
import urllib.request
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from packaging.specifiers import SpecifierSet
from packaging.version import Version as PackagingVersion

from minibatch.course.setup import ROOT, cli, environment, findings, launch, machine, process
from minibatch.course.setup.bounds import (
    Requirement,
    Version,
    project_requirements,
    satisfies,
    unmet,
)
from minibatch.course.setup.environment import Options, SetupError, VirtualEnvironment

NOBODY_HAS = "surely-not-installed>=1"


@pytest.fixture
def checkout(tmp_path):
    """A folder that set-up takes for a clone whose needs this environment does not meet."""
    return make_checkout(tmp_path, NOBODY_HAS)


@pytest.fixture
def installs(monkeypatch):
    """Stands for `venv` and pip: the commands that set-up would have run, in order."""
    commands = []

    def pretend(command, cwd=None):
        commands.append([str(part) for part in command])
        if "venv" in commands[-1]:
            python = VirtualEnvironment(Path(command[-1]).parent).python
            python.parent.mkdir(parents=True)
            python.touch()
        return 0

    monkeypatch.setattr(environment, "run", pretend)
    monkeypatch.setattr(VirtualEnvironment, "works", lambda venv: venv.python.exists())
    monkeypatch.setattr(environment, "_answers", lambda address: False)
    monkeypatch.setattr(machine, "gpu_name", lambda: None)
    monkeypatch.setattr(machine, "looks", lambda install_bytes, folder: [])
    return commands


def make_checkout(folder, *dependencies):
    extras = f'cuda = ["{NOBODY_HAS}"]'
    text = f"[project]\ndependencies = {json.dumps(dependencies)}\n"
    text += f"[project.optional-dependencies]\n{extras}\n"
    (folder / "pyproject.toml").write_text(text)
    (folder / "requirements.txt").write_text("# nothing\n")
    return folder


# Versions and bounds


versions = st.from_regex(
    r"[0-3](\.[0-3]){0,2}((a|b|rc)[0-2])?(\.post[0-2])?(\.dev[0-2])?", fullmatch=True
)
releases = st.from_regex(r"[0-3](\.[0-3]){1,2}", fullmatch=True)


@settings(deadline=None)
@given(versions, versions)
def test_versions_compare_as_packaging_compares_them(one, other):
    ours = (Version.parse(one) > Version.parse(other), Version.parse(one) == Version.parse(other))
    theirs = (
        PackagingVersion(one) > PackagingVersion(other),
        PackagingVersion(one) == PackagingVersion(other),
    )
    assert ours == theirs


@settings(deadline=None)
@given(versions, st.sampled_from(["==", "!=", ">=", "<=", "<", "~="]), releases)
def test_bounds_hold_where_packaging_says_they_hold(version, operator, limit):
    bound = operator + limit
    assert satisfies(version, bound) == SpecifierSet(bound).contains(version, prereleases=True)


@pytest.mark.parametrize(
    ("version", "bounds", "within"),
    [
        ("2.13.0+cpu", ">=2.11,<2.14", True),
        ("2.13.0+cpu", "==2.13.0", True),
        ("2.9.1", ">=2.11,<2.14", False),
        ("2.14.0rc1", ">=2.11,<2.14", False),
        ("6.0.0.dev0", ">=5.17,<6", False),
        ("3.0.16", "~=3.0.17", False),
        ("3.0.18", "~=3.0.17", True),
        ("3.1", "~=3.0.17", False),
        ("1", "", True),
    ],
)
def test_a_version_is_judged_by_its_bounds(version, bounds, within):
    assert satisfies(version, bounds) is within


@pytest.mark.parametrize("bound", [">1", "==2.*", "===1", "2"])
def test_a_bound_of_a_kind_we_do_not_use_is_refused_by_name(bound):
    with pytest.raises(ValueError, match="cannot read"):
        satisfies("1.0", bound)


def test_a_marker_decides_where_a_requirement_applies(monkeypatch):
    requirement = Requirement.parse("numba-cuda[cu13]>=0.30,<0.31; sys_platform != 'darwin'")
    assert (requirement.name, requirement.bounds) == ("numba-cuda", ">=0.30,<0.31")
    monkeypatch.setattr(sys, "platform", "darwin")
    assert not requirement.applies
    monkeypatch.setattr(sys, "platform", "linux")
    assert requirement.applies


def test_a_marker_we_do_not_use_is_refused_by_name():
    with pytest.raises(ValueError, match="extra == 'test'"):
        _ = Requirement("pytest", "", "extra == 'test'").applies


def test_what_is_not_installed_is_unmet_and_what_is_installed_within_bounds_is_not(tmp_path):
    root = make_checkout(tmp_path, NOBODY_HAS, "pytest>=8", "packaging<1")
    assert [wanted.name for wanted in unmet(root)] == ["surely-not-installed", "packaging"]


# The project's own lists


def pins():
    lines = (ROOT / "requirements.txt").read_text().splitlines()
    return dict(line.split("==") for line in lines if "==" in line)


def test_every_dependency_is_pinned_within_its_bounds():
    for wanted in project_requirements(ROOT):
        assert wanted.name in pins()
        assert satisfies(pins()[wanted.name], wanted.bounds), wanted


def test_the_bounds_also_admit_the_older_pair_of_torch_and_transformers():
    bounds = {wanted.name: wanted.bounds for wanted in project_requirements(ROOT)}
    assert satisfies("2.11.0", bounds["torch"])
    assert satisfies("5.17.0", bounds["transformers"])


def test_every_package_is_named_for_installation():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert project["tool"]["setuptools"]["packages"]["find"]["include"] == ["minibatch*"]
    folders = {file.parent for file in (ROOT / "minibatch").rglob("*.py")}
    assert [folder for folder in folders if not (folder / "__init__.py").is_file()] == []


def test_our_settings_for_jupyterlab_are_named_for_installation():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    patterns = project["tool"]["setuptools"]["package-data"]["minibatch.course.setup"]
    named = {file for pattern in patterns for file in Path(launch.__file__).parent.glob(pattern)}
    assert named == set(launch.LAB_DEFAULTS.rglob("*.json"))
    assert named


# Which Python runs the course


def test_an_environment_within_the_bounds_runs_the_course_itself(tmp_path):
    root = make_checkout(tmp_path, "pytest>=8")
    assert environment.find(Options(), root) == Path(sys.executable)
    assert not (root / ".venv").exists()


def test_asked_for_a_venv_a_sufficient_environment_is_passed_over(tmp_path):
    root = make_checkout(tmp_path, "pytest>=8")
    assert environment.find(Options(venv=True), root) is None


def test_without_a_venv_there_is_no_python_yet(checkout):
    assert environment.find(Options(), checkout) is None


def test_after_an_install_the_venv_is_found(checkout, installs):
    python = environment.finish(Options(), checkout)
    assert environment.find(Options(), checkout) == python
    kinds = ["venv" if "venv" in command else "pip" for command in installs]
    assert kinds == ["venv", "pip"]


def test_the_stamp_is_written_after_pip_has_ended(checkout, installs, monkeypatch):
    seen, pretend = [], environment.run

    def watch(command, cwd=None):
        seen.append(VirtualEnvironment(checkout).is_finished())
        return pretend(command, cwd)

    monkeypatch.setattr(environment, "run", watch)
    environment.finish(Options(), checkout)
    environment.finish(Options(), checkout)
    assert seen == [False, False, False]
    assert VirtualEnvironment(checkout).is_finished()


def test_an_install_that_was_cut_short_is_finished_in_the_same_venv(
    checkout, installs, monkeypatch
):
    pretend = environment.run
    monkeypatch.setattr(environment, "run", lambda c, cwd=None: int("pip" in c) or pretend(c, cwd))
    with pytest.raises(SetupError, match="pip stopped with status 1"):
        environment.finish(Options(), checkout)
    assert environment.find(Options(), checkout) is None

    monkeypatch.setattr(environment, "run", pretend)
    installs.clear()
    environment.finish(Options(), checkout)
    assert ["venv" in command for command in installs] == [False]
    assert environment.find(Options(), checkout) is not None


@pytest.mark.parametrize("change", ["requirements", "moved", "python gone", "stamp gone"])
def test_a_venv_made_from_something_else_is_not_finished(checkout, installs, change):
    environment.finish(Options(), checkout)
    venv = VirtualEnvironment(checkout)
    if change == "requirements":
        (checkout / "requirements.txt").write_text("tqdm==4.70.1\n")
    elif change == "moved":
        venv = VirtualEnvironment(checkout.rename(checkout.with_name("elsewhere")))
    elif change == "python gone":
        venv.python.unlink()
    else:
        venv.stamp.unlink()
    assert environment.find(Options(), venv.root) is None


def test_line_endings_of_a_windows_clone_do_not_make_the_stamp_stale(checkout, installs):
    environment.finish(Options(), checkout)
    (checkout / "requirements.txt").write_bytes(b"# nothing\r\n")
    assert VirtualEnvironment(checkout).is_finished()


def test_a_venv_without_the_extra_that_is_asked_for_is_not_finished(checkout, installs):
    environment.finish(Options(), checkout)
    assert environment.find(Options(numba_cuda=True), checkout) is None
    environment.finish(Options(numba_cuda=True), checkout)
    assert installs[-1][-2:] == ["-e", ".[cuda]"]
    assert environment.find(Options(), checkout) is not None


def test_an_extra_once_installed_is_kept_when_the_requirements_change(checkout, installs):
    environment.finish(Options(numba_cuda=True), checkout)
    (checkout / "requirements.txt").write_text("# newer\n")
    environment.finish(Options(), checkout)
    assert VirtualEnvironment(checkout).extras == ("cuda",)


def test_an_extra_outlives_an_install_that_was_cut_short(checkout, installs, monkeypatch):
    pretend = environment.run
    monkeypatch.setattr(environment, "run", lambda c, cwd=None: int("pip" in c) or pretend(c, cwd))
    with pytest.raises(SetupError):
        environment.finish(Options(numba_cuda=True), checkout)
    monkeypatch.setattr(environment, "run", pretend)
    environment.finish(Options(), checkout)
    assert installs[-1][-2:] == ["-e", ".[cuda]"]


def test_a_gpu_that_answers_brings_the_cuda_compiler(checkout, installs, monkeypatch):
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(machine, "gpu_name", lambda: "NVIDIA H200")
    environment.finish(Options(), checkout)
    assert installs[-1][-2:] == ["-e", ".[cuda]"]


def test_a_venv_that_somebody_else_made_is_not_deleted(checkout, installs):
    treasure = checkout / ".venv" / "treasure"
    treasure.parent.mkdir()
    treasure.touch()
    with pytest.raises(SetupError, match="Rename or remove it"):
        environment.finish(Options(), checkout)
    assert treasure.exists()
    assert installs == []


def test_inside_a_venv_filled_by_hand_nothing_is_installed(tmp_path, monkeypatch):
    root = make_checkout(tmp_path, "pytest>=8")
    (root / ".venv").mkdir()
    monkeypatch.setattr(sys, "prefix", str(root / ".venv"))
    assert environment.find(Options(), root) == Path(sys.executable)


def test_inside_a_venv_that_set_up_left_unfinished_the_install_goes_on(tmp_path, monkeypatch):
    root = make_checkout(tmp_path, "pytest>=8")
    (root / ".venv").mkdir()
    VirtualEnvironment(root).mark_unfinished()
    monkeypatch.setattr(sys, "prefix", str(root / ".venv"))
    assert environment.find(Options(), root) is None


# Where packages come from


@pytest.mark.parametrize(
    ("platform", "gpu", "answers", "cpu_index"),
    [
        ("linux", None, True, True),
        ("linux", None, False, False),
        ("linux", "NVIDIA H200", True, False),
        ("darwin", None, True, False),
        ("win32", None, True, False),
    ],
)
def test_cpu_builds_are_chosen_on_linux_without_a_gpu_if_their_index_answers(
    checkout, installs, monkeypatch, platform, gpu, answers, cpu_index
):
    monkeypatch.setattr(sys, "platform", platform)
    monkeypatch.setattr(machine, "gpu_name", lambda: gpu)
    monkeypatch.setattr(environment, "_answers", lambda address: answers)
    environment.finish(Options(), checkout)
    assert (environment.CPU_INDEX in installs[-1]) == cpu_index


def test_cpu_builds_that_were_asked_for_and_cannot_be_had_are_an_error(checkout, installs):
    with pytest.raises(SetupError, match="does not answer"):
        environment.finish(Options(cpu=True), checkout)
    assert installs == []


def test_an_index_that_refuses_the_connection_does_not_answer(monkeypatch):
    def refuse(*arguments, **keywords):
        raise ConnectionRefusedError

    monkeypatch.setattr(urllib.request, "urlopen", refuse)
    assert not environment._answers(environment.CPU_INDEX)


def test_wheels_are_installed_without_any_index(checkout, installs):
    wheels = checkout / "wheels"
    wheels.mkdir()
    (wheels / "one-1.0-py3-none-any.whl").write_bytes(b"1234")
    environment.finish(Options(wheels=wheels), checkout)
    assert f"--no-index --find-links {wheels}" in " ".join(installs[-1])


@pytest.mark.parametrize("name", ["empty", "absent"])
def test_a_folder_without_wheels_is_refused_before_anything_is_made(checkout, installs, name):
    (checkout / "empty").mkdir()
    with pytest.raises(SetupError, match=r"no \.whl file"):
        environment.finish(Options(wheels=checkout / name), checkout)
    assert installs == []
    assert not (checkout / ".venv").exists()


# What is refused before a download


def test_a_failed_look_stops_set_up_before_anything_is_made(
    checkout, installs, monkeypatch, capsys
):
    full = findings.failure("disk", "0.1 GB free, 3.0 GB needed: 2.9 GB missing", "Free some.")
    monkeypatch.setattr(machine, "looks", lambda install_bytes, folder: [full])
    with pytest.raises(SetupError, match="Nothing was downloaded"):
        environment.finish(Options(), checkout)
    assert installs == []
    assert not (checkout / ".venv").exists()
    assert "2.9 GB missing" in capsys.readouterr().out


def test_a_full_disk_is_refused_with_the_numbers(tmp_path, monkeypatch):
    usage = shutil.disk_usage(tmp_path)._replace(free=1_200_000_000)
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: usage)
    found = machine.disk(tmp_path, machine.CPU_INSTALL_BYTES)
    assert found.status is findings.Status.FAILURE
    assert found.seen == f"1.2 GB free at {tmp_path}, 3.0 GB needed: 1.8 GB missing"


@pytest.mark.parametrize(
    ("system", "processor", "named"),
    [("Darwin", "x86_64", "Intel Macs"), ("Windows", "ARM64", "Windows on ARM")],
)
def test_a_computer_without_wheels_is_refused_by_name(monkeypatch, system, processor, named):
    monkeypatch.setattr(machine.platform, "system", lambda: system)
    monkeypatch.setattr(machine.platform, "machine", lambda: processor)
    found = machine.system()
    assert found.status is findings.Status.FAILURE
    assert named in found.seen


def test_alpine_linux_is_refused(monkeypatch):
    monkeypatch.setattr(machine.platform, "system", lambda: "Linux")
    monkeypatch.setattr(machine.sysconfig, "get_config_var", lambda name: "x86_64-pc-linux-musl")
    assert machine.system().status is findings.Status.FAILURE


@pytest.mark.parametrize("version", [(3, 10, 13), (3, 15, 0)])
def test_a_python_without_wheels_is_refused_with_the_range(monkeypatch, version):
    monkeypatch.setattr(sys, "version_info", version)
    found = machine.python()
    assert found.status is findings.Status.FAILURE
    assert "3.11 to 3.14" in found.seen


def test_a_debian_python_without_ensurepip_is_told_which_package_to_install(monkeypatch):
    monkeypatch.setattr(machine, "find_spec", lambda name: None if name == "ensurepip" else True)
    found = machine.venv_module()
    assert found.status is findings.Status.FAILURE
    assert "-venv" in found.to_do


def test_this_computer_passes():
    assert not findings.failed([machine.system(), machine.python(), machine.disk(ROOT, 0)])


# Commands


def python_m_minibatch(*arguments, python=sys.executable):
    command = [python, "-m", "minibatch", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True)


def test_an_unknown_command_is_an_error_that_guesses(capsys):
    assert cli.main(["docter"]) == 2
    assert 'no command "docter". Did you mean "doctor"?' in capsys.readouterr().err


@pytest.mark.parametrize("argv", [[], ["--help"], ["help"]])
def test_help_names_every_command(argv, capsys):
    assert cli.main(argv) == 0
    out = capsys.readouterr().out
    assert all(f"  {name} " in out for name in cli.COMMANDS)


@pytest.mark.parametrize("name", ["lab", "test", "bench", "setup"])
def test_help_installs_nothing(name, capsys, monkeypatch):
    monkeypatch.setattr(environment, "find", lambda options: None)
    monkeypatch.setattr(environment, "finish", lambda options: pytest.fail("installs"))
    assert cli.main([name, "--help"]) == 0
    assert "--wheels DIR" in capsys.readouterr().out


def test_a_commands_own_arguments_pass_through_beside_those_of_set_up(monkeypatch):
    got = []
    monkeypatch.setattr(environment, "find", lambda options: Path(sys.executable))
    monkeypatch.setattr(launch, "test", lambda arguments: got.append(arguments) or 5)
    assert cli.main(["test", "-k", "continuous", "--wheels", "w", "-x", "tests/test_a.py"]) == 5
    assert got == [["-k", "continuous", "-x", "tests/test_a.py"]]


def test_the_same_command_is_repeated_in_the_environment_that_was_made(monkeypatch):
    commands = []
    monkeypatch.setattr(environment, "find", lambda options: None)
    monkeypatch.setattr(environment, "finish", lambda options: Path("/there/python"))
    monkeypatch.setattr(cli, "run", lambda command: commands.append(command) or 3)
    assert cli.main(["lab", "--cpu", "--no-browser"]) == 3
    assert commands == [[Path("/there/python"), "-m", "minibatch", "lab", "--cpu", "--no-browser"]]


def test_the_doctor_installs_nothing(monkeypatch):
    monkeypatch.setattr(environment, "find", lambda options: None)
    monkeypatch.setattr(environment, "finish", lambda options: pytest.fail("installs"))
    monkeypatch.setattr("minibatch.course.setup.doctor.CHECKS", [])
    assert cli.main(["doctor"]) == 0


def test_a_set_up_that_cannot_go_on_says_why_and_fails(monkeypatch, capsys):
    def refuse(options):
        raise SetupError("no room")

    monkeypatch.setattr(environment, "find", lambda options: None)
    monkeypatch.setattr(environment, "finish", refuse)
    assert cli.main(["test"]) == 1
    assert "no room" in capsys.readouterr().err


def test_jupyterlab_has_the_checkout_as_root_and_opens_the_first_lesson(tmp_path):
    (tmp_path / "lessons").mkdir()
    for name in ("04_first_light.ipynb", "00_setup.ipynb", "README.md"):
        (tmp_path / "lessons" / name).touch()
    options = launch.lab_options(tmp_path)
    assert f"--ServerApp.root_dir={tmp_path}" in options
    assert "--LabApp.default_url=/lab/tree/lessons/00_setup.ipynb" in options


def test_jupyterlab_opens_the_readme_while_there_is_no_lesson(tmp_path):
    assert launch.first_page(tmp_path) == "README.md"


@pytest.mark.parametrize(
    ("plugin", "setting", "ours"),
    [
        ("@jupyterlab/apputils-extension:notification", "fetchNews", "false"),
        ("@jupyterlab/apputils-extension:notification", "checkForUpdates", False),
        ("@jupyter-widgets/jupyterlab-manager:plugin", "saveState", True),
    ],
)
def test_jupyterlab_knows_our_settings_and_takes_them_for_its_defaults(
    plugin, setting, ours, monkeypatch, tmp_path
):
    from jupyter_core.paths import jupyter_path
    from jupyterlab.commands import get_app_dir
    from jupyterlab_server.settings_utils import get_settings

    def default():
        schemas = Path(get_app_dir(), "schemas")
        extensions = jupyter_path("labextensions")
        result, _ = get_settings(tmp_path, schemas, tmp_path, plugin, labextensions_path=extensions)
        return result["schema"]["properties"][setting]["default"]

    monkeypatch.setenv("JUPYTER_CONFIG_DIR", str(tmp_path))
    monkeypatch.delenv("JUPYTER_CONFIG_PATH", raising=False)
    assert type(default()) is type(ours)
    assert default() != ours
    monkeypatch.setenv("JUPYTER_CONFIG_PATH", launch.lab_variables()["JUPYTER_CONFIG_PATH"])
    assert default() == ours


@pytest.mark.parametrize("times", [1, 2])
def test_the_learners_own_jupyter_folders_stay_in_front(times, monkeypatch):
    monkeypatch.setenv("JUPYTER_CONFIG_PATH", os.pathsep.join(["/theirs", "/school"]))
    for _ in range(times):
        for name, value in launch.lab_variables().items():
            monkeypatch.setenv(name, value)
    folders = os.environ["JUPYTER_CONFIG_PATH"].split(os.pathsep)
    assert folders == ["/theirs", "/school", str(launch.LAB_DEFAULTS)]


def test_lab_starts_jupyterlab_with_our_settings(monkeypatch):
    started = []
    monkeypatch.setenv("JUPYTER_CONFIG_PATH", "")
    monkeypatch.setattr(
        launch, "run", lambda command: started.append(os.environ["JUPYTER_CONFIG_PATH"]) or 0
    )
    assert launch.lab(["--no-browser"]) == 0
    assert started == [str(launch.LAB_DEFAULTS)]


@pytest.mark.parametrize(
    ("program", "status"),
    [
        ("raise SystemExit(7)", 7),
        ("import os, signal; os.kill(os.getpid(), signal.SIGTERM)", 128 + 15),
    ],
)
def test_a_program_that_was_started_hands_back_its_status(program, status):
    if os.name == "nt" and status > 128:
        pytest.skip("Windows has no signals")
    assert process.run([sys.executable, "-c", program]) == status


def test_a_program_that_was_started_finds_the_package_from_any_folder(tmp_path):
    assert process.run([sys.executable, "-c", "import minibatch.course.setup"], cwd=tmp_path) == 0


def test_pythonhome_does_not_reach_the_venv(monkeypatch):
    monkeypatch.setenv("PYTHONHOME", "/elsewhere")
    assert "PYTHONHOME" not in process.environment_variables()


# Old Pythons, and what an import costs


@pytest.mark.parametrize("name", ["__main__.py", "__init__.py"])
def test_what_an_old_python_reads_first_it_can_read(name):
    ast.parse((ROOT / "minibatch" / name).read_text(), feature_version=(3, 7))


def test_an_old_python_is_turned_away_in_a_sentence(tmp_path):
    program = (
        "import runpy, sys; sys.version_info = (3, 8, 2); "
        f"runpy.run_path({str(ROOT / 'minibatch' / '__main__.py')!r}, run_name='__main__')"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr.startswith("minibatch needs Python 3.11 or newer, and this is Python 3.8")
    assert "Traceback" not in done.stderr


def test_importing_the_package_imports_nothing_heavy():
    program = (
        "import sys; before = set(sys.modules); import minibatch; "
        "print(*{name.partition('.')[0] for name in set(sys.modules) - before})"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
    )
    imported = set(done.stdout.split())
    assert "minibatch" in imported
    assert imported - {"minibatch"} <= sys.stdlib_module_names
    assert len(imported) < 30


def test_set_up_imports_the_standard_library_only():
    program = (
        "import sys; from minibatch.course.setup import cli, doctor, launch; "
        "from minibatch.course.changes import edits, update; "
        "print(*{name.partition('.')[0] for name in sys.modules})"
    )
    # -S: not even site-packages can be seen, as on a fresh machine.
    done = subprocess.run(
        [sys.executable, "-S", "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert set(done.stdout.split()) - {"minibatch"} <= sys.stdlib_module_names | {"__main__"}


# The real thing, once


@pytest.mark.full
def test_a_real_venv_is_made_filled_and_stamped(tmp_path, monkeypatch, capfd):
    root = make_checkout(tmp_path, NOBODY_HAS)
    monkeypatch.setattr(environment, "_answers", lambda address: False)
    monkeypatch.setattr(machine, "gpu_name", lambda: None)
    python = environment.finish(Options(), root)
    assert VirtualEnvironment(root).works()
    assert environment.find(Options(), root) == python
    assert "[2/2] Installing requirements.txt" in capfd.readouterr().out


@pytest.mark.parametrize(("cores", "threads"), [(1, "1"), (2, "1"), (8, "7")])
def test_lab_leaves_one_core_to_the_browser(monkeypatch, cores, threads):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.setattr("os.sched_getaffinity", lambda _: range(2 * cores), raising=False)
    monkeypatch.setattr("psutil.cpu_count", lambda logical=True: cores * (1 + logical))
    assert launch.lab_variables()["OMP_NUM_THREADS"] == threads


def test_lab_keeps_the_number_of_threads_that_a_learner_has_set(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    assert launch.lab_variables()["OMP_NUM_THREADS"] == "3"


def test_the_doctors_line_for_a_teachers_table():
    from minibatch.course.setup.doctor import class_line

    fine = [findings.fine("system", "Linux"), findings.fine("Python", "3.12.1")]
    trouble = findings.failure("memory", "2 GB free", "Close something.")
    *_, verdict, told, system, python, versions, gpu = class_line(fine).split("\t")
    assert (verdict, told, system, python) == ("ready", "nothing", "Linux", "3.12.1")
    assert (versions, gpu) == ("?", "?")
    assert class_line([*fine, trouble]).split("\t")[1:3] == ["NOT READY", "memory: 2 GB free"]

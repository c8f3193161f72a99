"""From a fresh clone to an environment: bounds, .venv and its stamp, refusals, commands, edits."""

import ast
import logging
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from packaging.specifiers import SpecifierSet
from packaging.version import Version as PackagingVersion

from minibatch.course.setup import ROOT, cli, computer, environment, findings, lab_and_test, process
from minibatch.course.setup.bounds import (
    Requirement,
    Version,
    project_requirements,
    satisfies,
    unmet,
)
from minibatch.course.setup.findings import SetupError
from minibatch.course.setup.one_address import OneAddress

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
    with pytest.raises(ValueError, match=re.escape(bound.strip("<>="))):
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
    dependencies = '["surely-not-installed>=1", "pytest>=8", "packaging<1"]'
    (tmp_path / "pyproject.toml").write_text(f"[project]\ndependencies = {dependencies}\n")
    assert [wanted.name for wanted in unmet(tmp_path)] == ["surely-not-installed", "packaging"]


# The project's own lists


def pins():
    lines = (ROOT / "requirements.txt").read_text().splitlines()
    return dict(line.split("==") for line in lines if "==" in line)


def test_every_dependency_is_pinned_within_its_bounds():
    for wanted in project_requirements(ROOT):
        assert wanted.name in pins()
        assert satisfies(pins()[wanted.name], wanted.bounds), wanted


BROUGHT_ALONG = {  # the package imports these, and declares the package that cannot do without them
    "IPython": "ipykernel",
    "jupyter_client": "ipykernel",
    "jupyter_core": "ipykernel",
    "zmq": "ipykernel",
    "jupyter_server": "jupyterlab",
    "nbconvert": "jupyterlab",
    "pygments": "jupyterlab",
    "markupsafe": "jinja2",
    "llvmlite": "numba",
    "huggingface_hub": "transformers",
    "cuda": "numba-cuda",  # skipped where there is no GPU
}
ONLY_IF_INSTALLED = {"flashinfer"}  # `bench kernels` measures it beside ours


def imported():
    """The packages that the code of minibatch imports, by the name in the import."""
    names = set()
    for file in (ROOT / "minibatch").rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                names |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and not node.level:
                names.add(node.module.partition(".")[0])
    return names - sys.stdlib_module_names - {"minibatch", "pip"} - ONLY_IF_INSTALLED


def test_every_package_that_is_imported_is_declared():
    """A package that only another one brings along disappears with that one's next version."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    lists = [project["dependencies"], *project["optional-dependencies"].values()]
    declared = {Requirement.parse(text).name for texts in lists for text in texts}
    names = {name: BROUGHT_ALONG.get(name, name.replace("_", "-")) for name in imported()}
    assert {name for name, package in names.items() if package not in declared} == set()
    assert BROUGHT_ALONG.keys() <= names.keys()


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
    named = {
        file for pattern in patterns for file in Path(lab_and_test.__file__).parent.glob(pattern)
    }
    assert named == {each for each in lab_and_test.LAB_DEFAULTS.rglob("*") if each.is_file()}
    assert named


# What is refused before a download


def test_a_full_disk_is_refused_with_the_numbers(tmp_path, monkeypatch):
    usage = shutil.disk_usage(tmp_path)._replace(free=1_200_000_000)
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: usage)
    found = computer.disk(tmp_path, computer.CPU_INSTALL_BYTES)
    assert found.status is findings.Status.FAILURE
    assert re.findall(r"[0-9.]+ GB", found.seen) == ["1.2 GB", "1.7 GB", "0.5 GB"]


@pytest.mark.parametrize(
    ("system", "processor", "named"),
    [("Darwin", "x86_64", "Intel Macs"), ("Windows", "ARM64", "Windows on ARM")],
)
def test_a_computer_without_wheels_is_refused_by_name(monkeypatch, system, processor, named):
    monkeypatch.setattr(computer.platform, "system", lambda: system)
    monkeypatch.setattr(computer.platform, "machine", lambda: processor)
    found = computer.system()
    assert found.status is findings.Status.FAILURE
    assert named in found.seen


@pytest.mark.parametrize(
    ("release", "status"),
    [("13.6", findings.Status.FAILURE), ("14.0", findings.Status.OK), ("26.1", findings.Status.OK)],
)
def test_a_mac_that_is_too_old_for_pytorch_is_refused(monkeypatch, release, status):
    monkeypatch.setattr(computer.platform, "system", lambda: "Darwin")
    monkeypatch.setattr(computer.platform, "machine", lambda: "arm64")
    monkeypatch.setattr(computer.platform, "mac_ver", lambda: (release, ("", "", ""), "arm64"))
    assert computer.system().status is status


def test_alpine_linux_is_refused(monkeypatch):
    monkeypatch.setattr(computer.platform, "system", lambda: "Linux")
    monkeypatch.setattr(computer.sysconfig, "get_config_var", lambda name: "x86_64-pc-linux-musl")
    assert computer.system().status is findings.Status.FAILURE


@pytest.mark.parametrize("version", [(3, 10, 13), (3, 15, 0)])
def test_a_python_without_wheels_is_refused_with_the_range(monkeypatch, version):
    monkeypatch.setattr(sys, "version_info", version)
    found = computer.python()
    assert found.status is findings.Status.FAILURE
    assert "3.11 to 3.14" in found.seen


def test_a_debian_python_without_ensurepip_is_told_which_package_to_install(monkeypatch):
    monkeypatch.setattr(computer, "find_spec", lambda name: None if name == "ensurepip" else True)
    found = computer.venv_module()
    assert found.status is findings.Status.FAILURE
    assert "-venv" in found.to_do


def test_this_computer_passes():
    assert not findings.failed([computer.system(), computer.python(), computer.disk(ROOT, 0)])


# Commands


def python_m_minibatch(*arguments, python=sys.executable):
    command = [python, "-m", "minibatch", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True)


def test_the_version_is_told_with_commit_and_folder(capsys):
    assert cli.main(["--version"]) == 0
    assert re.match(r"minibatch \d+\.\d+\.\d+ .*in /", capsys.readouterr().out)


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
    monkeypatch.setattr(lab_and_test, "test", lambda arguments: got.append(arguments) or 5)
    assert cli.main(["test", "-k", "continuous", "--wheels", "w", "-x", "tests/test_a.py"]) == 5
    assert got == [["-k", "continuous", "-x", "tests/test_a.py"]]


def test_the_same_command_is_repeated_in_the_environment_that_was_made(monkeypatch):
    commands = []
    monkeypatch.setattr(environment, "find", lambda options: None)
    monkeypatch.setattr(environment, "finish", lambda options: Path("/there/python"))
    monkeypatch.setattr(cli, "run_ours", lambda command: commands.append(command) or 3)
    assert cli.main(["lab", "--cpu", "--no-browser"]) == 3
    assert commands == [[Path("/there/python"), "-m", "minibatch", "lab", "--cpu", "--no-browser"]]


@pytest.mark.parametrize("flags", [["--replicas", "2"], ["--replicas=2"], ["--port", "0"]])
def test_only_replicas_take_the_environment_that_has_ray(monkeypatch, flags):
    asked = []
    monkeypatch.setattr(environment, "find", lambda options: asked.append(options) or Path("p"))
    monkeypatch.setattr(cli, "run_ours", lambda command: 0)
    assert cli.main(["serve", *flags]) == 0
    assert [options.ray for options in asked] == [flags[0].startswith("--replicas")]


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
    options = lab_and_test.lab_options(tmp_path)
    assert f"--ServerApp.root_dir={tmp_path}" in options
    assert "--LabApp.default_url=/lab/workspaces/minibatch/tree/lessons/00_setup.ipynb" in options


@pytest.mark.parametrize(
    ("given", "ours"),
    [
        (["--ip", "0.0.0.0"], "--ServerApp.ip"),
        (["--ip=0.0.0.0"], "--ServerApp.ip"),
        (["--notebook-dir=/tmp"], "--ServerApp.root_dir"),
        (["--ServerApp.root_dir=/tmp"], "--ServerApp.root_dir"),
        (["--LabApp.default_url=/lab"], "--LabApp.default_url"),
        (["--LabApp.news_url=x"], "--LabApp.news_url"),
    ],
)
def test_an_option_of_the_learners_takes_the_place_of_ours(tmp_path, given, ours):
    options = lab_and_test.lab_options(tmp_path)
    left = lab_and_test.without_those_given(options, given)
    assert [option for option in options if option not in left] == [
        option for option in options if option.startswith(ours)
    ]
    assert lab_and_test.without_those_given(options, ["--no-browser"]) == options


def test_jupyterlab_says_one_address():
    said = "\n\n  To access the server, open this file in a browser:\n    file:///a.html\n"
    said += "Or copy:\n    http://localhost:8888/lab?token=1\n    http://127.0.0.1:8888/lab?token=1"
    record = logging.LogRecord("ServerApp", 50, "", 0, said, (), None)
    assert OneAddress().filter(record)
    assert record.getMessage().startswith(
        "JupyterLab is open at http://localhost:8888/lab?token=1\n"
    )
    other = logging.LogRecord("ServerApp", 50, "", 0, "The port 8888 is %s", ("taken",), None)
    assert OneAddress().filter(other)
    assert other.getMessage() == "The port 8888 is taken"


def test_jupyterlab_opens_the_readme_while_there_is_no_lesson(tmp_path):
    assert lab_and_test.first_page(tmp_path) == "README.md"


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
    monkeypatch.setenv("JUPYTER_CONFIG_PATH", lab_and_test.lab_variables()["JUPYTER_CONFIG_PATH"])
    assert default() == ours


@pytest.mark.parametrize("times", [1, 2])
def test_the_learners_own_jupyter_folders_stay_in_front(times, monkeypatch):
    monkeypatch.setenv("JUPYTER_CONFIG_PATH", os.pathsep.join(["/theirs", "/school"]))
    for _ in range(times):
        for name, value in lab_and_test.lab_variables().items():
            monkeypatch.setenv(name, value)
    folders = os.environ["JUPYTER_CONFIG_PATH"].split(os.pathsep)
    assert folders == ["/theirs", "/school", str(lab_and_test.LAB_DEFAULTS)]


def test_lab_starts_jupyterlab_with_our_settings(monkeypatch):
    started = []
    monkeypatch.setenv("JUPYTER_CONFIG_PATH", "")
    monkeypatch.setattr(lab_and_test, "set_filter", lambda root: None)
    monkeypatch.setattr(
        lab_and_test,
        "run_ours",
        lambda command: started.append(os.environ["JUPYTER_CONFIG_PATH"]) or 0,
    )
    assert lab_and_test.lab(["--no-browser"]) == 0
    assert started == [str(lab_and_test.LAB_DEFAULTS)]


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


def test_the_readme_names_the_repository_once_and_no_other_page_does():
    """The owner of a fork changes one line."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    outside = re.sub("<!--.*?-->", "", text)
    assert re.findall(r"OWNER/\S+", outside) == ["OWNER/minibatch"]
    first_screen = outside.partition("\n## ")[0]
    assert "    git clone https://github.com/" in first_screen
    assert first_screen.count("    python -m minibatch ") == 2
    for path in (ROOT / "lessons").glob("*.md"):
        assert "github.com/OWNER" not in path.read_text(encoding="utf-8")


def test_the_readme_fits_a_sitting_and_names_commands_that_exist():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 120
    pages = [text, *(p.read_text(encoding="utf-8") for p in (ROOT / "lessons").glob("*.md"))]
    named = set(re.findall(r"python3? -m minibatch ([a-z]+)", " ".join(pages)))
    assert named <= set(cli.COMMANDS)
    assert {"lab", "test", "grade", "update", "certificate"} <= named


def test_the_sizes_of_an_install_are_one_story():
    pages = (ROOT / "README.md", ROOT / "lessons" / "SETTING_UP.md")
    text = " ".join(" ".join(path.read_text(encoding="utf-8") for path in pages).split())
    for size in (environment.CPU_SIZES, "3 GB to download and about 6.2 GB on the disk"):
        assert text.count(size) == 1
    needed = (computer.CPU_INSTALL_BYTES, computer.CUDA_INSTALL_BYTES)
    for size, told in zip(needed, (environment.CPU_SIZES, environment.CUDA_SIZES), strict=True):
        assert f"{size / computer.GB:g} GB on the disk" in told


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


def test_a_broken_file_that_every_command_reads_is_named_in_a_sentence(tmp_path):
    without = shutil.ignore_patterns("wayfarer", "__pycache__", "*.html")
    shutil.copytree(ROOT / "minibatch", tmp_path / "minibatch", ignore=without)
    broken = tmp_path / "minibatch" / "memory" / "available.py"
    broken.write_text("a = 1\ndef b(:\n")
    command = [sys.executable, "-m", "minibatch", "doctor"]
    variables = {**os.environ, "PYTHONPATH": str(tmp_path)}
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, env=variables)
    assert done.returncode == 1
    assert done.stderr.startswith(f"{broken}, line 2: ")
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
        "import sys; from minibatch.course.setup import cli, doctor, lab_and_test; "
        "from minibatch.course.changes import learner_edits, update; "
        "print(*{name.partition('.')[0] for name in sys.modules})"
    )
    # -S: not even site-packages can be seen, as on a fresh machine.
    done = subprocess.run(
        [sys.executable, "-S", "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert set(done.stdout.split()) - {"minibatch"} <= sys.stdlib_module_names | {"__main__"}


@pytest.mark.parametrize(("cores", "threads"), [(1, "1"), (2, "1"), (8, "7")])
def test_lab_leaves_one_core_to_the_browser(monkeypatch, cores, threads):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.setattr("os.sched_getaffinity", lambda _: range(2 * cores), raising=False)
    monkeypatch.setattr("psutil.cpu_count", lambda logical=True: cores * (1 + logical))
    assert lab_and_test.lab_variables()["OMP_NUM_THREADS"] == threads


def test_lab_keeps_the_number_of_threads_that_a_learner_has_set(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    assert lab_and_test.lab_variables()["OMP_NUM_THREADS"] == "3"


def test_the_doctors_line_for_a_teachers_table():
    from minibatch.course.setup.doctor import class_line

    fine = [findings.fine("system", "Linux"), findings.fine("Python", "3.12.1")]
    trouble = findings.failure("memory", "2 GB free", "Close something.")
    *_, verdict, told, system, python, versions, gpu = class_line(fine).split("\t")
    assert (verdict, told, system, python) == ("ready", "nothing", "Linux", "3.12.1")
    assert (versions, gpu) == ("?", "?")
    assert class_line([*fine, trouble]).split("\t")[1:3] == ["NOT READY", "memory: 2 GB free"]

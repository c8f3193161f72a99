"""`python -m minibatch doctor`: each finding, its word, its remedy, and the exit status."""

import json
import socket
import subprocess
import sys

import pytest

from minibatch.course.setup import (
    ROOT,
    cli,
    computer,
    course_files,
    doctor,
    environment,
    model_files,
)
from minibatch.course.setup.bounds import Requirement
from minibatch.course.setup.findings import Finding, Status, failed, failure, fine, show, warning
from minibatch.course.setup.virtual_environment import State, VirtualEnvironment

WELL = fine("sky", "blue")
CLOUDY = warning("sky", "grey", "Take an umbrella.")
MARKED = "a = 1\n<<<<<<< Updated upstream\nb = 1\n=======\nb = 2\n>>>>>>> Stashed changes\n"
FALLEN = failure("sky", "fallen", "Look for another planet.")


def says(finding):
    def check_sky():
        yield finding

    return check_sky


# Findings


@pytest.mark.parametrize(
    ("finding", "symbol", "word"),
    [(WELL, "✓", "OK"), (CLOUDY, "!", "warning"), (FALLEN, "✗", "failure")],
)
def test_a_line_has_a_symbol_a_word_and_what_to_do(finding, symbol, word, capsys):
    show(finding)
    first, *more = capsys.readouterr().out.splitlines()
    assert first.split()[:3] == [symbol, word, "sky"]
    assert [line.strip() for line in more] == ([finding.to_do] if finding.to_do else [])


def test_a_console_that_cannot_print_a_tick_gets_plain_letters(monkeypatch, tmp_path):
    with open(tmp_path / "console", "w+", encoding="cp437") as console:
        monkeypatch.setattr(sys, "stdout", console)
        show(FALLEN)
        console.seek(0)
        assert console.read().split()[0] == "x"


def test_what_is_not_fine_must_say_what_to_do():
    with pytest.raises(ValueError, match="says what to do"):
        Finding("sky", Status.WARNING, "grey")
    with pytest.raises(ValueError, match="says what to do"):
        Finding("sky", Status.OK, "blue", "Enjoy.")


@pytest.mark.parametrize(
    ("findings", "status", "closing"),
    [
        ([WELL], 0, "All is well."),
        ([WELL, CLOUDY], 0, "The course can run. Warnings: 1."),
        ([CLOUDY, FALLEN], 1, "To fix first: 1. Warnings: 1."),
    ],
)
def test_the_doctor_fails_on_failures_only(findings, status, closing, monkeypatch, capsys):
    monkeypatch.setattr(doctor, "CHECKS", [says(finding) for finding in findings])
    assert doctor.main([]) == status
    assert capsys.readouterr().out.splitlines()[-1] == closing


def test_json_holds_the_same_findings(monkeypatch, capsys):
    monkeypatch.setattr(doctor, "CHECKS", [says(WELL), says(FALLEN)])
    assert doctor.main(["--json"]) == 1
    assert json.loads(capsys.readouterr().out) == [
        {"topic": "sky", "status": "OK", "seen": "blue", "to_do": ""},
        {"topic": "sky", "status": "failure", "seen": "fallen", "to_do": FALLEN.to_do},
    ]


def test_a_check_that_breaks_is_a_finding_and_the_rest_goes_on():
    def check_ground():
        raise ZeroDivisionError("no ground")
        yield

    broken, after = doctor.examine([check_ground, says(WELL)])
    assert (broken.topic, broken.status) == ("ground", Status.FAILURE)
    assert "ZeroDivisionError: no ground" in broken.seen
    assert after is WELL


# Where it runs


def test_without_any_package_the_doctor_still_works():
    program = (
        "import sys; sys.path.insert(0, sys.argv[1]); "
        "from minibatch.course.setup import doctor; sys.exit(doctor.main(['--json']))"
    )
    command = [sys.executable, "-I", "-S", "-c", program, str(ROOT)]
    done = subprocess.run(command, capture_output=True, text=True)
    found = {entry["topic"]: entry for entry in json.loads(done.stdout)}
    assert {"system", "Python", "memory", "disk", "GPU", "model"} <= set(found)
    assert found["environment"]["status"] == "failure"
    assert "python -m minibatch setup" in found["environment"]["to_do"]


def test_here_nothing_but_the_environment_itself_can_be_wrong():
    tolerated = {"model", "memory"}  # a checkout in the making, a machine under load
    found = list(doctor.examine(doctor.CHECKS))
    assert not failed(finding for finding in found if finding.topic not in tolerated)
    assert {"system", "Python", "disk", "PyTorch", "GPU", "kernel", "widgets"} <= {
        finding.topic for finding in found
    }


def test_a_package_outside_its_bounds_is_named_with_both(monkeypatch):
    monkeypatch.setattr(doctor, "unmet", lambda root: [Requirement("pytest", ">=99")])
    found = next(doctor.check_environment())
    assert (found.topic, found.status) == ("pytest", Status.WARNING)
    assert found.seen.endswith("the course needs >=99")
    assert "pip install -r requirements.txt" in found.to_do


def test_metadata_that_a_build_left_in_the_checkout_is_no_installation(monkeypatch, tmp_path):
    left = tmp_path / "minibatch.egg-info"
    left.mkdir()
    (left / "PKG-INFO").write_text("Metadata-Version: 2.4\nName: minibatch\nVersion: 0.1.0\n")
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    monkeypatch.setattr(doctor, "is_installed", lambda: True)
    (found,) = doctor.check_package()
    assert found.status is Status.OK
    monkeypatch.setattr(doctor, "ROOT", tmp_path)
    (found,) = doctor.check_package()
    assert found.status is Status.WARNING
    assert f"pip install -e {tmp_path}" in found.to_do


@pytest.mark.parametrize(
    ("state", "said"),
    [
        (State.INTERRUPTED, "interrupted"),
        (State.OUTDATED, "asks for other versions"),
        (State.MOVED, "moved or renamed"),
    ],
)
def test_what_is_amiss_with_venv_is_three_different_things(monkeypatch, state, said):
    monkeypatch.setattr(VirtualEnvironment, "state", lambda venv: state)
    monkeypatch.setattr(doctor, "unmet", lambda root: [])
    _, found = doctor.check_environment()
    assert (found.topic, found.status) == (".venv", Status.WARNING)
    assert said in found.seen


@pytest.mark.parametrize("state", [State.INTERRUPTED, State.OUTDATED])
def test_after_an_interrupted_set_up_the_doctor_does_not_say_that_the_course_can_run(
    monkeypatch, capsys, state
):
    monkeypatch.setattr(VirtualEnvironment, "state", lambda venv: state)
    monkeypatch.setattr(doctor, "unmet", lambda root: doctor.project_requirements(root))
    monkeypatch.setattr(doctor, "CHECKS", [doctor.check_environment])
    assert doctor.main([]) == 1
    *_, line, to_do, last = capsys.readouterr().out.splitlines()
    assert str(state) in line
    assert to_do.strip() == "Finish it: python -m minibatch setup"
    assert last == "To fix first: 1. Warnings: 0."
    doctor.main(["--class"])
    assert "NOT READY" in capsys.readouterr().out


# The course's files


@pytest.fixture
def course(tmp_path):
    (tmp_path / "minibatch").mkdir()
    (tmp_path / "lessons").mkdir()
    (tmp_path / "minibatch/engine.py").write_text("a = 1\n")
    (tmp_path / "lessons/00.ipynb").write_text('{"cells": []}')
    return tmp_path


def test_files_that_can_be_read_are_fine(course):
    (found,) = course_files.check_sources(course)
    assert found.status is Status.OK


@pytest.mark.parametrize(
    ("path", "text", "said"),
    [
        ("minibatch/engine.py", "a = 1\ndef b(:\n", "minibatch/engine.py, line 2: SyntaxError"),
        ("minibatch/engine.py", MARKED, "minibatch/engine.py, line 2: it has a conflict mark"),
        ("lessons/00.ipynb", MARKED, "lessons/00.ipynb, line 2: it has a conflict mark"),
        ("lessons/00.ipynb", "{", "lessons/00.ipynb: cannot be read as a notebook"),
    ],
)
def test_a_broken_file_is_named_with_its_line(course, path, text, said):
    (course / path).write_text(text)
    (found,) = course_files.check_sources(course)
    assert found.status is Status.FAILURE
    assert said in found.seen
    assert path in found.to_do


def test_grade_names_a_broken_file_of_the_engine_before_it_judges(course, monkeypatch, capsys):
    (course / "minibatch/engine.py").write_text(MARKED)
    (course / "requirements.txt").touch()
    monkeypatch.setattr(cli, "ROOT", course)
    assert cli.main(["grade", "4.1"]) == 1
    said = capsys.readouterr().err
    assert "minibatch/engine.py, line 2" in said
    assert "restore" in said


def test_folders_that_cannot_be_written_are_told(course, monkeypatch):
    monkeypatch.setattr("os.access", lambda path, mode: False)
    folder, home = course_files.check_folders(course)
    assert (folder.status, home.status) == (Status.WARNING, Status.FAILURE)


def test_a_taken_port_is_mentioned():
    with socket.create_server(("127.0.0.1", 0)) as server:
        number = server.getsockname()[1]
        assert "is in use" in computer.port(number).seen
    assert "is free" in computer.port(number).seen


# PyTorch and the GPU


def torch_check(monkeypatch, *, gpu, output, status=0):
    done = subprocess.CompletedProcess([], status, stdout=output, stderr=output)
    monkeypatch.setattr(doctor.subprocess, "run", lambda *arguments, **keywords: done)
    monkeypatch.setattr(computer, "gpu_name", lambda: gpu)
    monkeypatch.setattr(doctor, "unmet", lambda root, extras=(): [])
    return list(doctor.check_torch())


@pytest.mark.parametrize(
    ("gpu", "output", "status", "said"),
    [
        (None, "None False\n", Status.OK, "no NVIDIA GPU"),
        ("H200", "13.0 True\n", Status.OK, "H200, driver of an unknown version, CUDA 13.0"),
        ("H200", "None False\n", Status.WARNING, "built for the CPU"),
        ("H200", "13.0 False\n", Status.WARNING, "cannot use it"),
    ],
)
def test_the_gpu_and_the_build_of_pytorch_are_held_together(monkeypatch, gpu, output, status, said):
    _, found = torch_check(monkeypatch, gpu=gpu, output=output)
    assert found.status is status
    assert said in found.seen


def test_a_gpu_without_the_kernels_compiler_is_a_warning(monkeypatch):
    missing = [Requirement("numba-cuda", ">=0.30,<0.31")]
    torch_check(monkeypatch, gpu="H200", output="13.0 True")
    monkeypatch.setattr(doctor, "unmet", lambda root, extras=(): missing if extras else [])
    *_, found = doctor.check_torch()
    assert found.status is Status.WARNING
    assert "--numba-cuda" in found.to_do


def test_the_kernels_compiler_is_not_missed_where_another_package_is(monkeypatch):
    other, compiler = Requirement("jupyterlab", ">=4"), Requirement("numba-cuda", ">=99")
    torch_check(monkeypatch, gpu="H200", output="13.0 True")
    monkeypatch.setattr(doctor, "unmet", lambda root, extras=(): [other])
    assert list(doctor.check_torch())[-1].status is Status.OK
    monkeypatch.setattr(
        doctor, "unmet", lambda root, extras=(): [other, compiler][: 1 + len(extras)]
    )
    assert "numba-cuda" in list(doctor.check_torch())[-1].seen


@pytest.mark.parametrize("sees", ["True", "False"])  # PyTorch for CUDA 12 sees it
def test_a_driver_older_than_cuda_13_is_a_warning_with_both_numbers(monkeypatch, sees):
    monkeypatch.setattr(computer, "driver_version", lambda: "550.54.14")
    _, found = torch_check(monkeypatch, gpu="H200", output=f"13.0 {sees}")
    assert found.status is Status.WARNING
    assert "550.54.14" in found.seen
    assert "580" in found.to_do


def test_the_mend_of_a_gpu_that_is_not_used_is_pinned_and_names_the_index(monkeypatch):
    _, found = torch_check(monkeypatch, gpu="H200", output="None False\n")
    assert "setup --cuda" in found.to_do
    assert f"torch=={environment.TORCH} --index-url {environment.CUDA_INDEX}" in found.to_do


def test_a_pytorch_that_does_not_start_is_a_failure_with_its_last_words(monkeypatch):
    output = "Traceback\nOSError: [WinError 126] c10.dll"
    (found,) = torch_check(monkeypatch, gpu=None, output=output, status=1)
    assert found.status is Status.FAILURE
    assert "OSError: [WinError 126] c10.dll" in found.seen


# Jupyter


def test_a_kernel_of_another_python_is_a_failure_that_names_it(monkeypatch, tmp_path):
    spec = tmp_path / "kernels" / "python3"
    spec.mkdir(parents=True)
    argv = ["/opt/other/bin/python", "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    text = json.dumps({"argv": argv, "display_name": "Python 3", "language": "python"})
    (spec / "kernel.json").write_text(text)
    monkeypatch.setenv("JUPYTER_PATH", str(tmp_path))
    (found,) = doctor.check_kernel()
    assert found.status is Status.FAILURE
    assert "/opt/other/bin/python" in found.seen
    assert str(spec) in found.seen


def test_widgets_of_two_ages_are_a_failure(monkeypatch):
    asked = ["comm>=0.1.3", "jupyterlab_widgets~=99.0.1", 'pytest; extra == "test"']
    monkeypatch.setattr(doctor.metadata, "requires", lambda name: asked)
    (found,) = doctor.check_widgets()
    assert found.status is Status.FAILURE
    assert "jupyterlab_widgets ~=99.0.1" in found.seen


def test_widgets_without_their_half_in_the_browser_are_a_failure(monkeypatch, tmp_path):
    monkeypatch.setattr(doctor, "_labextensions", lambda: [str(tmp_path)])
    (found,) = doctor.check_widgets()
    assert found.status is Status.FAILURE
    assert "jupyterlab-manager" in found.seen


# The model


@pytest.fixture
def weights(monkeypatch, tmp_path):
    """A folder with a model of one tensor of eight bytes."""
    header = json.dumps({"w": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}}).encode()
    content = len(header).to_bytes(8, "little") + header + bytes(8)
    (tmp_path / "model.safetensors").write_bytes(content)
    for name in ("config.json", "tokenizer.json"):
        (tmp_path / name).write_text("{}")
    monkeypatch.setattr(model_files, "WEIGHTS", tmp_path)
    monkeypatch.delenv("MINIBATCH_MODEL", raising=False)
    return tmp_path


def test_a_whole_model_is_fine(weights):
    assert [finding.status for finding in model_files.check_model()] == [Status.OK]


@pytest.mark.parametrize("damage", ["cut", "pointer", "empty"])
def test_a_damaged_model_is_a_failure(weights, damage):
    file = weights / "model.safetensors"
    whole = file.read_bytes()
    pointer = b"version https://git-lfs.github.com/spec/v1\n"
    file.write_bytes({"cut": whole[:-3], "pointer": pointer, "empty": b""}[damage])
    (found,) = model_files.check_model()
    assert found.status is Status.FAILURE
    assert "damaged" in found.seen


def test_a_missing_file_of_the_model_is_named(weights):
    (weights / "tokenizer.json").unlink()
    (found,) = model_files.check_model()
    assert found.status is Status.FAILURE
    assert "tokenizer.json is missing" in found.seen


def test_another_model_in_the_environment_is_mentioned(weights, monkeypatch):
    monkeypatch.setenv("MINIBATCH_MODEL", "HuggingFaceTB/SmolLM2-135M-Instruct")
    said, _ = model_files.check_model()
    assert said.status is Status.WARNING
    assert "SmolLM2" in said.seen


# The machine


def test_little_memory_is_a_warning_with_the_number(monkeypatch):
    monkeypatch.setattr(computer, "available_bytes", lambda: 700_000_000)
    found = computer.memory()
    assert found.status is Status.WARNING
    assert "0.7 GB free" in found.seen


def test_an_nvidia_smi_that_fails_is_no_gpu(monkeypatch):
    def fail(*arguments, **keywords):
        raise subprocess.CalledProcessError(9, "nvidia-smi")

    monkeypatch.setattr(computer.shutil, "which", lambda name: "/usr/bin/nvidia-smi")
    monkeypatch.setattr(computer.subprocess, "run", fail)
    assert computer.gpu_name() is None


# The processors


@pytest.mark.parametrize(
    ("cores", "load", "status"),
    [(2, 0.3, Status.OK), (2, 1.9, Status.WARNING), (8, 3.0, Status.OK), (1, 1.0, Status.OK)],
)
def test_busy_cores_are_a_warning_with_a_way_out(monkeypatch, cores, load, status):
    monkeypatch.setattr(computer.os, "cpu_count", lambda: cores)
    monkeypatch.setattr(computer.os, "getloadavg", lambda: (load, 9.0, 9.0), raising=False)
    found = computer.processors()
    assert found.status is status
    assert ("OMP_NUM_THREADS=1" in (found.to_do or "")) == (status is Status.WARNING)


def test_where_no_load_can_be_read_the_cores_are_counted(monkeypatch):
    monkeypatch.delattr(computer.os, "getloadavg", raising=False)
    assert computer.processors().status is Status.OK

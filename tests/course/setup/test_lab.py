"""`python -m minibatch lab` from its first second: Ctrl-C, log messages, a lesson just opened."""

import json
import logging
import os
import shutil
import signal
import subprocess
import sys

import pytest

from minibatch.course.changes.lesson_file import METADATA
from minibatch.course.setup import ROOT, lab_and_test, process
from minibatch.course.setup.one_address import OneAddress

ON_IMPORT = "import signal\nsignal.raise_signal(signal.SIGINT)\n"
IN_THE_LOOP = """\
import asyncio, signal


async def serve():
    signal.raise_signal(signal.SIGINT)
    await asyncio.sleep(5)


def main():
    loop = asyncio.new_event_loop()
    try:
        loop.run_until_complete(serve())
    except KeyboardInterrupt:  # as jupyter_server does
        print("closed")
"""


def start(tmp_path, labapp):
    package = tmp_path / "jupyterlab"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "labapp.py").write_text(labapp)
    path = os.pathsep.join([str(tmp_path), str(ROOT)])
    return subprocess.run(
        [sys.executable, "-m", "minibatch.course.setup.start_jupyterlab"],
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, "PYTHONPATH": path},
    )


def test_ctrl_c_before_jupyterlab_is_open_ends_in_a_sentence(tmp_path):
    done = start(tmp_path, ON_IMPORT)
    assert done.returncode == 130
    assert "Traceback" not in done.stderr
    assert done.stderr.strip() == "Stopped before JupyterLab was open."


def test_ctrl_c_while_it_serves_is_left_to_jupyterlab(tmp_path):
    done = start(tmp_path, IN_THE_LOOP)
    assert (done.returncode, done.stdout.strip()) == (0, "closed")


def test_ctrl_c_while_a_command_is_imported_ends_in_a_sentence(tmp_path):
    without = shutil.ignore_patterns("wayfarer", "__pycache__", "*.html")
    shutil.copytree(ROOT / "minibatch", tmp_path / "minibatch", ignore=without)
    (tmp_path / "minibatch" / "course" / "setup" / "cli.py").write_text("raise KeyboardInterrupt\n")
    command = [sys.executable, "-m", "minibatch", "lab"]
    variables = {**os.environ, "PYTHONPATH": str(tmp_path)}
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, env=variables)
    assert done.returncode == 130
    assert "Traceback" not in done.stderr


@pytest.mark.skipif(os.name == "nt", reason="Windows cannot hold a signal")
def test_ctrl_c_while_python_starts_waits_for_our_program(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(
        "import os, signal\n"
        "os.kill(os.getpid(), signal.SIGINT)\n"
        "from minibatch.course.setup.process import accept_interrupts\n"
        "signal.signal(signal.SIGINT, lambda number, frame: os._exit(7))\n"
        "accept_interrupts()\n"
    )
    assert process.run_ours([sys.executable, program]) == 7
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, [])


def test_kernels_are_reached_through_encrypted_sockets():
    from jupyter_client.kernelspec import KernelSpecManager

    assert (
        "curve" in KernelSpecManager().get_kernel_spec("python3").metadata["supported_encryption"]
    )
    assert "--KernelManager.transport_encryption=auto" in lab_and_test.lab_options(ROOT)


def test_a_message_about_pings_that_are_set_right_is_not_logged():
    said = "The websocket_ping_timeout (90000) cannot be longer than the websocket_ping_interval"
    record = logging.LogRecord("tornado.general", logging.WARNING, "", 0, said, (), None)
    assert not OneAddress().filter(record)
    other = logging.LogRecord("tornado.general", logging.WARNING, "", 0, "403 GET", (), None)
    assert OneAddress().filter(other)


@pytest.fixture
def contents(tmp_path):
    from minibatch.course.setup.lab_contents import LabContents

    return LabContents(root_dir=str(tmp_path))


def notebook(outputs=(), metadata=METADATA):
    cell = {"cell_type": "code", "id": "a", "source": "1", "execution_count": None}
    cell |= {"metadata": {"trusted": True}, "outputs": list(outputs)}
    return json.dumps({"cells": [cell], "metadata": metadata, "nbformat": 4, "nbformat_minor": 5})


HTML = {"output_type": "display_data", "metadata": {}, "data": {"text/html": "<script></script>"}}


async def opened(contents, tmp_path, text):
    (tmp_path / "a.ipynb").write_text(text)
    return (await contents.get("a.ipynb"))["content"]


def test_a_lesson_that_is_only_opened_has_what_its_kernel_will_write(contents, tmp_path):
    import asyncio

    from ipykernel.ipkernel import IPythonKernel

    lesson = asyncio.run(opened(contents, tmp_path, notebook()))
    assert lesson["metadata"]["language_info"] == IPythonKernel.language_info
    assert lesson["metadata"]["kernelspec"] == METADATA["kernelspec"]
    theirs = {"language_info": {"name": "julia"}}
    lesson = asyncio.run(opened(contents, tmp_path, notebook(metadata=theirs)))
    assert lesson["metadata"] == theirs


def test_only_a_notebook_without_outputs_is_trusted_without_a_signature(contents, tmp_path, caplog):
    import asyncio

    contents.log = logging.getLogger("contents")
    lesson = asyncio.run(opened(contents, tmp_path, notebook()))
    assert lesson["cells"][0]["metadata"]["trusted"]
    assert "not trusted" not in caplog.text
    lesson = asyncio.run(opened(contents, tmp_path, notebook([HTML])))
    assert not lesson["cells"][0]["metadata"]["trusted"]
    assert "not trusted" in caplog.text

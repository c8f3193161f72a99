"""`live()` in a made-up .venv-ray: what it starts, and what it says."""

import sys

import pytest

from minibatch.ray_serve import live

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the made-up Python is a script")


def made_up(root, body):
    """A .venv-ray whose Python is a shell script; its last argument is the file to write."""
    python = root / ".venv-ray" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text(f"#!/bin/sh\n{body}\n")
    python.chmod(0o755)


def test_the_recording_comes_from_the_environment_with_ray(tmp_path):
    made_up(tmp_path, """[ "$2" = minibatch.ray_serve.record ] && echo '{"ray": "9"}' > "$3" """)
    assert live(tmp_path) == {"ray": "9"}


def test_without_ray_it_says_how_to_install_it(tmp_path, capsys):
    assert live(tmp_path) is None
    assert "python -m minibatch setup --ray" in capsys.readouterr().out


def test_a_failed_recording_shows_its_last_words(tmp_path):
    made_up(tmp_path, "echo no memory >&2; exit 1")
    with pytest.raises(RuntimeError, match="no memory"):
        live(tmp_path)

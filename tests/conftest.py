"""What every test shares: no network, repeatable examples, and a model that is quick to run."""

import os
import secrets
import subprocess
from pathlib import Path

os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["TRANSFORMERS_OFFLINE"] = "1"

import pytest  # noqa: E402
from hypothesis import HealthCheck, settings  # noqa: E402

pytest_plugins = ["minibatch.course.judging.plugin"]  # the graders' side of pytest

# The short suite has the same examples always. The whole suite looks for new ones: in CI a commit
# has its own, so that one that fails fails again; elsewhere, and in a release, each run has others.
# A run that fails names its seed; what is printed with a failing example draws that one again.
common = {
    "deadline": None,
    "suppress_health_check": [HealthCheck.too_slow, HealthCheck.data_too_large],
}
settings.register_profile("short", derandomize=True, max_examples=40, **common)
fresh = {**common, "derandomize": False, "print_blob": True}
settings.register_profile("all", max_examples=150, **fresh)
settings.register_profile("release", max_examples=1000, **fresh)
settings.load_profile("short")


def seed_of_this_run(profile):
    """In CI the commit's hash for the whole suite; otherwise another seed every time."""
    if profile == "all" and os.environ.get("CI"):
        command = ["git", "rev-parse", "HEAD"]
        done = subprocess.run(command, cwd=Path(__file__).parent, capture_output=True, text=True)
        if done.returncode == 0:  # not in a checkout without git
            return int(done.stdout, 16)
    return secrets.randbits(64)


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config):
    """Before hypothesis reads its options; processes of pytest-xdist get the same seed. Graders run
    without hypothesis, and have no such options."""
    option = config.option
    profile = getattr(option, "hypothesis_profile", None)
    if profile in ("all", "release") and option.hypothesis_seed is None:
        option.hypothesis_seed = str(seed_of_this_run(profile))


def pytest_terminal_summary(terminalreporter, exitstatus, config):
    seed = getattr(config.option, "hypothesis_seed", None)
    if exitstatus and seed is not None:
        terminalreporter.write_line(f"again: --hypothesis-seed={seed}")


@pytest.fixture(scope="session")
def seed_of_run(request):
    """What tests draw from that shall see something new: `--hypothesis-seed`, if there is one."""
    option = request.config.option
    given = option.hypothesis_seed
    return str(seed_of_this_run(option.hypothesis_profile)) if given is None else given


def pytest_collection_modifyitems(items):
    marked = [item for item in items if item.get_closest_marker("gpu")]
    if not marked:
        return
    import torch

    if not torch.cuda.is_available():
        for item in marked:
            item.add_marker(pytest.mark.skip(reason="needs an NVIDIA GPU; torch sees none"))


@pytest.fixture(scope="session")
def tiny_model():
    """A random Llama of 2 layers, 4 query heads on 2 KV heads, 128 words, context 256."""
    from tiny import make_tiny_model

    return make_tiny_model()


@pytest.fixture(scope="session")
def long_tiny_model():
    """The same, with a context of 2,048 tokens."""
    from tiny import make_tiny_model

    return make_tiny_model(max_position_embeddings=2048)


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    """A running JupyterLab on a copy of the lessons, as `python -m minibatch lab` starts it."""
    from chromium import running_lab

    with running_lab(tmp_path_factory.mktemp("jupyter")) as lab:
        yield lab


@pytest.fixture(scope="module")
def browser():
    """A Chromium; tests are skipped where there is none."""
    from chromium import running_browser

    with running_browser() as chromium:
        yield chromium


@pytest.fixture
def page(browser, lab):
    """An empty page of that browser, let in by that JupyterLab."""
    from chromium import open_page

    with open_page(lab, browser) as page:
        yield page

"""What every test shares: no network, repeatable examples, and a model that is quick to run."""

import os

os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["TRANSFORMERS_OFFLINE"] = "1"

import pytest  # noqa: E402
from hypothesis import HealthCheck, settings  # noqa: E402

pytest_plugins = ["minibatch.course.judging.plugin"]  # the graders' side of pytest

# A suite that fails must fail again; only a release looks for new examples.
common = {
    "deadline": None,
    "suppress_health_check": [HealthCheck.too_slow, HealthCheck.data_too_large],
}
settings.register_profile("short", derandomize=True, max_examples=40, **common)
settings.register_profile("all", derandomize=True, max_examples=150, **common)
settings.register_profile("release", max_examples=1000, **common)
settings.load_profile("short")


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

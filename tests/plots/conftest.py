"""Every figure that a test of this folder makes can be read."""

import pytest
from legible import complaints, watched


@pytest.fixture(autouse=True)
def every_figure_is_legible():
    """No text leaves a figure's frame or lies on another text."""
    with watched() as figures:
        yield
    found = [line for figure in figures for line in complaints(figure)]
    assert not found, "\n".join(found)

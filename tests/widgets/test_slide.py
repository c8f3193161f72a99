"""A figure follows its slider, and the slider has a name."""

import minibatch as mb
from minibatch.plots.picture import Picture


def drawn(number):
    figure = Picture(figsize=(1, 1))
    figure.alt = f"number {number}"
    return figure


def test_a_figure_is_drawn_anew_as_its_slider_moves():
    slide = mb.widgets.Slide(drawn, "your limit, ms", 0, 60)
    assert 'alt="number 0"' in slide.view.value
    slide.slider.value = 12
    assert 'alt="number 12"' in slide.view.value
    assert slide.still == slide.view.value


def test_its_slider_has_a_name_for_those_who_do_not_see_it():
    slide = mb.widgets.Slide(drawn, "your limit, ms", 0, 60)
    assert "your limit, ms" in slide.children[0].value
    assert "minibatch-slide" in slide.children[0].value

"""A figure follows its slider."""

import minibatch as mb
from minibatch.plots.picture import Picture


def drawn(number):
    figure = Picture(figsize=(1, 1))
    figure.alt = f"number {number}"
    return figure


def test_a_figure_is_drawn_anew_as_its_slider_moves():
    slide = mb.widgets.Slide(drawn, "your limit, ms", 0, 60)
    assert slide.slider.description == "your limit, ms"  # what a screen reader reads out
    assert 'alt="number 0"' in slide.view.value
    slide.slider.value = 12
    assert 'alt="number 12"' in slide.view.value
    assert slide.still == slide.view.value


def test_only_some_numbers_can_be_chosen():
    slide = mb.widgets.Slide(drawn, "rows", values=(1, 2, 4))
    assert 'alt="number 1"' in slide.view.value
    slide.slider.index = 2
    assert 'alt="number 4"' in slide.view.value


def test_it_begins_where_it_is_told_to():
    assert 'alt="number 4"' in mb.widgets.Slide(drawn, "rows", values=(1, 2, 4), start=4).view.value
    assert 'alt="number 7"' in mb.widgets.Slide(drawn, "ms", 0, 9, start=7).view.value

"""Pictures are drawn from records, say what they found, and bring alt text along."""

import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

import minibatch as mb
from minibatch.plots.picture import colour_of


@pytest.fixture(scope="module")
def traces(tiny_model):
    """Two short requests and a long one, on two slots, under two policies."""
    found = {}
    for scheduler in (mb.Static(2), mb.Continuous(2)):
        engine = mb.Engine(tiny_model, scheduler, attention="gather")
        requests = [
            mb.Request([2, 3, 4], max_tokens=n, ignore_eos=True, request_id=name)
            for name, n in (("A", 20), ("B", 60), ("C", 20))
        ]
        engine.run(requests)
        found[type(scheduler).__name__] = engine.trace
    return found


def bars(axis):
    """(slot, first step, steps, hatch) of every bar drawn."""
    return {
        (round(bar.get_y() + bar.get_height() / 2), bar.get_x(), bar.get_width(), bar.get_hatch())
        for bar in axis.patches
    }


def test_timeline_draws_every_span_in_its_slot(traces):
    static, continuous = mb.plots.timeline(traces).axes
    assert bars(static) == {
        *{(0, 0, 1, "/////"), (0, 1, 19, None), (0, 20, 40, "xxx")},  # A, then its padding
        *{(1, 0, 1, "/////"), (1, 1, 59, None)},  # B
        *{(0, 60, 1, "/////"), (0, 61, 19, None)},  # C
    }
    assert bars(continuous) == {
        *{(0, 0, 1, "/////"), (0, 1, 19, None)},
        *{(1, 0, 1, "/////"), (1, 1, 59, None)},
        *{(0, 20, 1, "/////"), (0, 21, 19, None)},
    }


def test_a_timeline_says_what_it_found_in_title_and_alt_text(traces):
    figure = mb.plots.timeline(traces)
    titles = [axis.get_title(loc="left") for axis in figure.axes]
    assert titles[0] == "Static: 80 steps, 29% of rows are padding, 12% of slots empty"
    assert titles[1] == "Continuous: 60 steps, no padding rows, 17% of slots empty"
    assert all(title in figure.alt for title in titles)


def test_a_picture_in_a_notebook_is_an_image_with_alt_text(traces):
    figure = mb.plots.timeline(traces["Static"])
    shown = figure._repr_html_()
    assert shown.startswith('<img src="data:image/svg+xml;base64,')
    assert 'alt="Slots by steps. 80 steps' in shown


def test_the_same_run_gives_the_same_file(traces):
    assert mb.plots.timeline(traces).to_svg() == mb.plots.timeline(traces).to_svg()


def test_a_timeline_can_be_drawn_into_ones_own_axes(traces):
    own = Figure()
    FigureCanvasAgg(own)
    axes = list(own.subplots(2, 1))
    assert mb.plots.timeline(traces, ax=axes) is own
    assert all(axis.patches for axis in axes)
    own.canvas.draw()


def test_a_request_keeps_its_colour_and_letters_share_theirs_with_their_rounds():
    assert colour_of("A") == colour_of("A2") == colour_of("A17")
    assert len({colour_of(letter) for letter in "ABCDEFGH"}) == 8
    assert colour_of("request-3") == colour_of("request-11") != colour_of("request-4")
    assert colour_of("someone").startswith("#")

"""What a run did, found in its records, and drawn as SVG without matplotlib."""

import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from dataclasses import replace

import pytest

import minibatch as mb
from minibatch.plots import svg
from minibatch.plots.spans import Span, first_difference, kinds, spans

SVG = "{http://www.w3.org/2000/svg}"


def run(policy, names=True, **answers):
    """Requests by name with the lengths of their answers, each behind a prompt of four tokens."""
    clock, trace = mb.VirtualClock(1.0), mb.Trace(names=names)
    engine = mb.Engine(mb.PretendModel(), policy, num_blocks=99, clock=clock, trace=trace)
    engine.run(mb.Request([0] * 4, max_tokens=n, request_id=name) for name, n in answers.items())
    return engine.trace.steps


STATIC = run(mb.Static(2), A=1, B=3, C=2)
CONTINUOUS = run(mb.Continuous(2), A=1, B=3, C=2)


def test_a_span_is_one_kind_of_thing_in_one_slot():
    assert sorted(spans(STATIC), key=lambda span: (span.slot, span.start)) == [
        *(Span("A", 0, "prefill", 0, 1), Span("A", 0, "padding", 1, 3)),
        *(Span("C", 0, "prefill", 3, 4), Span("C", 0, "decode", 4, 5)),
        *(Span("B", 1, "prefill", 0, 1), Span("B", 1, "decode", 1, 3)),
    ]


def test_what_each_request_did_in_a_step():
    assert kinds(STATIC[1]) == {"A": "padding", "B": "decode", "C": "waiting"}
    assert kinds(STATIC[4]) == {"C": "decode"}


def test_who_waited_is_left_out_where_no_names_were_kept():
    steps = run(mb.Static(2), names=False, A=1, B=3, C=2)
    assert kinds(steps[1]) == {"A": "padding", "B": "decode"}


def test_two_runs_part_at_the_first_step_whose_rows_differ():
    assert first_difference(STATIC, CONTINUOUS) == 1
    assert first_difference(STATIC, STATIC) is None


def test_a_run_that_goes_on_parts_where_the_other_ends():
    assert first_difference(STATIC, STATIC[:4]) == first_difference(STATIC[:4], STATIC) == 4


def test_rows_in_another_order_are_no_difference():
    turned = [replace(step, row_values=step.row_values[::-1]) for step in STATIC]
    assert turned != STATIC
    assert first_difference(STATIC, turned) is None


def drawn(markup):
    """(bars as (x, width, fill), letters) of an SVG, which must be well-formed."""
    root = ET.fromstring(markup)
    bars = [
        (float(rect.get("x")), float(rect.get("width")), rect.get("fill"))
        for rect in root.iter(f"{SVG}rect")
        if rect.get("x") is not None
    ]
    return bars, [text.text for text in root.iter(f"{SVG}text")]


def test_a_strip_has_a_bar_for_each_span_and_a_hatch_where_it_is_no_decode():
    bars, letters = drawn(svg.strip(STATIC, 2, len(STATIC), "two slots"))
    hatched = [re.sub(r"\d+", "", fill) for _, _, fill in bars if fill.startswith("url")]
    assert sorted(hatched) == ["url(#padding)"] + ["url(#prefill)"] * 3
    assert len(bars) - len(hatched) == 6
    assert (200.0, 400.0, "#fff") in bars  # A's padding, steps 1 and 2 of 5, on 1,000 units
    assert sorted(letters) == ["B", "C"]


def test_two_strips_in_a_page_do_not_share_their_hatches():
    first, second = (svg.strip(STATIC, 2, 5, "") for _ in range(2))
    assert re.findall(r'id="(.*?)"', first) != re.findall(r'id="(.*?)"', second)


def test_a_grid_has_a_letter_in_each_cell_and_a_frame_around_the_step():
    rows = {"expected": ["Pd·", "wwP"], "yours": ["Pd ", "wPd"]}
    markup = svg.grid(rows, ["A", "<b>"], first=4, marked=5, alt="they differ")
    bars, letters = drawn(markup)
    heads = [*"456", "A", "<b>"]
    assert letters == ["expected", *heads, *"Pd·wwP", "yours", *heads, *"Pd wPd"]
    frames = [(x, width) for x, width, fill in bars if fill == "none"]
    assert frames == [(svg.LEFT + svg.CELL - 2, svg.CELL + 2)] * 2
    assert "<b>" not in markup
    assert 'aria-label="they differ"' in markup


@pytest.mark.parametrize(
    "module", ["minibatch.course.judging.card", "minibatch.widgets", "minibatch.plots.svg"]
)
def test_a_verdict_and_the_controls_need_no_matplotlib(module):
    code = f"import sys, {module}; assert 'matplotlib' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_figures_stay_functions_once_their_files_are_loaded():
    from minibatch.plots.figures import timeline  # the file

    assert callable(mb.plots.timeline)
    assert mb.plots.timeline is timeline.timeline
    assert {"timeline", "waits"} <= set(dir(mb.plots))
    with pytest.raises(AttributeError, match="no attribute 'timelines'"):
        _ = mb.plots.timelines

"""What a run did, found in its records, and drawn as SVG without matplotlib."""

import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from dataclasses import replace

import pytest

import minibatch as mb
from minibatch.plots import svg
from minibatch.plots.colours import PROTAGONISTS, WASTE, WORK
from minibatch.plots.spans import Span, first_difference, kinds, pauses, spans
from minibatch.schedulers import admission, victims

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


def test_who_keeps_a_slot_and_has_no_row_waits_in_it():
    clock = mb.VirtualClock(1.0)
    engine = mb.Engine(mb.PretendModel(), mb.PrefillFirst(2), num_blocks=99, clock=clock)
    late = mb.Request([0] * 4, max_tokens=2, request_id="L", arrival_time=2.5)
    engine.run([mb.Request([0] * 4, max_tokens=5, request_id="A"), late])
    steps = engine.trace.steps
    assert list(pauses(steps, list(spans(steps)))) == [Span("A", 0, "waiting", 3, 4)]
    assert "url(#waiting" in svg.strip(steps, 2, 7, "")


def test_who_gave_way_and_came_back_did_not_wait_in_the_slot():
    parts = {"victim": victims.most_computed, "admission": admission.PromptOnly()}
    engine = mb.Engine(mb.PretendModel(), mb.Budget(3, 64, **parts), num_blocks=9)
    sizes = {"A": (16, 60), "B": (40, 40), "C": (16, 20)}
    engine.run(
        mb.Request([0] * prompt, max_tokens=output, request_id=name)
        for name, (prompt, output) in sizes.items()
    )
    steps = engine.trace.steps
    found = list(spans(steps))
    assert {span.slot for span in found if span.request_id == "B"} == {1}
    assert any(step.preempted for step in steps)
    assert not list(pauses(steps, found))


def test_another_request_of_the_same_name_did_not_wait_for_its_slot():
    engine = mb.Engine(mb.PretendModel(), mb.Continuous(2))
    engine.add(mb.Request([0] * 4, max_tokens=2, request_id="A"))
    engine.add(mb.Request([0] * 4, max_tokens=8, request_id="B"))
    for _ in range(4):
        engine.step()
    engine.run([mb.Request([0] * 4, max_tokens=2, request_id="A")])
    assert not list(pauses(engine.trace.steps, list(spans(engine.trace.steps))))


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


def bars_of(markup):
    """Of a strip: (left, width, fill, kind of hatch, text) of each bar, places in percent."""
    bars = []
    for bar in ET.fromstring(markup).iter(f"{SVG}svg"):
        if (bar.get("x") or "").endswith("%"):
            fill, *hatch = [rect.get("fill") for rect in bar.iter(f"{SVG}rect")]
            kinds = "".join(re.findall(r"#(\D+)", "".join(hatch)))
            text = "".join(text.text for text in bar.iter(f"{SVG}text"))
            left, width = (float(bar.get(name)[:-1]) for name in ("x", "width"))
            bars.append((left, width, fill, kinds, text))
    return bars


def test_a_strip_has_a_bar_for_each_span_with_letters_for_work_and_a_number_for_waste():
    bars = sorted(bars_of(svg.strip(STATIC, 2, len(STATIC), "two slots")))
    assert bars == [
        *((0, 20, WORK, "prefill", ""), (0, 20, WORK, "prefill", "")),
        *((20, 40, WORK, "", "B"), (20, 40, WASTE, "padding", "2 padding")),
        *((60, 20, WORK, "prefill", ""), (80, 20, WORK, "", "C")),
    ]


def test_whom_a_strip_is_about_has_a_colour_of_its_own():
    bars = bars_of(svg.strip(STATIC, 2, len(STATIC), "", highlight=("C", "B")))
    assert {text: fill for *_, fill, _, text in bars if len(text) == 1} == {
        "C": PROTAGONISTS[0],
        "B": PROTAGONISTS[1],
    }


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
    assert {fill for _, _, fill in bars} == {WORK, WASTE, svg.FILLS["w"], svg.FILLS[" "], "none"}
    assert "<b>" not in markup
    assert 'aria-label="they differ"' in markup


@pytest.mark.parametrize(
    "module", ["minibatch.course.judging.verdict_card", "minibatch.widgets", "minibatch.plots.svg"]
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

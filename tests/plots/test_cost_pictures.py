"""What a pass and a token cost: pictures of lessons 00 and 01."""

from dataclasses import replace

import pytest
from byte_tokenizer import make_tokenizer
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_hex
from matplotlib.patches import Rectangle

import minibatch as mb
from minibatch.bench.measure import StepTime, TokenCost
from minibatch.plots import guesses
from minibatch.plots.colours import EMPTY, PROTAGONISTS, WORK
from minibatch.simulator.cost import Roof, decode_step


def run(policy, prompt=(0, 0), **lengths):
    """Answers of these lengths, 10 ms for every pass and 1 ms for every token that goes in."""
    clock = mb.VirtualClock(lambda plan: 0.010 + 0.001 * sum(row.num_tokens for row in plan.rows))
    engine = mb.Engine(mb.PretendModel(), policy, clock=clock)
    engine.run(mb.Request(list(prompt), max_tokens=n, request_id=i) for i, n in lengths.items())
    return engine.trace


def title(axis):
    return axis.get_title(loc="left")


@pytest.fixture
def said():
    """Keeps guesses, by name, for one test."""

    def keep(**kept):
        for name, value in kept.items():
            guesses.keep(name, value)

    yield keep
    guesses.forget()


def passes(**more):
    """Anna alone, and with Ben, whose answer is the shorter one."""
    return run(mb.Continuous(2), Anna=30, **more), run(mb.Continuous(2), Anna=30, Ben=10, **more)


def test_a_pass_for_two_is_compared_with_a_pass_for_one(said):
    said(two=200)
    (axis,) = mb.plots.pass_times(*passes(), guess="two").axes
    finding = "A pass for two people takes 109 % of a pass for one person"
    assert title(axis) == f"{finding}; your guess: 200"
    alone, _, together, *_ = axis.get_lines()  # after each run's dots comes its median
    assert [round(height) for height in alone.get_ydata()] == [100] * 9  # without the prefill
    assert [round(height) for height in together.get_ydata()] == [109] * 9
    assert to_hex(together.get_color()).upper() == PROTAGONISTS[0]
    words = [text.get_text() for text in axis.texts]
    assert words == [*("Anna\n100 %", "Anna and Ben\n109 %"), "your guess: 200"]


def test_a_pass_beyond_the_picture_is_a_triangle_at_its_edge():
    few, many = passes()
    many.steps[3] = replace(many.steps[3], end_time=100)
    (axis,) = mb.plots.pass_times(few, many).axes
    (beyond,) = [line for line in axis.get_lines() if line.get_marker() == "^"]
    assert list(beyond.get_xdata()) == [many.steps[3].index + 1]


def test_passes_of_equally_many_rows_cannot_be_compared():
    trace = run(mb.Sequential(), A=5, B=5)
    with pytest.raises(ValueError, match="all passes have 1 rows"):
        mb.plots.pass_times(trace, trace)


def test_savings_are_passes_and_seconds_in_percent_of_the_first_run(said):
    said(time=25)
    traces = {
        "One after another": run(mb.Sequential(), A=10, B=10),
        "Together": run(mb.Continuous(2), A=10, B=10),
    }
    (axis,) = mb.plots.savings(traces, guess="time").axes
    assert [bar.get_width() for bar in axis.patches] == pytest.approx(
        [100, 50, 100, 122 / 222 * 100]
    )
    assert title(axis) == "Together: 50 % of the passes, 55 % of the time; your guess: 25"


def test_a_prompt_goes_in_together_and_every_token_of_the_answer_alone(tiny_model):
    engine = mb.Engine(tiny_model, mb.Sequential(), attention="gather")
    engine.run([mb.Request(list(range(2, 22)), max_tokens=9, ignore_eos=True)])
    figure = mb.plots.passes(engine.trace, make_tokenizer(), num_passes=3)
    (axis,) = figure.axes
    colours = [to_hex(cell.get_facecolor()).upper() for cell in axis.patches]
    out, prompt = PROTAGONISTS[0], 8  # its first token, a gap, its last six
    lines = [[WORK] * prompt + [out]]
    lines += [[EMPTY] * (prompt + n) + [WORK, out] for n in range(2)]
    assert colours == [colour for line in lines for colour in line]
    words = [text.get_text() for text in axis.texts]
    assert "… 13 more …" in words
    assert [word for word in words if " in, " in word] == ["20 in, 1 out", *["1 in, 1 out"] * 2]


def test_a_prompt_that_is_short_is_shown_whole(tiny_model):
    engine = mb.Engine(tiny_model, mb.Sequential(), attention="gather")
    engine.run([mb.Request([2, 3], max_tokens=2, ignore_eos=True)])
    (axis,) = mb.plots.passes(engine.trace, make_tokenizer()).axes
    assert len(axis.patches) == 3 + 4


def test_a_token_written_is_measured_in_tokens_read(said):
    said(tokens=3)
    trace = run(mb.Sequential(), prompt=[0] * 90, A=11)
    (axis,) = mb.plots.phases(trace, guess="tokens").axes
    assert [bar.get_width() for bar in axis.patches] == pytest.approx([1, 11 / (100 / 90)])
    assert title(axis) == "Generating one token takes as long as reading 10 tokens; your guess: 3"


COSTS = [TokenCost(100, 0.002, 0.010), TokenCost(1000, 0.003, 0.060)]


def test_token_costs_are_two_curves_and_their_ratio(said):
    said(curve=[(100, 5), (1000, 30)])
    (axis,) = mb.plots.token_costs(COSTS, guess="curve").axes
    uncached, cached, drawn = axis.get_lines()
    assert list(uncached.get_ydata()) == [10, 60]
    assert list(cached.get_ydata()) == [2, 3]
    assert list(drawn.get_ydata()) == [5, 30]
    assert "After 1,000 tokens, the next token costs 20 times" in title(axis)
    assert title(axis).endswith("; your curve: 30 ms")


ROOF = Roof("card", 100e9, 1e12, "made up")
TIMES = [
    StepTime(batch_size, context, 0.001, 0.001 * batch_size, 0.002)
    for context in (64, 1000)
    for batch_size in (1, 8)
]


@pytest.mark.parametrize("batch_size", [1, 8])
def test_a_step_is_an_account_under_what_it_took(tiny_model, batch_size, said):
    said(step=9.0)
    roof = Roof("card", 1e6, 1e6, "made up")  # ridge: 1 FLOP per byte, 2 rows of float32
    figure = mb.plots.cost_stack(tiny_model, roof, TIMES, batch_size, guess="step")
    (short,) = figure.axes
    account = [bar.get_height() / 1e3 for bar in short.patches[-4:]]
    cost = decode_step(tiny_model, batch_size, 64)
    reading = cost.weight_bytes / 1e6
    computing = (cost.flops - cost.attention_flops) / 1e6
    attending = max(cost.kv_bytes, cost.attention_flops) / 1e6
    assert account == pytest.approx([reading, max(0, computing - reading), attending, 0.002])
    measured = [4, 11][: 1 + (batch_size > 1)]
    assert list(short.get_lines()[0].get_ydata()) == pytest.approx(measured)
    words = "".join(text.get_text() for text in short.texts)
    whole = batch_size == 8
    assert ("ridge" in words) == whole
    assert ("your guess: 9" in title(short)) == whole  # not before it answers
    long = mb.plots.cost_stack(tiny_model, roof, TIMES, batch_size, context=1000)
    assert title(long.axes[0]).startswith("1,000 tokens of context: ")
    assert title(long.axes[0]) in long.alt


def test_a_machine_has_two_limits_and_the_times_that_follow_from_them(tiny_model):
    cost = decode_step(tiny_model, 1, 0)
    roof = Roof("card", cost.weight_bytes / 0.002, cost.flops / 0.0005, "made up")
    figure = mb.plots.machine_limits(tiny_model, roof, [ROOF])
    (axis,) = figure.axes
    words = [text.get_text() for text in axis.texts]
    assert {"all weights: 2.00 ms", "one row: 0.50 ms"} <= {*words}
    assert words[-1] == "card, by its data sheet: 100 GB/s and 1,000 GFLOP/s"
    assert title(axis) in figure.alt


def test_a_large_gpu_reads_for_longer_than_it_computes():
    figure = mb.plots.gpu_account()
    (axis,) = figure.axes
    widths = [bar.get_width() for bar in axis.patches]  # weights, K and V, arithmetic of each batch
    assert widths == pytest.approx([4.48, 0.039, 0.015, 4.48, 1.25, 0.486, 4.48, 10.02, 3.89], 0.02)
    assert "1 row: 4.5 ms. 32 rows: 5.7 ms. 256 rows: 14.5 ms." in figure.alt
    assert round(32 * (widths[0] + widths[1])) == 145  # as lesson 01 says


def test_what_a_batch_saves_is_its_weights_and_the_rest(tiny_model):
    weight_bytes = decode_step(tiny_model, 1, 64).weight_bytes
    roof = Roof("card", weight_bytes / 0.0005, 1e15, "made up")  # 0.5 ms to read the weights
    figure = mb.plots.saved_by_batching(tiny_model, roof, TIMES)
    (axis,) = figure.axes  # 8 steps of 4 ms, one of 11 ms; of each step, 0.5 ms for the weights
    bars = [bar.get_width() for bar in axis.patches if isinstance(bar, Rectangle)]
    assert bars == pytest.approx([4, 28, 0.5, 10.5], rel=0.01)
    assert "saves 21 ms" in {text.get_text() for text in axis.texts}
    assert title(axis) == "One step of 8 rows takes 11 ms instead of 32 ms"
    assert title(axis) in figure.alt


def test_a_roofline_has_its_knee_where_arithmetic_takes_over(tiny_model):
    figure = mb.plots.roofline(tiny_model, ROOF, TIMES, [Roof("other", 1e12, 1e15, "made up")])
    (axis,) = figure.axes
    roof, *_, short, _ = axis.get_lines()
    assert max(roof.get_ydata()) == 1e12
    steps = [decode_step(tiny_model, n, 64) for n in (1, 8)]
    assert list(short.get_xdata()) == [step.intensity for step in steps]
    assert list(short.get_ydata()) == pytest.approx(
        [steps[0].flops / 0.004, steps[1].flops / 0.011]
    )
    assert len(axis.child_axes) == 1


PICTURES = {
    "pass_times": lambda _, ax=None: mb.plots.pass_times(*passes(), ax=ax),
    "savings": lambda _, ax=None: mb.plots.savings(
        {"One": run(mb.Sequential(), A=3, B=3), "Two": run(mb.Static(2), A=3, B=3)}, ax=ax
    ),
    "passes": lambda _, ax=None: mb.plots.passes(
        run(mb.Sequential(), A=3), make_tokenizer(), ax=ax
    ),
    "phases": lambda _, ax=None: mb.plots.phases(run(mb.Sequential(), A=3), ax=ax),
    "token_costs": lambda _, ax=None: mb.plots.token_costs(COSTS, ax=ax),
    "roofline": lambda model, ax=None: mb.plots.roofline(model, ROOF, TIMES, [ROOF], ax=ax),
}


@pytest.mark.parametrize("draw", PICTURES.values(), ids=PICTURES)
def test_every_picture_has_a_finding_units_alt_text_and_room(tiny_model, draw):
    figure = draw(tiny_model)
    (axis,) = figure.axes
    assert len(title(axis)) > 10
    assert axis.get_xlabel()
    assert title(axis).split("\n")[0] in figure.alt
    figure.set_dpi(50)
    FigureCanvasAgg(figure).draw()
    width, height = figure.canvas.get_width_height()
    box = axis.get_tightbbox()
    assert min(box.x0, box.y0) >= -1
    assert (box.x1 <= width + 1, box.y1 <= height + 1) == (True, True)

"""Pictures of lessons 08 and 09, on runs without a model: what their titles say is counted."""

import pytest
from matplotlib.collections import PolyCollection
from matplotlib.colors import to_hex

import minibatch as mb
from minibatch.plots.colours import WASTE
from minibatch.plots.guesses import forget, keep
from minibatch.schedulers import admission, chunks, victims


def served(policy, requests, num_blocks=1_000):
    engine = mb.Engine(mb.PretendModel(), policy, num_blocks=num_blocks, clock=mb.VirtualClock(0.1))
    engine.run(requests)
    return engine.trace


def asked(name, prompt, output, **more):
    return mb.Request([0] * prompt, max_tokens=output, request_id=name, **more)


def titles(figure):
    return [axis.get_title(loc="left") for axis in figure.axes]


STREAMS = [asked(name, 4, 30) for name in "ABC"]
LATE = asked("L", 100, 2, arrival_time=1.05)


def cost(plan):
    return 0.01 * sum(row.num_tokens for row in plan.rows)


def streaming(policy):
    engine = mb.Engine(mb.PretendModel(), policy, clock=mb.VirtualClock(cost))
    engine.run([*STREAMS, mb.Request([0] * 100, max_tokens=2, arrival_time=0.5, request_id="L")])
    return engine.trace


def test_a_seismograph_says_the_longest_wait_and_how_many_chunks():
    traces = {"first": streaming(mb.PrefillFirst(4)), "small": streaming(mb.Budget(4, 13))}
    figure = mb.plots.seismograph(traces, "L")
    assert titles(figure) == [
        "first: the longest wait for a next token is 1040 ms",
        "small: the longest wait for a next token is 130 ms",
    ]
    words = [text.get_text() for axis in figure.axes for text in axis.texts]
    assert "L's 100 tokens in one step" in words
    assert "L's 100 tokens in 10 chunks" in words
    assert words.count("all 3 answers wait") == 2
    assert "the longest wait" in figure.alt


def test_a_seismograph_of_nobody_is_refused():
    with pytest.raises(ValueError, match="no request except the joining ones"):
        mb.plots.seismograph(served(mb.Budget(2), [asked("L", 9, 3)]), "L")


def test_progress_says_after_how_many_steps_the_last_one_s_prompt_is_computed():
    few = [asked("L1", 40, 2), asked("L2", 40, 2), asked("S", 4, 2)]
    traces = {
        "one by one": served(mb.Budget(4, 10), few),
        "alike": served(mb.Budget(4, 10, chunks=chunks.equal_progress), few),
    }
    keep("short", 5)
    figure = mb.plots.prompt_progress(traces, ("L1", "L2", "S"), guess="short")
    forget()
    assert titles(figure) == [
        "one by one: S's prompt is computed after 9 steps; your guess: 5",
        "alike: S's prompt is computed after 2 steps",
    ]


def test_a_budget_curve_is_read_against_a_limit():
    summaries = {n: streaming(mb.Budget(4, n)).summary() for n in (8, 32, 64, 128)}
    measured = {n: summaries[n] for n in (8, 32, 128)}
    figure = mb.plots.budget_curve(measured, summaries, chosen=32, limit_s=0.7)
    assert titles(figure)[0] == "The largest measured budget with a p99 within 700 ms is 32"
    assert "measured again at 32" in [text.get_text() for text in figure.axes[0].texts]
    figure = mb.plots.budget_curve(measured, summaries, chosen=32, limit_s=0.001)
    assert titles(figure)[0] == "No budget keeps the p99 of the waits within 1 ms"


def test_a_seismograph_s_alt_text_says_who_joins():
    assert "; L joins." in mb.plots.seismograph(streaming(mb.Budget(4, 26)), "L").alt


def test_seismographs_on_one_scale_swing_alike_for_the_same_wait():
    def swing(n):
        figure = mb.plots.seismograph(streaming(mb.Budget(4, n)), "L", full_s=1.1)
        bars = [c for c in figure.axes[0].collections if isinstance(c, PolyCollection)]
        return max(path.get_extents().height for bar in bars for path in bar.get_paths())

    assert swing(26) == pytest.approx(2 * swing(13))


FIVE = [asked(*x) for x in (("A", 60, 70), ("B", 90, 40), ("C", 20, 60), ("D", 50, 80))]


def test_what_is_thrown_away_is_what_is_computed_twice():
    runs = {
        name: served(mb.Budget(8, 24, victim=victim), FIVE, num_blocks=17)
        for name, victim in (("newest", victims.newest), ("most", victims.most_computed))
    }
    figure = mb.plots.thrown_away(runs)
    for axis, title, trace in zip(figure.axes, titles(figure), runs.values(), strict=True):
        summary = trace.summary()
        again = summary["recomputed_tokens"]
        assert again > 0
        assert f"{again:,} tokens are recomputed" in title
        crosses = sum(len(line.get_xdata()) for line in axis.lines)
        assert crosses == summary["num_preemptions"]


def test_waste_is_compared_by_its_mean():
    keep("less", 30)
    figure = mb.plots.waste_bars({"a": [10, 20], "b": [40, 20]}, guess="less")
    forget()
    assert titles(figure) == ["“a” wastes 50 % fewer tokens than “b”; your guess: 30"]
    assert titles(mb.plots.waste_bars({"a": [0], "b": [0]})) == ["Nothing is recomputed"]


def test_numbers_on_an_axis_have_commas():
    (axis,) = mb.plots.waste_bars({"a": [9_000, 12_500], "b": [14_000, 15_000]}).axes
    assert "10,000" in [label.get_text() for label in axis.get_xticklabels()]


def test_a_scorecard_says_which_is_best_and_writes_every_number():
    runs = {"a": {"steps": 2_000, "waste": 1}, "b": {"steps": 900, "waste": 0.5}}
    keep("steps", 1_000)
    figure = mb.plots.scorecard(runs, guess="steps")
    forget()
    assert figure.get_suptitle() == "Best in steps: b; waste: b; your guess: 1,000"
    written = [[text.get_text() for text in axis.texts] for axis in figure.axes]
    assert written == [["2,000", "900"], ["1.00", "0.50"]]
    assert "a: steps 2,000, waste 1.00." in figure.alt


def test_waits_by_arrival_count_the_refused():
    many = [asked(f"r{i}", 2, 10, arrival_time=0.1 * i) for i in range(30)]
    runs = {
        "no limit": served(mb.Budget(2, 64), many),
        "limit": served(mb.Budget(2, 64, limits=mb.QueueLimits(max_waiting=1)), many),
    }
    title = titles(mb.plots.waits_by_arrival(runs))
    refused = runs["limit"].summary()["num_refused"]
    assert "refused" not in title[0]
    assert title[1].endswith(f"; {refused} refused")


def test_a_wait_is_a_dot_and_a_refusal_a_tick_on_one_scale():
    many = [asked(f"r{i}", 2, 10, arrival_time=0.1 * i) for i in range(30)]
    runs = {
        "no limit": served(mb.Budget(2, 64), many),
        "limit": served(mb.Budget(2, 64, limits=mb.QueueLimits(max_waiting=1)), many),
    }
    figure = mb.plots.waits_by_arrival(runs, limit_s=2.5)
    above, below = figure.axes
    assert above.get_ylim() == below.get_ylim()
    assert "in time: up to 2.5 s" in [text.get_text() for text in above.texts]
    dots, ticks = below.lines[:2]
    waits = [c.ttft for c in runs["limit"].completions if c.was_served]
    assert sorted(dots.get_ydata()) == pytest.approx(sorted(waits))
    assert len(ticks.get_xdata()) == 30 - len(waits)


def test_one_among_those_who_wait_is_marked():
    many = [asked(f"r{i}", 2, 10, arrival_time=0.1 * i) for i in range(5)]
    trace = served(mb.Budget(1, 64), many)
    waits = {c.request_id: c.ttft for c in trace.completions}
    figure = mb.plots.waits_by_arrival({"one slot": trace}, marked="r2")
    rest = max(wait for name, wait in waits.items() if name != "r2")
    says = f"one slot: r2 waits {waits['r2']:.2f} s, every other request at most {rest:.2f} s"
    assert titles(figure) == [says]
    bars = [(bar.get_x(), bar.get_width()) for bar in figure.axes[0].patches]
    assert bars[::2] == [(c.arrival_time, c.ttft) for c in trace.completions]


def test_a_guess_of_a_wait_counts_from_when_the_slowest_came():
    many = [asked(f"r{i}", 2, 10, arrival_time=0.1 * i) for i in range(5)]
    keep("long", 2)
    axis = mb.plots.waits_by_arrival(
        served(mb.Budget(1, 64), many), marked="r2", guess="long"
    ).axes[0]
    forget()
    (line,) = (line for line in axis.lines if line.get_linestyle() == "--")
    assert list(line.get_xdata()) == pytest.approx([0.4 + 2] * 2)  # r4 is the last in the queue


def test_beside_the_marked_one_a_few_are_drawn():
    many = [asked(f"r{i}", 2, 10, arrival_time=0.1 * i) for i in range(40)]
    (axis,) = mb.plots.waits_by_arrival(served(mb.Budget(1, 64), many), marked="r2").axes
    lanes = [label.get_text() for label in axis.get_yticklabels()]
    assert lanes == ["r0", "r2", "r8", "r15", "r22", "r29", "r36"]


def test_a_livelock_shows_every_preemption_what_it_costs_and_every_token():
    class Reckless(admission.Admission):
        def num_tokens(self, sequence):
            return sequence.num_computed_tokens + 1

    parts = {"admission": Reckless(), "victim": victims.most_computed}
    policy = mb.Budget(2, 8, chunks=chunks.equal_progress, **parts)
    trace = served(policy, [asked("A", 150, 10), asked("B", 150, 10)], num_blocks=15)
    figure = mb.plots.livelock({"guarded": trace}, steps=trace.num_steps)
    preempted = [name for step in trace.steps for name in step.preempted]
    assert preempted
    title = f"guarded: {len(preempted)} preemptions, 20 tokens generated"
    assert titles(figure) == [title]
    (axis,) = figure.axes
    twice = [
        piece for piece in axis.collections if to_hex(piece.get_facecolor()[0]) == WASTE.lower()
    ]
    assert len(twice) == len(preempted)  # each is computed again, in one piece
    dots = [x for line in axis.lines if line.get_marker() == "o" for x in line.get_xdata()]
    assert len(dots) == sum(len(row.token_ids) for step in trace.steps for row in step.rows) == 20
    (cut,) = mb.plots.livelock(trace, steps=trace.num_steps - 5).axes
    assert "… 5\nmore steps" in [text.get_text() for text in cut.texts]


def test_a_column_has_a_box_for_each_block_that_a_request_needs():
    cases = {
        "first": {"running": (11, 12), "new": (1, 12)},
        "second": {"running": (5, 12), "new": (1, 12)},
    }
    figure = mb.plots.block_needs(cases, 4, 4)
    first, second = figure.axes
    assert titles(figure) == ["first: yes, 4 blocks needed", "second: no, 5 blocks needed"]
    boxes = [sum(abs(b.get_x() + 0.4 - step) < 0.1 for b in first.patches) for step in (1, 2, 3, 5)]
    assert boxes == [4, 4, 1, 2]  # the running request has ended after step 2
    assert [text.get_text() for text in first.texts[:5]] == ["11", "1", "12", "2", "3"]
    assert sum(abs(b.get_x() + 0.4 - 5) < 0.1 for b in second.patches) == 5

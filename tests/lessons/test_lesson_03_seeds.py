"""Every sentence of lesson 03 about windows and traffic holds in at least 28 of 30 streams: in the
thirty of the lesson, and in thirty others."""

import json
from functools import cache
from pathlib import Path
from statistics import median

import pytest

import minibatch as mb

LESSON = Path(__file__).parents[2] / "lessons" / "03_dynamic_batching.ipynb"
WINDOWS = (0, 0.25, 0.5, 1, 1.5, 2, 3, 4)  # of the lesson
NEARLY_ALL = 28

pytestmark = pytest.mark.slow


@pytest.fixture(params=[slice(0, 30), slice(30, 60)], ids=["the lesson's", "others"])
def seeds(request):
    return request.param


@cache
def traffic(name, load, **options):
    make = {"independent": mb.streams.poisson, "bursts": mb.streams.bursts}[name]
    return make(load, count=60, **options)


@cache
def served(name, load, window, size=6):
    options = {"size": size} if name == "bursts" else {}
    return mb.streams.outcomes(lambda: mb.Dynamic(8, window), traffic(name, load, **options))


def first_tokens(seeds, *run, **options):
    return [outcome.ttft_s for outcome in served(*run, **options)[seeds]]


def unluckiest(seeds, *run):
    return [outcome.ttft_p99_s for outcome in served(*run)[seeds]]


def machine(seeds, *run):
    return [outcome.machine_s for outcome in served(*run)[seeds]]


def in_streams(fewer, more):
    """In how many streams the first number is below the second."""
    return sum(a < b - 1e-9 for a, b in zip(fewer, more, strict=True))


@pytest.fixture(scope="module")
def says():
    """Asserts that the lesson has these words: a sentence that goes takes its test along."""
    cells = json.loads(LESSON.read_text(encoding="utf-8"))["cells"]
    text = " ".join("".join(cell["source"]) for cell in cells)
    text = " ".join(text.replace("*", "").split())

    def words(sentence):
        assert sentence in text

    return words


def test_static_batches_serve_as_many_as_the_load_counts_by(says):
    says("So the machine serves at most 8 requests in 5 s, about 1.6 requests a second.")
    engine = mb.Engine(mb.PretendModel(), mb.Static(8), clock=mb.VirtualClock(0.025))
    done = engine.run(mb.workload.agents(engine.model, n=16))
    assert len(done) / engine.clock.now() == pytest.approx(1.6)


def test_without_a_window_the_first_token_comes_when_the_question_says(says):
    says("The load is 0.3. Without a window the mean time to the first token is 1.4 s.")
    of_the_lesson = first_tokens(slice(0, 30), "independent", 0.3, 0)
    assert median(of_the_lesson) == pytest.approx(1.4, abs=0.05)


def test_at_a_low_load_a_window_of_two_seconds_is_later_in_every_stream(seeds, says):
    says("A window of 2 s delays the first token in each of the thirty streams")
    none, two = (first_tokens(seeds, "independent", 0.3, w) for w in (0, 2))
    assert in_streams(none, two) == 30


def agree_on_no_window(seeds, load, of):
    none = of(seeds, "independent", load, 0)
    for window in WINDOWS[1:]:
        some = of(seeds, "independent", load, window)
        assert in_streams(some, none) < NEARLY_ALL
        assert in_streams(none, some) < NEARLY_ALL


@pytest.mark.parametrize("load", [0.7, 0.9])
def test_at_higher_loads_the_streams_do_not_agree_on_any_window(seeds, says, load):
    says("The streams do not agree: no window above 0 s gives earlier first tokens in nearly all")
    agree_on_no_window(seeds, load, first_tokens)


@pytest.mark.parametrize("load", [0.3, 0.7, 0.9])
def test_no_window_moves_the_99th_percentile_of_independent_arrivals(seeds, says, load):
    says("Each window in the figure raises the 99th percentile in some streams and lowers it in")
    agree_on_no_window(seeds, load, unluckiest)
    none = unluckiest(seeds, "independent", load, 0)
    for window in WINDOWS[1:]:
        some = unluckiest(seeds, "independent", load, window)
        assert in_streams(some, none)
        assert in_streams(none, some)


def test_in_bursts_the_unluckiest_gain_by_a_window_that_wins_nothing_on_average(seeds, says):
    says("A window of 2 s does not lower the mean, but it lowers the 99th percentile")
    none, two = (first_tokens(seeds, "bursts", 0.3, w) for w in (0, 2))
    assert in_streams(two, none) < NEARLY_ALL
    none, two = (unluckiest(seeds, "bursts", 0.3, w) for w in (0, 2))
    assert in_streams(two, none) == 30


def test_the_price_of_a_window_shrinks_as_the_load_grows(seeds, says):
    says("With a window of 4 s, more streams get earlier first tokens at a high load")

    def price(load):
        pair = (first_tokens(seeds, "independent", load, w) for w in (4, 0))
        return [with_window - none for with_window, none in zip(*pair, strict=True)]

    assert in_streams(price(0.7), price(0.3)) >= NEARLY_ALL
    later = [in_streams([0.0] * 30, price(load)) for load in (0.3, 0.7, 0.9)]
    if seeds.start == 0:
        assert later == [30, 23, 15]
    assert later == sorted(later, reverse=True)


@pytest.mark.parametrize("load", [0.3, 0.7, 0.9])
def test_no_window_is_sooner_with_independent_arrivals(seeds, says, load):
    says("With independent arrivals it brings no reliable gain for first tokens")
    none = first_tokens(seeds, "independent", load, 0)
    for window in WINDOWS[1:]:
        assert in_streams(first_tokens(seeds, "independent", load, window), none) < NEARLY_ALL


@pytest.mark.parametrize("load", [0.3, 0.7, 0.9])
def test_a_window_of_two_seconds_saves_machine_seconds_at_each_load(seeds, says, load):
    says(
        "A window of 2 s saves machine seconds in nearly all streams, also at loads of 0.7 and 0.9"
    )
    none, two = (machine(seeds, "independent", load, w) for w in (0, 2))
    assert in_streams(two, none) >= NEARLY_ALL


def half_as_long(rows):
    """A step of one row takes half as long as a step of eight."""
    return 0.025 * (6 + rows) / 14


@cache
def served_by_rows(name, load, window):
    requests = traffic(name, load)
    return mb.streams.outcomes(lambda: mb.Dynamic(8, window), requests, step_time=half_as_long)


def test_then_a_window_costs_more_and_gains_less_for_first_tokens(seeds, says):
    says("so for first tokens windows look better here than they are.")
    for name, window in (("independent", 2), ("bursts", 0.5)):
        by_rows = [[o.ttft_s for o in served_by_rows(name, 0.3, w)][seeds] for w in (0, window)]
        fixed = [first_tokens(seeds, name, 0.3, w) for w in (0, window)]
        later, later_here = (
            [held - none for none, held in zip(*pair, strict=True)] for pair in (by_rows, fixed)
        )
        assert in_streams(later_here, later) >= NEARLY_ALL


def test_in_bursts_a_window_as_long_as_a_burst_is_sooner_in_every_stream_and_less_work(seeds, says):
    says("With a window of half a second the six start together.")
    none, half = (first_tokens(seeds, "bursts", 0.3, w) for w in (0, 0.5))
    assert in_streams(half, none) == 30
    none, half = (machine(seeds, "bursts", 0.3, w) for w in (0, 0.5))
    assert in_streams(half, none) >= NEARLY_ALL


def test_it_is_the_best_of_the_windows_for_these_bursts(seeds, says):
    says("For first tokens it helps most when it is about as long as a burst.")
    half = first_tokens(seeds, "bursts", 0.3, 0.5)
    for window in WINDOWS:
        if window != 0.5:
            others = first_tokens(seeds, "bursts", 0.3, window)
            assert in_streams(half, others) >= NEARLY_ALL


def test_every_further_second_of_window_is_a_second_of_waiting(seeds, says):
    says("With a longer window the batch waits, but no further request arrives")
    shorter, longer = (first_tokens(seeds, "bursts", 0.3, w) for w in (1, 2))
    assert [b - a for a, b in zip(shorter, longer, strict=True)] == pytest.approx([1.0] * 30)


def test_of_the_same_half_second_independent_streams_do_not_agree(seeds, says):
    says("With a window of half a second the first token comes sooner in some streams and later")
    none, half = (first_tokens(seeds, "independent", 0.3, w) for w in (0, 0.5))
    assert in_streams(half, none) < NEARLY_ALL
    assert in_streams(none, half) < NEARLY_ALL


class Rule(mb.Dynamic):
    """The one in the lesson."""

    def deadline(self):
        oldest, newest = self.waiting[0].arrival_time, self.waiting[-1].arrival_time
        return min(newest + 0.25, oldest + self.max_wait)


def test_the_newest_s_clock_with_an_end_is_good_in_both_kinds_of_traffic(seeds, says):
    says("With bursts, this rule brings earlier first tokens than no window.")
    says("For these bursts a window of half a second is best")
    rule = {
        name: [o.ttft_s for o in mb.streams.outcomes(lambda: Rule(8, 2), traffic(name, 0.3)[seeds])]
        for name in ("independent", "bursts")
    }
    assert in_streams(rule["bursts"], first_tokens(seeds, "bursts", 0.3, 0)) == 30
    for name in rule:
        assert in_streams(rule[name], first_tokens(seeds, name, 0.3, 2)) >= NEARLY_ALL
    assert in_streams(first_tokens(seeds, "bursts", 0.3, 0.5), rule["bursts"]) >= NEARLY_ALL

"""Pictures of lesson 7: what they draw is what the records say, and their titles say it."""

import pytest
from matplotlib.colors import to_hex

import minibatch as mb
from minibatch.plots import guesses
from minibatch.plots.colours import WORK
from minibatch.plots.figures.prefix_tree import PALE


@pytest.fixture(autouse=True)
def _no_guess_stays():
    yield
    guesses.forget()


def served(prompts, **options):
    model = mb.PretendModel()
    model.vocab_size = 1000
    options = {"block_size": 4, "prefix_caching": True} | options
    engine = mb.Engine(model, mb.Continuous(1), clock=mb.VirtualClock(), **options)
    engine.run([mb.Request(p, max_tokens=1, request_id=name) for name, p in prompts.items()])
    return engine.trace


TRUNK = list(range(12))
FOUR = {
    "A": [*TRUNK, 50, 51],
    "B": [*TRUNK, *range(60, 69)],
    "C": [7] * 9,
    "D": [*TRUNK, *range(60, 68), 99],
}


def test_a_tree_says_what_was_found_and_why_no_more():
    guesses.keep("tree", 20)
    figure = mb.plots.prefix_tree(served(FOUR), 4, guess="tree")
    (axis,) = figure.axes
    assert (
        axis.get_title(loc="left")
        == "32 of 65 prompt tokens were found in the cache; your guess: 20"
    )
    assert "D: 20 of 21 found; the rest does not fill a block." in figure.alt
    assert "B: 12 of 21 found; differs from A at token 12." not in figure.alt  # A's is not full
    assert "C: 0 of 9 found; never seen." in figure.alt


def test_rows_that_share_stand_together_in_a_box_and_one_of_them_computed_it():
    figure = mb.plots.prefix_tree(served(FOUR), 4)
    (axis,) = figure.axes
    assert [label.get_text() for label in axis.get_yticklabels()] == ["A", "B", "D", "C"]
    found = {to_hex(PALE): [], to_hex(WORK): []}
    for box in axis.patches:
        found[to_hex(box.get_facecolor())].append((box.get_x(), box.get_width(), box.get_height()))
    assert found[to_hex(PALE)] == [(12, 8, 1), (0, 12, 2)]  # D finds B's, and both find A's
    assert sum(width for _, width, _ in found[to_hex(WORK)]) == 65 - 32


def test_prompts_that_are_equal_share_all_their_full_blocks():
    figure = mb.plots.prefix_tree(served({"A": TRUNK, "B": TRUNK, "C": TRUNK[:8]}), 4)
    assert "B: 8 of 12 found; the rest does not fill a block." in figure.alt


def test_a_tree_of_a_run_without_a_cache_is_refused():
    with pytest.raises(ValueError, match="prefix_caching=True"):
        mb.plots.prefix_tree(served(FOUR, prefix_caching=False), 4)


def test_a_curve_of_hits_says_where_it_begins_and_ends():
    guesses.keep("hits", [(1000, 10), (100_000, 60)])
    figure = mb.plots.hit_curve({1000: 0.041, 100_000: 0.35}, guess="hits")
    (axis,) = figure.axes
    title = "The smallest pool finds 4 % of the prompt tokens, the largest 35 %"
    assert axis.get_title(loc="left") == title
    assert list(axis.lines[0].get_ydata()) == [4, 21, 33]  # Mooncake's, published
    assert "1,000 blocks: 4 %." in figure.alt


def test_first_tokens_say_how_many_times_as_soon_they_come():
    guesses.keep("sooner", 3)
    seconds = {"A": (0.15, 0.05), "H": (0.3, 0.2)}
    figure = mb.plots.first_tokens(seconds, unit="CPU s", guess="sooner")
    (axis,) = figure.axes
    finding = "Without the cache, the mean TTFT is 1.8 times as long; your guess: 3"
    assert axis.get_title(loc="left") == finding
    assert [text.get_text() for text in axis.texts] == ["3.0 ×", "1.5 ×"]
    assert axis.get_xlabel() == "CPU ms to the first token"
    assert axis.get_xlim()[1] > 300
    assert "H: 300 CPU ms without, 200 with." in figure.alt


def test_a_line_of_a_pool_has_a_bar_for_each_run_of_blocks():
    states = {
        "before": ["P"] * 20 + ["Q"] * 20 + [""] * 2,
        "after": ["free"] * 2 + ["overwritten"] * 18 + ["Q and S"] * 20 + [""] * 2,
    }
    figure = mb.plots.pool_states(states, "S finds Q's blocks")
    (axis,) = figure.axes
    bars = [(bar.get_x(), bar.get_width()) for bar in axis.patches[2:]]
    assert bars == [(0, 2), (2, 18), (20, 20)]  # 2 blocks are too narrow for a text
    words = [text.get_text() for text in axis.texts]
    assert words == ["P: 20", "Q: 20", "overwritten: 18", "Q and S: 20"]
    assert axis.get_title(loc="left") == "S finds Q's blocks"
    assert "after: 2 free, 18 overwritten, 20 Q and S, 2 unused." in figure.alt

"""Where memory goes: the pictures of lesson 05."""

import pytest
from byte_tokenizer import make_tokenizer

import minibatch as mb
from minibatch.core.records import MemoryUse
from minibatch.memory.contiguous import FirstFit, the_maximum
from minibatch.plots import guesses
from minibatch.simulator.replay import Contiguous, Paged, replay


def title(axis):
    return axis.get_title(loc="left")


@pytest.fixture
def runs():
    return runs_of(2)


def runs_of(n):
    """So many requests of 10 + 4 tokens in 64 places; the maximum is 32."""
    requests = [mb.Request([0] * 10, max_tokens=4) for _ in range(n)]
    contiguous = Contiguous(FirstFit(64), the_maximum(32))
    return {"most": replay(requests, contiguous), "blocks": replay(requests, Paged(16, 4))}


def test_what_is_taken_and_how_much_of_it_holds_tokens(runs):
    figure = mb.plots.memory_use(runs)
    # 20, 22, 24 and 26 of 64; of 24, 24, 24 and 32
    assert [title(axis) for axis in figure.axes] == [
        "most: 36 % of the allocated memory holds tokens",
        "blocks: 88 % of the allocated memory holds tokens",
    ]
    labels = [text.get_text() for text in figure.legends[0].get_texts()]
    assert labels == ["holds K and V", "reserved: filled later", "internal: never filled", "free"]


def test_memories_side_by_side_with_what_was_published():
    guesses.keep("share", 50)
    figure = mb.plots.fragmentation(runs_of(3), [20.4, None], guess="share")
    guesses.forget()
    (axis,) = figure.axes
    assert title(axis) == "Tokens fill 36 % (most) to 54 % (blocks); your guess: 50"
    bars = [bar.get_width() for bar in axis.patches]
    assert sum(bars) == pytest.approx(200)
    assert list(axis.lines[0].get_xdata()) == [20.4, 20.4]
    labels = [text.get_text() for text in figure.legends[0].get_texts()]
    assert labels[-1] == "vLLM paper"


def test_it_takes_the_accounts_of_an_engine_too():
    figure = mb.plots.memory_use({"": [MemoryUse(30, 2, 0, 0, 32)] * 3})
    assert title(figure.axes[0]) == ": 94 % of the allocated memory holds tokens"


def test_what_is_promised_is_not_drawn_as_free():
    uses = [MemoryUse(30, 2, 0, 0, 32)] * 3
    figure = mb.plots.memory_use({"a": uses, "b": uses}, promised={"a": [20, 20, 20]})
    assert [len(axis.patches) - len(figure.axes[1].patches) for axis in figure.axes] == [2, 0]
    labels = [text.get_text() for text in figure.legends[0].get_texts()]
    assert labels[-1] == "promised to running requests"


def test_a_long_run_is_drawn_no_finer_than_a_screen_shows():
    long = [MemoryUse(i % 64, 0, 0, 0, 64 - i % 64) for i in range(2395)]
    (axis,) = mb.plots.memory_use({"": long}).axes
    stairs = [patch.get_data() for patch in axis.patches if hasattr(patch, "get_data")]
    assert {len(each.values) for each in stairs} == {599}  # every fourth step
    assert {each.edges[-1] for each in stairs} == {2395}


def test_a_token_is_found_through_the_table():
    model = mb.PretendModel()
    model.tokenizer, model.vocab_size = make_tokenizer(), 288
    engine = mb.Engine(model, mb.Continuous(2), num_blocks=8, block_size=4)
    for name, text in {"B": "-----", "A": "xyz,uvw"}.items():
        ids = model.tokenizer.encode(text, add_special_tokens=False)
        engine.add(mb.Request(ids, max_tokens=9, request_id=name))
    engine.step()
    words, pool = mb.plots.table_and_pool(engine, "A").axes
    assert title(words) == "A's 7 newest tokens, in 2 blocks"
    assert {"x", "y", "z", "u", "v", "w"} < {text.get_text() for text in words.texts}
    assert [text.get_text() for text in pool.texts] == ["B", "B", "A", "A", "", "", "", ""]
    words, pool = mb.plots.table_and_pool(engine, "A", position=6).axes
    assert title(words) == (
        "A's token 6: entry 1 of the table, offset 2 → block 3 of the pool, slot 14"
    )
    assert [text.get_text() for text in pool.texts][3:7] == ["12", "13", "14", "15"]
    outlined = pool.patches[-1]
    assert (outlined.get_x(), outlined.get_y(), outlined.get_height()) == (3, 0.25, 0.25)
    with pytest.raises(ValueError, match="position 7 is not shown; give 0 to 6"):
        mb.plots.table_and_pool(engine, "A", position=7)
    with pytest.raises(ValueError, match="'C' does not run; running: B, A"):
        mb.plots.table_and_pool(engine, "C")


def test_small_blocks_waste_less_and_share_more():
    requests = [mb.Request([0] * 10, max_tokens=4)]  # 10 to 13 tokens
    (axis,) = mb.plots.block_size_tradeoff(requests, 6, sizes=(1, 4, 16)).axes
    waste, reusable = [list(line.get_ydata()) for line in axis.lines[:2]]
    assert waste == pytest.approx([0, 100 * (1 - 46 / 52), 100 * (1 - 46 / 64)])
    assert reusable == [100, pytest.approx(200 / 3), 0]


@pytest.mark.parametrize(
    "rates",
    [(492, 750, 548, 1229), (500, 800, 505, 1200), (500, 490, 505, 520), (500,) * 4,
     (500, 400, 600, 490), (500, 510, 1400, 1410), (1000, 900, 800, 400)],
)  # fmt: skip
def test_the_words_of_the_two_orders_can_be_read_whatever_the_rates(rates):
    def run(rate):
        engine = mb.Engine(mb.PretendModel(), mb.Continuous(4), clock=mb.VirtualClock(1 / rate))
        engine.run([mb.Request([0], max_tokens=3)])
        return engine.trace

    plain, paged, continuous, both = map(run, rates)
    traces = {
        "static": {"contiguous": plain, "paged": paged},
        "continuous": {"contiguous": continuous, "paged": both},
    }
    _, below = mb.plots.two_by_two(traces).axes
    assert len(below.texts) == 4  # what cannot be read fails every test of this folder


def test_four_runs_and_what_each_step_between_them_buys():
    def run(policy, num_blocks):
        engine = mb.Engine(
            mb.PretendModel(),
            policy,
            num_blocks=num_blocks,
            block_size=8,
            clock=mb.VirtualClock(1.0),
        )
        engine.run([mb.Request([0], max_tokens=n) for n in (1, 4, 2, 3)])
        return engine.trace

    policies = {"whole": mb.Static, "steps": mb.Continuous}
    traces = {n: {"few": run(p(4), 2), "many": run(p(4), 4)} for n, p in policies.items()}
    axis, below = mb.plots.two_by_two(traces).axes
    assert title(axis) == "Both ideas give 1.8 times the tokens/s of the baseline"  # 7 and 4 steps
    words = [text.get_text() for text in axis.texts]
    assert [word for word in words if word.startswith("×")] == [
        *("× 1.8", "× 1.5"),  # to the right
        *("× 1.2", "× 1.0"),  # down
        "× 1.8",
    ]
    bars = [(bar.get_x(), bar.get_x() + bar.get_width()) for bar in below.patches]
    first, second = bars[:2], bars[2:]  # one bar for each order of the two ideas
    assert [text.get_text().rpartition("× ")[2] for text in below.texts] == [
        *("1.17", "1.50"),
        *("1.75", "1.00"),
    ]
    assert first[0][0] == second[0][0] == 1
    assert first[1][1] == pytest.approx(second[1][1]) == pytest.approx(7 / 4)

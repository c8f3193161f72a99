"""Three memories on one page, and the step in which a request waits although enough is free."""

import minibatch as mb
from minibatch.memory.contiguous import FirstFit, told_the_length
from minibatch.simulator.replay import Contiguous, Paged


def player():
    stream = {"A": (96, 5), "B": (81, 20), "C": (50, 7), "D": (110, 11)}
    requests = [mb.Request([0] * p, max_tokens=n, request_id=i) for i, (p, n) in stream.items()]
    memories = {"told": Contiguous(FirstFit(256), told_the_length), "blocks": Paged(16)}
    return mb.widgets.MemoryPlayer(memories, requests)


def test_it_says_who_waits_though_enough_is_free_and_draws_the_hole():
    shown = player()
    assert "before the first step" in shown.still
    shown.go_to(3)
    assert "enough" not in shown.still  # too little is free
    shown.go_to(8)
    assert "told: D waits although enough memory is free. It needs 120" in shown.line.value
    assert "blocks: 2 requests hold tokens in" in " ".join(
        shown.view.value.replace("</b>", "").split()
    )
    assert "a hole of 100; the next request needs 120" in shown.view.value
    shown.step_button.click()
    shown.back_button.click()
    assert shown.position == 8


def test_a_memory_of_blocks_is_a_grid_with_a_cell_for_each_block():
    shown = player()
    shown.go_to(1)
    blocks = shown.view.value.rpartition('aria-label="blocks')[2]
    cell = 1000 / 32
    assert blocks.count("<title>A: 16 tokens</title>") == 6  # A's prompt has 96 tokens
    assert f'<rect x="{5 * cell:.1f}" y="0" width="{cell:.1f}"' in blocks
    strips = shown.view.value.partition('aria-label="blocks')[0]
    assert "<title>A: 96 tokens</title>" in strips


def test_it_goes_on_until_the_last_memory_has_served_everybody():
    shown = player()
    shown.go_to(10**6)
    assert shown.position == shown.last == max(map(len, shown.runs.values()))
    assert shown.step_button.disabled
    assert "all served after" in shown.view.value


def test_its_turns_are_where_somebody_comes_leaves_or_begins_to_wait_in_vain():
    shown = player()
    moments = shown.runs["told"]
    first = next(i for i, m in enumerate(moments, 1) if m.waits_though_enough_is_free)
    assert {1, first} <= {*shown.turns}
    steady = [i for i in range(2, shown.last) if i not in shown.turns]
    for run in shown.runs.values():
        assert all(run[i - 1].running == run[i - 2].running for i in steady if i <= len(run))
    assert steady

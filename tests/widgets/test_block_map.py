"""The block map shows the pool of a real engine, as it was after each step."""

import gc
import re

import pytest

import minibatch as mb
from minibatch.plots.colours import colour_of


def engine_of(num_blocks=8, block_size=4, **options):
    return mb.Engine(
        mb.PretendModel(),
        mb.Continuous(4),
        num_blocks=num_blocks,
        block_size=block_size,
        clock=mb.VirtualClock(),
        **options,
    )


def request(name, prompt, max_tokens):
    return mb.Request([0] * prompt, max_tokens=max_tokens, request_id=name)


@pytest.fixture
def block_map():
    return mb.widgets.BlockMap(engine_of(), [request("A", 5, 2), request("B", 3, 9)])


def facts(block_map):
    return re.search(r'aria-label="The pool\. ([^"]*)"', block_map.view.value)[1]


def test_it_counts_as_the_pool_does_forward_and_back(block_map):
    seen = {}
    for step in range(10):
        block_map.go_to(step)
        seen[step] = facts(block_map)
        assert seen[step].startswith(f"{8 - block_map.engine.pool.num_free} held")
    assert seen[0] == "0 held; 0 free with old content; 8 never used."
    assert seen[1] == "3 held; 0 free with old content; 5 never used."
    assert seen[2] == "1 held; 2 free with old content; 5 never used."  # A has left
    block_map.go_to(1)
    assert facts(block_map) == seen[1]
    assert len(block_map.engine.trace.steps) == 9


def test_who_came_later_keeps_her_colour_when_she_leaves(block_map):
    block_map.go_to(1)
    block_map.engine.add(request("D", 3, 2))
    block_map.go_to(3)  # she writes her last token, and her table is empty already
    assert f"background: {colour_of('D')}" in block_map.view.value


def test_a_block_tells_who_holds_it_what_is_in_it_and_since_when(block_map):
    block_map.go_to(1)
    block_map.block_box.value = 1
    assert (
        "Block 1: held by A (entry 1 of its table) since this step; 1 of 4 tokens."
        in block_map.still
    )
    block_map.go_to(4)
    assert "Block 1: free for 2 steps; it still holds what A wrote." in block_map.still
    block_map.block_box.value = 7
    assert "Block 7: free, never used." in block_map.still


def test_a_table_is_a_walk_through_the_grid(block_map):
    block_map.go_to(4)
    assert "polyline" not in block_map.view.value
    block_map.walk_menu.value = "B"
    assert "B&#39;s table: 2 → 3" in block_map.view.value
    assert block_map.view.value.count("<polyline") == 2  # a line, and the paper under it


def test_a_picked_block_shows_the_table_of_who_holds_it(block_map):
    block_map.go_to(1)
    block_map.pick(1)
    assert (block_map.walk_menu.value, block_map.block_box.value) == ("A", 1)
    assert "A&#39;s table: 0 → 1" in block_map.view.value
    assert "Block 1: held by A" in block_map.line.value
    assert "The walk is A&#39;s table, 2 blocks." in block_map.line.value
    block_map.pick(7)
    assert "polyline" not in block_map.view.value
    assert "Block 7: free, never used." in block_map.line.value


def test_a_click_is_told_once_and_may_be_repeated_for_the_next_holder():
    engine = engine_of()
    block_map = mb.widgets.BlockMap(engine, [request("A", 6, 6)])
    block_map.go_to(1)
    engine.fork("A")
    block_map.go_to(2)
    walks = []
    for _ in range(3):
        block_map.clicked.value = "0"
        walks.append(block_map.walk_menu.value)
    assert walks == ["A", "A/1", "A"]


def test_two_holders_are_drawn_as_two():
    engine = engine_of()
    block_map = mb.widgets.BlockMap(engine, [request("A", 6, 6)])
    block_map.go_to(1)
    engine.fork("A")
    block_map.go_to(2)
    assert facts(block_map).startswith("3 held, 1 of them by several; ")
    first = re.search(r"<g transform=.*?</g>", block_map.view.value)[0]
    halves = re.findall(r'<rect x="([\d.]+)"[^>]* fill="(#\w+)"', first)
    letters = re.findall(r'<text x="([\d.]+)"[^>]*>([^<]+)<', first)
    assert [colour for _, colour in halves] == [colour_of("A"), colour_of("A/1")]
    assert [name for _, name in letters] == ["A", "A/1"]
    assert float(letters[0][0]) < float(halves[1][0]) < float(letters[1][0])  # each in its own
    assert "held by A (entry 0 of its table) and A/1 (entry 0" in block_map.still
    assert "A/1" in block_map.walk_menu.options


def test_more_holders_than_there_is_room_for_are_counted():
    engine = engine_of(256)
    block_map = mb.widgets.BlockMap(engine, [request("A", 6, 6)])
    block_map.go_to(1)
    engine.fork("A", 3)
    block_map.go_to(2)
    first = re.search(r"<g transform=.*?</g>", block_map.view.value)[0]
    assert re.findall(r"<text [^>]*>([^<]+)<", first) == ["×4"]


@pytest.mark.parametrize("num_blocks", [24, 32, 64, 128, 256, 400])
def test_letters_can_be_read_and_the_grid_fits_a_projector(num_blocks):
    block_map = mb.widgets.BlockMap(engine_of(num_blocks), [request("A", 6, 6)])
    block_map.go_to(1)
    svg = re.search(r'<svg role="img" aria-label="The pool[^>]*>', block_map.view.value)[0]
    _, _, width, height = map(float, re.search(r'viewBox="(.*?)"', svg)[1].split())
    on_1024 = 0.64 * 980 / width  # its share of a page of 1024 pixels
    assert float(re.search(r'font-size="([\d.]+)"', svg)[1]) * on_1024 >= 13
    assert height <= 370  # of 720, beside controls, and JupyterLab's own
    assert ">A</text>" in block_map.view.value


def test_what_the_cache_can_find_again_has_its_hash():
    block_map = mb.widgets.BlockMap(engine_of(prefix_caching=True), [request("A", 6, 2)])
    block_map.go_to(2)
    assert re.search(
        r"Block 0: free since this step; it still holds what A wrote, hash \w{8}\.", block_map.still
    )


def test_what_was_held_and_left_in_one_step_was_used():
    block_map = mb.widgets.BlockMap(engine_of(prefix_caching=True), [request("A", 9, 1)])
    block_map.go_to(1)
    assert facts(block_map) == "0 held; 3 free with old content; 5 never used."  # the third, too
    assert "Block 0: free for 1 step; it still holds what somebody wrote, hash" in block_map.still


def test_the_garbage_collector_waits_while_a_thousand_blocks_are_drawn():
    block_map, walks = mb.widgets.BlockMap(engine_of(1024), [request("A", 5, 2)]), []

    def note(phase, _info):
        walks.append(phase)

    gc.callbacks.append(note)
    try:
        block_map.show()
    finally:
        gc.callbacks.remove(note)
    assert walks.count("start") <= 1  # the one that was due, afterwards

"""Judges exercises 5.1 to 5.4: slots and copies by what comes out, a pool by walks beside ours."""

import contextlib
import math
from collections import Counter

import now_yours
import pytest
from again import stays_right
from beliefs import CALLERS_LIST, IS_WITHHELD, Counted, a_kind, why
from pools import fixed_walk, keeps_its_answers, random_walk, walk

import minibatch as mb
from minibatch.course.judging.values import Array, Lent
from minibatch.course.judging.verdict import Wrong
from minibatch.course.judging.worker_block_pool import tables_of_a_run
from minibatch.course.judging.worker_errors import Raised

WITHHELD = {
    "5.1": {"minibatch.attention.metadata": ["slot_mapping"]},
    "5.2": {
        "minibatch.memory.blocks": ["BlockPool.allocate", "BlockPool.share", "BlockPool.free"],
    },
}


def given(part):
    """A part for `why` whose forms, under one sentence each, are the same in every case."""
    return {
        said: tuple(lambda *case, form=form: form for form in forms)
        if isinstance(forms, tuple)
        else (lambda *case, form=forms: form)
        for said, forms in part.items()
    }


# 5.1 ---------------------------------------------------------------------------------------------

# A form says something of one token: t of all, k of its row's, at position p; its row's table.
POSITIONS = {
    "": lambda start, k, t, first: start + k,
    "[position_counts_new_tokens] "
    "num_computed_tokens are in the cache already, and the first new token has that position; yours"
    " counts each row's new tokens from 0.": lambda start, k, t, first: k,
    "[position_is_one_more] "
    "Positions count from 0, so the first new token's is num_computed_tokens, not one more.": (
        lambda start, k, t, first: start + k + 1
    ),
    "[position_is_one_less] "
    "The last token in the cache has the position num_computed_tokens - 1; the first new one comes "
    "after it.": lambda start, k, t, first: start + k - 1,
    "[position_in_the_whole_batch] "
    "A token's position is its place in its own sequence; yours is its place in the whole batch.": (
        lambda start, k, t, first: t,
        lambda start, k, t, first: first + t,
    ),
    "[all_at_the_first_position] "
    "Each new token has a position of its own; yours puts all of a row's where the first one is.": (
        lambda start, k, t, first: start
    ),
}
TABLES = {
    "": lambda tables, row: tables[row],
    "[first_rows_table] "
    "Each row has a table of its own; yours looks all of them up in the first row's.": (
        lambda tables, row: tables[0]
    ),
    "[last_rows_table] "
    "Each row has a table of its own; yours looks all of them up in the last row's.": (
        lambda tables, row: tables[-1]
    ),
    "[no_table_at_all] "
    "A sequence's blocks lie anywhere in the pool, and its table says where: look up "
    "table[p // block_size]. Yours takes the first blocks of the pool, without a table.": (
        lambda tables, row: list(range(99))
    ),
}
PLACES = {  # in the table
    "": lambda p, start, k, size, table: p // size,
    "[offset_taken_for_the_block] "
    "Which of its blocks a token lies in is p // block_size; yours takes p % block_size for it, "
    "which says where inside the block.": lambda p, start, k, size, table: p % size,
    "[round_and_round_the_table] "
    "p % the length of the table goes round and round through the blocks; they are filled one "
    "after the other, p // block_size.": lambda p, start, k, size, table: p % len(table),
    "[all_in_the_first_tokens_block] "
    "A row that computes several tokens may begin in one block and end in another: each token's "
    "own position says which. Yours puts all of them into the first new token's block.": (
        lambda p, start, k, size, table: start // size
    ),
    "[all_in_the_last_block] "
    "New tokens need not lie in the table's last block: p // block_size says in which.": (
        lambda p, start, k, size, table: -1
    ),
    "[all_in_the_first_block] "
    "All tokens lie in the table's first block in yours; p // block_size says in which.": (
        lambda p, start, k, size, table: 0
    ),
    "[blocks_begin_with_new_tokens] "
    "Tokens are in the cache before the new ones, and take blocks, too; yours begins with the first"
    " block in the table.": lambda p, start, k, size, table: k // size,
    "[next_block_one_token_late] "
    "A block of 4 holds the positions 0 to 3; position 4 is the first of the next one. Yours still "
    "puts it into the block before: p // block_size, not (p - 1) // block_size.": (
        lambda p, start, k, size, table: max(0, p - 1) // size
    ),
    "[block_before_its_own] "
    "The table's first block has place 0: p // block_size, and not one less.": (
        lambda p, start, k, size, table: p // size - 1
    ),
    "[next_block_one_token_early] "
    "A block of 4 holds the positions 0 to 3; yours changes to the next block one token early.": (
        lambda p, start, k, size, table: (p + 1) // size
    ),
}
SLOTS = {
    "": lambda block, p, k, size: block * size + p % size,
    "[offset_added_to_the_block] "
    "A block is block_size slots long, so block b begins at slot b * block_size; yours adds the "
    "offset to the block's number.": lambda block, p, k, size: block + p % size,
    "[slot_of_the_blocks_beginning] "
    "That is where the token's block begins; inside it the token stands at p % block_size.": (
        lambda block, p, k, size: block * size
    ),
    "[block_in_place_of_the_slot] "
    "That is the token's block; its slot is block * block_size + p % block_size.": (
        lambda block, p, k, size: block
    ),
    "[position_added_to_the_block] "
    "Inside its block the token stands at p % block_size; yours adds all of p.": (
        lambda block, p, k, size: block * size + p
    ),
    "[offset_counts_new_tokens] "
    "Inside its block the token stands at p % block_size; yours counts the row's new tokens, which "
    "need not begin at a border.": lambda block, p, k, size: block * size + k % size,
    "[blocks_count_from_one] Blocks of the pool count from 0: block b begins at b * block_size.": (
        lambda block, p, k, size: (block - 1) * size + p % size
    ),
    "[offset_counts_from_one] "
    "The slots of a block count from 0: offset p % block_size, and no 1 more.": (
        lambda block, p, k, size: block * size + p % size + 1
    ),
    "[slots_laid_apart] "
    "The slots of one block follow one another: block * block_size + offset; yours lays them apart,"
    " offset * block_size + block.": lambda block, p, k, size: p % size * size + block,
    "[offset_in_place_of_the_slot] "
    "That is how far into its block the token stands; the block has a place in the pool, too.": (
        lambda block, p, k, size: p % size
    ),
}
SHAPES = {
    "": lambda rows: [slot for row in rows for slot in row],
    "[last_row_only] "
    "All tokens of all rows are asked for; yours has the last row's only: is the list made anew for"
    " each row?": lambda rows: list(rows[-1]),
    "[first_row_only] "
    "All rows are asked for; yours has the first one's only: is `return` inside the loop?": (
        lambda rows: list(rows[0])
    ),
    "[first_token_of_each_row] "
    "All new tokens are asked for; yours has one for each row, its first.": (
        lambda rows: [row[0] for row in rows]
    ),
    "[last_token_of_each_row] "
    "All new tokens are asked for; yours has one for each row, its last.": (
        lambda rows: [row[-1] for row in rows]
    ),
    "[slots_are_sorted] The rows keep their order; yours are sorted.": (
        lambda rows: sorted(slot for row in rows for slot in row)
    ),
}


def mapped(parts):
    """The slots, of what each part does in the case at hand."""
    (tables, starts, nums, size), position, table_of, place, slot, shape = parts
    rows, t = [], 0
    for row, (start, n) in enumerate(zip(starts, nums, strict=True)):
        table, slots = table_of(tables, row), []
        for k in range(n):
            p = position(start, k, t, starts[0])
            slots.append(slot(table[place(p, start, k, size, table)], p, k, size))
            t += 1
        rows.append(slots)
    return shape(rows)


SLOT_PARTS = (
    {
        "": lambda *case: case,
        "[another_block_size] "
        "block_size comes in, and differs from case to case; yours takes the same one always.": (
            lambda *case: (*case[:3], 4),
            lambda *case: (*case[:3], 16),
        ),
    },
    given(POSITIONS),
    given(TABLES),
    given(PLACES),
    given(SLOTS),
    given(SHAPES),
)
SLOT_PROBES = [
    ([[6, 2, 9, 4]], [5], [3], 4),
    ([[7, 2], [5, 0, 3], [1]], [3, 8, 0], [3, 1, 2], 4),
    ([[3, 8, 1, 6, 0]], [0], [9], 2),
    ([[4, 9, 2], [8, 1, 5]], [9, 2], [2, 6], 5),
]


def right_slots(*case):
    return mapped([part[""](*case) for part in SLOT_PARTS])


def slots(student, case, otherwise):
    tables, starts, nums, size = case
    expected = right_slots(*case)
    shown = f"slot_mapping({tables}, {starts}, {nums}, block_size={size})"
    try:
        got = student.call("slot_mapping", *case)
    except Raised as error:
        error.sentence = failing(shown, error.sentence, otherwise)
        raise
    if got == expected and all(type(slot) is int for slot in got):
        return
    said = (
        no_flat_list(got)
        or no_slot_at_all(got)
        or believed(student, "slot_mapping", case, got, SLOT_PROBES, mapped, SLOT_PARTS)
        or wrong_number(got, starts, nums)
    )
    raise Wrong(f"{shown}: {said or otherwise}", expected=expected, got=got)


def failing(shown, sentence, otherwise):
    if CALLERS_LIST in sentence or IS_WITHHELD in sentence:
        return sentence
    return f"{shown} fails with {sentence} ({otherwise.rstrip('.')})."


def no_flat_list(got):
    if got is None:
        return (
            "[list_is_nothing] "
            "your function returned nothing (None): end it with `return` and the list."
        )
    if isinstance(got, Array):
        return (
            "[list_is_an_array] "
            "a list of ints is asked for, and yours is an array: .tolist() makes one."
        )
    if not isinstance(got, list):
        return f"[list_is_another_thing] a list of ints is asked for, and yours is {a_kind(got)}."
    return ""


def no_slot_at_all(got):
    if any(type(slot) is float for slot in got):
        return (
            "[slots_are_floats] "
            "slots are whole numbers, and yours are floats: // and % keep whole numbers whole."
        )
    if any(isinstance(slot, list) for slot in got):
        return (
            "[slots_are_lists] "
            "one flat list of ints is asked for, row after row; in yours there are lists."
        )
    if any(isinstance(slot, tuple) for slot in got):
        return (
            "[slots_are_tuples] "
            "a slot is one number, block * block_size + offset; yours are tuples."
        )
    if any(isinstance(slot, Array) for slot in got):
        return (
            "[slots_are_arrays] "
            "a list of ints is asked for, and yours holds arrays; .tolist() gives ints."
        )
    return ""


def wrong_number(got, starts, nums):
    """What to say of a list that has too few slots, or too many."""
    if sum(starts) and len(got) == sum(starts) + sum(nums):
        return (
            "[slots_of_the_cached_tokens_too] "
            "only the new tokens are asked for; those in the cache have their slots already."
        )
    if 0 in nums and len(got) == sum(nums[: nums.index(0)]):
        return (
            "[empty_row_ends_the_list] "
            f"row {nums.index(0)} computes no token in this step and has no slots; the rows behind "
            "it have theirs all the same."
        )
    if len(got) != sum(nums):
        return (
            "[other_number_of_slots] "
            f"each new token has a slot, {sum(nums)} in all, and yours are {len(got)}. A row's "
            "positions are range(start, start + n), where start is how many are computed."
        )
    return ""


def believed(student, name, case, got, probes, together, parts, as_asked=lambda answer: answer):
    """The belief behind an answer: one that fits what comes of the probes, too."""
    seen = [(case, got)]
    for probe in probes:
        with contextlib.suppress(Raised):
            seen.append((probe, as_asked(student.call(name, *probe))))
    return why(seen, together, *parts)


@pytest.mark.task("5.1", points=0.75)
def test_the_table_says_in_which_block_a_token_lies(student):
    said = (
        "[other_slot_in_the_third_block] "
        "position 9 is the second token of the sequence's third block, which is block 5."
    )
    slots(student, ([[7, 3, 5]], [9], [1], 4), said)
    said = (
        "[other_slots_of_a_prompt] "
        "a prompt of 3 tokens fills the first three slots of its block, block 6."
    )
    slots(student, ([[6]], [0], [3], 4), said)


@pytest.mark.task("5.1", points=0.75)
def test_at_a_border_the_next_block_begins(student):
    said = "[other_slot_at_a_border] position 4 is the first slot of the sequence's second block."
    slots(student, ([[7, 2]], [4], [1], 4), said)
    said = "[other_slot_before_a_border] position 3 is the last slot of block 7."
    slots(student, ([[7, 2]], [3], [1], 4), said)
    said = (
        "[other_slots_across_a_border] two tokens: the last slot of block 7, the first of block 2."
    )
    slots(student, ([[7, 2]], [3], [2], 4), said)
    slots(
        student,
        ([[4, 0, 9]], [0], [10], 4),
        "[other_slots_of_ten_tokens] ten tokens of a prompt fill two blocks and a half",
    )
    said = (
        "[other_slot_with_a_block_unwritten] "
        "the table has a block that is not written yet: each token goes where its position says."
    )
    slots(student, ([[4, 0, 9]], [1], [4], 4), said)


@pytest.mark.task("5.1", points=0.75)
def test_rows_follow_one_another_each_with_its_own_table(student):
    said = "[other_slots_of_two_rows] two rows: positions 3 and 4 of the one, 0 and 1 of the other."
    slots(student, ([[7, 2], [5, 9]], [3, 0], [2, 2], 4), said)
    said = "[other_slots_of_three_rows] three rows, of 1, 5 and 1 new tokens."
    slots(student, ([[7, 2, 8], [5, 0], [1, 6]], [8, 0, 7], [1, 5, 1], 4), said)
    said = (
        "[other_slots_beside_an_empty_row] "
        "the second row computes no token in this step and has no slots; the third row follows."
    )
    slots(student, ([[7], [5], [1, 6]], [2, 3, 3], [1, 0, 2], 4), said)


@pytest.mark.task("5.1", points=0.75)
def test_it_holds_for_any_batch(student, rng):
    said = (
        "[other_slots_in_blocks_of_one] "
        "blocks of 1: every token has a block of its own, and the table is as long as the text."
    )
    slots(student, ([[3, 1, 4]], [1], [2], 1), said)
    said = (
        "[other_slots_in_blocks_of_five] "
        "blocks of 5: position 12 is the third token of the third block. block_size need not be a "
        "power of two: p // block_size and p % block_size hold for any."
    )
    slots(student, ([[4, 9, 2]], [12], [1], 5), said)
    said = (
        "[other_slots_in_blocks_of_seven] "
        "blocks of 7: twenty tokens from position 2 on fill the rest of one block, and two more."
    )
    slots(student, ([[8, 3, 6, 1]], [2], [20], 7), said)
    said = (
        "[slots_of_few_bits] "
        "the slots of block 200,000,000 do not fit into 32 bits: use Python's own ints, or int64."
    )
    slots(student, ([[3, 200_000_000]], [16], [2], 16), said)
    cases = [([[7, 2]], [3], [2], 4), ([[7, 9]], [3], [2], 4), ([[5, 9]], [3], [2], 4)]
    stays_right(student, "slot_mapping", cases, right_slots)
    said = (
        "[other_slots] "
        "the slot of position p is table[p // block_size] * block_size + p % block_size, with the "
        "table of its own row."
    )
    slots(student, (Lent([Lent([9, 3]), Lent([2])]), Lent([16, 0]), Lent([2, 3]), 16), said)
    for _ in range(8):
        size, rows = rng.choice([1, 2, 4, 7, 16]), rng.randint(1, 4)
        starts = [rng.randint(0, 3 * size) for _ in range(rows)]
        nums = [rng.randint(1, 2 * size + 1) for _ in range(rows)]
        free = rng.sample(range(200), 60)
        tables = [
            [free.pop() for _ in range(-(-(start + n) // size) + rng.randint(0, 1))]
            for start, n in zip(starts, nums, strict=True)
        ]
        slots(student, (tables, starts, nums, size), said)


# 5.2 ---------------------------------------------------------------------------------------------


@pytest.mark.task("5.2", points=1)
def test_it_hands_out_free_blocks_and_no_more(student):
    walk(student, 4, [("allocate", 2), ("allocate", 0), ("allocate", 2), ("allocate", 1)])
    walk(student, 4, [("allocate", 1), ("allocate", 4), ("allocate", 3)])
    keeps_its_answers(student, 4, [("allocate", 2), ("allocate", 1)])


@pytest.mark.task("5.2", points=1)
def test_a_block_is_free_when_its_last_holder_has_left(student):
    walk(student, 4, [("allocate", 2), ("free", [0, 1])])
    walk(student, 4, [("allocate", 2), ("share", [0]), ("free", [0, 1]), ("free", [0])])
    walk(student, 3, [("allocate", 1), ("share", [0]), ("share", [0]), *[("free", [0])] * 3])
    walk(student, 3, [("allocate", 2), ("share", [1, 0, 1]), *[("free", [0, 1])] * 2])


@pytest.mark.task("5.2", points=1)
def test_the_block_that_has_been_free_for_longest_is_taken_first(student):
    again = [("allocate", 5), ("free", [0]), ("allocate", 1)]  # 0 is the one taken last
    three = [("free", [3]), ("free", [0]), ("free", [2])]
    walk(student, 5, [*again, *three, ("allocate", 2), ("allocate", 1)])
    walk(student, 6, [("allocate", 4), ("free", [2]), ("allocate", 2), ("allocate", 1)])
    walk(student, 4, [("allocate", 3), ("free", [0, 1, 2]), ("allocate", 4)])
    shared = [("allocate", 3), ("share", [1, 0]), ("free", [1, 0]), ("free", [0, 1, 2])]
    walk(student, 3, [*shared, ("allocate", 3)])
    reset = ("rebuild", [])
    walk(student, 4, [("allocate", 2), ("free", [0, 1]), reset, ("allocate", 3), ("allocate", 1)])


AFTERWARDS = [("share", [0]), ("free", [0]), ("allocate", 2)]
MISUSES = [
    [("free", [0]), ("free", [0])],
    [("free", [3])],
    [("free", [0, 3])],
    [("free", [3, 0])],
    [("free", [0, 0])],
    [("share", [0]), ("free", [0, 1, 0, 0])],
    [("free", [-1])],
    [("free", [0, 5])],
    [("share", [3])],
    [("share", [0, 3])],
    [("share", [-1])],
    [("share", [0, 5])],
    [("allocate", 4)],
]


@pytest.mark.task("5.2", points=1)
def test_misuse_is_refused_and_changes_nothing(student):
    for calls in MISUSES:
        then = [("allocate", 2)] if ("free", [0]) in calls else AFTERWARDS
        walk(student, 5, [("allocate", 2), *calls, *then])
    walk(student, 2, [("allocate", 2), ("free", [-1]), ("share", [-1]), ("free", [0, 1])])


@pytest.mark.task("5.2", points=0.5)
def test_any_walk_leaves_the_books_as_ours(student, rng):
    walk(student, 3, [("allocate", 3), ("free", Lent([0, 1])), ("share", Lent([2]))])
    walk(student, 3, [("allocate", 2), ("share", [0]), ("free", [0, 1, 0]), ("allocate", 3)])
    walk(student, *fixed_walk())
    for _ in range(5):
        walk(student, *random_walk(rng))


@pytest.mark.task("5.2", points=0.5)
def test_an_engine_can_be_served_from_it(student):
    """Four requests and a fork in eight blocks of 4: blocks shared, given back, and taken again."""
    requests = [["A", 9, 12], ["B", 6, 5], ["C", 11, 9], ["D", 3, 14]]
    expected = tables_of_a_run(mb.BlockPool(8, 4), requests)
    try:
        got = student.unpacked(
            student.ask("run_engine", name="MyPool", num_blocks=8, block_size=4, requests=requests)
        )
    except Raised as error:
        error.sentence = (
            f"[pool_fails_under_an_engine] Under an engine your pool fails: {error.sentence}"
        )
        raise
    if got != expected:
        steps = list(zip(expected, got, strict=False)) if isinstance(got, list) else []
        number = next((n for n, (due, seen) in enumerate(steps) if due != seen), 0)
        raise Wrong(
            "[other_blocks_under_an_engine] "
            f"Under an engine, after step {number + 1} other blocks are held than with our pool.",
            expected=expected[number],
            got=got[number] if isinstance(got, list) and number < len(got) else got,
        )


# 5.3 ---------------------------------------------------------------------------------------------

WRITTEN = {  # which places of its table a sequence writes
    "": lambda computed, n, size, length: places(computed, computed + n, size),
    "[copies_every_shared_block] "
    "Only blocks that are written are copied; those before them it only reads, and they stay "
    "shared. Yours copies every shared block of the table.": (
        lambda computed, n, size, length: range(length)
    ),
    "[copies_by_the_last_block] "
    "Which block is written says the position of the new tokens, and it need not be the table's "
    "last.": (
        lambda computed, n, size, length: [length - 1],
        lambda computed, n, size, length: [length - 1] if n else [],
        lambda computed, n, size, length: [length - 1] if computed % size else [],
    ),
    "[copies_by_the_first_token] "
    "Several new tokens may reach into further blocks, and each that is shared is copied; yours "
    "looks at the first one's block only.": (
        lambda computed, n, size, length: [computed // size],
        lambda computed, n, size, length: [computed // size] if n else [],
    ),
    "[copies_by_the_last_token] "
    "Each block from the first new token's to the last one's is written; yours looks at the last "
    "one's only.": (
        lambda computed, n, size, length: [(computed + n - 1) // size],
        lambda computed, n, size, length: [(computed + n - 1) // size] if n else [],
    ),
    "[copies_the_full_block_before] "
    "The first new token has the position num_computed_tokens. At a border that is the next block, "
    "and the full one before it is only read; yours copies that one, too.": (
        lambda computed, n, size, length: places(max(0, computed - 1), computed + n, size),
        lambda computed, n, size, length: places(
            max(0, computed - 1), computed + max(0, n - 1), size
        ),
    ),
    "[copies_one_token_too_far] "
    "The last new token has the position num_computed_tokens + num_tokens - 1; yours goes one "
    "token too far, and copies a block that is not written.": (
        lambda computed, n, size, length: places(computed, computed + n + 1, size)
    ),
    "[rounds_the_end_down] "
    "The last block that is written need not be written to its end, and is copied all the same; "
    "yours rounds the end down.": (
        lambda computed, n, size, length: range(computed // size, (computed + n) // size)
    ),
    "[copies_one_token_short] "
    "The last new token has the position num_computed_tokens + num_tokens - 1; yours stops one "
    "token short of it.": lambda computed, n, size, length: places(
        computed, computed + n - 1, size
    ),
    "[writes_from_position_zero] "
    "New tokens come behind those that are computed: the first one's position is "
    "num_computed_tokens, not 0.": lambda computed, n, size, length: places(0, n, size),
    "[copies_what_is_computed] "
    "It writes the new tokens, not those that it has computed; these are only read.": (
        lambda computed, n, size, length: places(0, computed, size)
    ),
    "[copies_from_the_first_token_on] "
    "It writes the new tokens only; yours copies the blocks of all tokens, from the first on.": (
        lambda computed, n, size, length: places(0, computed + n, size)
    ),
    "[copies_partly_filled_only] "
    "A shared block is copied whether it is full or not, if it is written: yours copies only one "
    "that is partly filled, and writes into the others.": (
        lambda computed, n, size, length: [computed // size] if computed % size and n else [],
        lambda computed, n, size, length: [computed // size] if computed % size else [],
    ),
    "[position_not_divided] "
    "A position is a number of tokens, and the table has a place for each block: divide by "
    "block_size.": lambda computed, n, size, length: range(computed, computed + n),
    "[copies_without_a_write] No tokens, no write: then nothing is copied.": (
        lambda computed, n, size, length: places(computed, computed + max(1, n), size)
    ),
}
SHARED = {  # which of these have to be copied
    "": lambda holders, block, place: holders[block] > 1,
    "[copies_its_own_block] "
    "Who holds a block alone may write into it: a copy is due only where another holds it, too.": (
        lambda holders, block, place: True,
        lambda holders, block, place: holders[block] >= 1,
    ),
    "[copies_with_three_holders_only] "
    "Two holders are enough: a copy is due where holders is more than 1.": (
        lambda holders, block, place: holders[block] > 2
    ),
    "[copies_with_two_holders_only] "
    "Three holders are shared, too: a copy is due where holders is more than 1.": (
        lambda holders, block, place: holders[block] == 2
    ),
    "[writes_into_a_shared_block] "
    "Yours writes into a block that another holds, too, and destroys what that one will read: a "
    "copy is due where holders is more than 1.": lambda holders, block, place: False,
    "[asks_holders_with_the_place] "
    "holders is a list by block: ask holders[block_table[place]]; yours asks with the place.": (
        lambda holders, block, place: holders[place] > 1
    ),
    "[copies_what_is_not_shared] "
    "A block that is shared has to be copied; yours copies those that are not.": (
        lambda holders, block, place: holders[block] == 1,
        lambda holders, block, place: holders[block] <= 1,
    ),
}
TARGETS = {  # the new block of copy number n
    "": lambda free, n: free[n],
    "[takes_free_from_the_end] "
    "The free block to take first stands in front; yours takes them from the end.": (
        lambda free, n: free[-1 - n]
    ),
    "[takes_one_free_block_for_all] "
    "Each copy needs a block of its own; yours uses one free block for all of them.": (
        lambda free, n: free[0],
        lambda free, n: free[-1],
    ),
    "[takes_the_lowest_free] "
    "The free block to take first stands in front of free_ids; yours takes the lowest number.": (
        lambda free, n: sorted(free)[n]
    ),
}
PAIRS = {
    "": lambda source, target, place: (source, target),
    "[copy_is_backwards] A copy is (from, to): the shared block first, then the new one.": (
        lambda source, target, place: (target, source)
    ),
    "[copy_names_the_place] "
    "A copy names two blocks of the pool; yours names the place in the table.": (
        lambda source, target, place: (place, target)
    ),
}
NEW_TABLES = {
    "": lambda table, changed: [changed.get(place, block) for place, block in enumerate(table)],
    "[table_is_as_it_was] "
    "The table has to name the new block where it named the old one; yours is as it was, so the "
    "write would still go into the shared block.": lambda table, changed: list(table),
    "[new_block_stands_behind] "
    "The new block takes the old one's place in the table, for its tokens stand there; yours puts "
    "it behind the others.": lambda table, changed: [*table, *changed.values()],
    "[table_of_the_changes_only] The whole table is asked for, not only the places that change.": (
        lambda table, changed: list(changed.values())
    ),
    "[new_block_behind_without_the_old] "
    "The new block takes the old one's place in the table; yours leaves the old one out, and puts "
    "the new one behind the others.": lambda table, changed: [
        *[block for place, block in enumerate(table) if place not in changed],
        *changed.values(),
    ],
}


def places(first, end, size):
    return sorted({p // size for p in range(first, end)})


def written(parts):
    (table, holders, free, computed, n, size), which, shared, target, pair, new = parts
    copies, changed = [], {}
    for place in which(computed, n, size, len(table)):
        if place < len(table) and shared(holders, table[place], place):
            changed[place] = target(free, len(copies))
            copies.append(pair(table[place], changed[place], place))
    return copies, new(table, changed)


COPY_PARTS = (
    {"": lambda *case: case},
    given(WRITTEN),
    given(SHARED),
    given(TARGETS),
    given(PAIRS),
    given(NEW_TABLES),
)


def holding(**times):
    """holders of a pool of 12 blocks: b7=2 says that two hold block 7."""
    holders = [0] * 12
    for block, num_holders in times.items():
        holders[int(block[1:])] = num_holders
    return holders


COPY_PROBES = [
    ([7, 2, 5, 0], holding(b7=2, b2=2, b5=1, b0=3), [9, 1, 4], 5, 9, 4),
    ([7, 2, 5], holding(b7=3, b2=2, b5=2), [9, 1, 4], 4, 4, 4),
    ([3, 6], holding(b3=2, b6=2), [11, 8], 3, 2, 4),
    ([1, 0, 3], holding(b1=2, b0=1, b3=2), [9, 4, 5], 5, 6, 4),
    ([3, 6, 8], holding(b3=2, b6=2, b8=2), [9, 1, 4], 1, 2, 1),
]


def right_copies(*case):
    return written([part[""](*case) for part in COPY_PARTS])


def copies(student, case, otherwise):
    table, holders, free, computed, n, size = case
    expected = right_copies(*case)
    who = ", ".join(f"{b} is held by {holders[b]}" for b in table)
    shown = (
        f"Table {table}, where {who}; {computed} tokens computed and {n} to come, blocks of "
        f"{size}; free are {free}"
    )
    try:
        got = student.call("copy_on_write", *case)
    except Raised as error:
        error.sentence = failing(shown, error.sentence, otherwise)
        raise
    if as_asked(got) == expected:
        return
    said = no_pair(got) or believed(
        student, "copy_on_write", case, as_asked(got), COPY_PROBES, written, COPY_PARTS, as_asked
    )
    raise Wrong(f"{shown}. {said or otherwise}", expected=expected, got=got)


def as_asked(got):
    """Pairs may be lists, and the pair of both, too."""
    if not isinstance(got, tuple | list) or len(got) != 2 or not isinstance(got[0], list):
        return got
    pairs = [tuple(pair) if isinstance(pair, list) else pair for pair in got[0]]
    return pairs, got[1]


def no_pair(got):
    if got is None:
        return (
            "[copies_are_nothing] Your function returned nothing (None): return copies and table."
        )
    if not isinstance(got, tuple | list) or len(got) != 2:
        what = (
            f"a {type(got).__name__} of {len(got)}"
            if isinstance(got, tuple | list)
            else a_kind(got)
        )
        return (
            "[other_than_two_things] "
            f"Two things are asked for, the copies and the table; yours is {what}."
        )
    if not isinstance(got[0], list) or not isinstance(got[1], list):
        kinds = " and ".join(map(a_kind, got))
        return (
            "[other_than_two_lists] "
            f"Two lists are asked for, the copies and the table; yours are {kinds}."
        )
    if got[1] and all(isinstance(pair, tuple | list) for pair in got[1]):
        return (
            "[copies_and_table_swapped] "
            "The copies come first, and then the table; yours are the other way round."
        )
    if got[0] and not all(isinstance(pair, tuple | list) and len(pair) == 2 for pair in got[0]):
        return "[copies_are_no_pairs] Each copy is two blocks, (from, to); yours are other things."
    twice = [block for block, times in Counter(pair[0] for pair in got[0]).items() if times > 1]
    if twice:
        return (
            "[copied_more_than_once] "
            f"Block {twice[0]} is copied more than once; from the first copy on the table names "
            "the new one, and that is the one that is written."
        )
    return ""


@pytest.mark.task("5.3", points=1)
def test_a_shared_block_is_copied_before_it_is_written(student):
    said = (
        "[other_copy_of_a_shared_block] "
        "Position 6 lies in block 2, which another holds, too: it is copied into block 9."
    )
    copies(student, ([7, 2], holding(b7=2, b2=2), [9, 1], 6, 1, 4), said)
    said = (
        "[other_copy_of_a_thrice_held_block] "
        "Position 1 lies in block 5, which two others hold, too: it is copied into block 8."
    )
    copies(student, ([5], holding(b5=3), [8], 1, 1, 4), said)


@pytest.mark.task("5.3", points=1)
def test_a_sole_holder_writes_in_place(student):
    said = (
        "[other_copy_of_its_own_block] "
        "Position 6 lies in block 2, which nobody else holds: it is written as it is."
    )
    copies(student, ([7, 2], holding(b7=2, b2=1), [9, 1], 6, 1, 4), said)
    said = (
        "[other_copy_beside_a_shared_block] "
        "Positions 5 and 6 lie in block 2, its own; block 0 is shared, and not written."
    )
    copies(student, ([7, 2, 0], holding(b7=2, b2=1, b0=2), [9, 1], 5, 2, 4), said)


@pytest.mark.task("5.3", points=1)
def test_only_blocks_that_are_written_are_copied(student):
    said = (
        "[other_copy_at_a_border] "
        "Position 8 begins the third block, which is shared: it is copied, though nothing in it is "
        "computed yet. The two before it are only read."
    )
    copies(student, ([7, 2, 5], holding(b7=2, b2=2, b5=2), [9, 1], 8, 1, 4), said)
    said = (
        "[other_copy_past_the_table] "
        "Position 8 lies past the end of the table: it gets a new block later, and no copy."
    )
    copies(student, ([7, 2], holding(b7=2, b2=2), [9, 1], 8, 1, 4), said)
    said = (
        "[other_copy_up_to_the_end] "
        "Positions 6 and 7 fill block 2 to its end; block 5 is not written."
    )
    copies(student, ([7, 2, 5], holding(b7=2, b2=2, b5=2), [9, 1], 6, 2, 4), said)
    said = (
        "[other_copy_behind_a_full_block] "
        "Positions 4 to 6 begin in block 2; block 7 is full, and only read."
    )
    copies(student, ([7, 2], holding(b7=2, b2=2), [9, 1], 4, 3, 4), said)
    said = (
        "[other_copy_in_the_first_block] "
        "Position 2 lies in the first block; the one behind it is not written."
    )
    copies(student, ([3, 6], holding(b3=2, b6=2), [11, 8], 2, 1, 4), said)
    said = "[other_copy_without_tokens] No token is written, so nothing is copied."
    copies(student, ([7, 2], holding(b7=2, b2=2), [9, 1], 6, 0, 4), said)


@pytest.mark.task("5.3", points=1)
def test_a_write_over_several_blocks_copies_each_that_is_shared(student, rng):
    said = (
        "[other_copies_in_three_blocks] "
        "Positions 6 to 12 lie in blocks 2, 5 and 0. Of these 2 and 0 are shared: each is copied "
        "into the next free block. Block 5 is the sequence's own: it takes no free block, and the "
        "blocks behind it are still looked at."
    )
    many = holding(b7=2, b2=2, b5=1, b0=3)
    copies(student, ([7, 2, 5, 0], many, [9, 1, 4], 6, 7, 4), said)
    said = (
        "[other_copies_in_two_blocks] Positions 4 to 11 lie in blocks 2 and 5, and both are shared."
    )
    copies(student, ([7, 2, 5], holding(b7=2, b2=2, b5=2), [10, 1, 4], 4, 8, 4), said)
    said = (
        "[other_copies_in_blocks_of_five] "
        "Blocks of 5: positions 9 and 10 lie in blocks 2 and 5. block_size need not be a power of "
        "two: p // block_size holds for any."
    )
    copies(student, ([7, 2, 5], holding(b7=2, b2=2, b5=2), [10, 1, 4], 9, 2, 5), said)
    said = (
        "[other_table_than_its_own] "
        "The lists are the caller's; the table that you return is your own."
    )
    lent = Lent([7, 2]), Lent(holding(b7=2, b2=2)), Lent([9, 1]), 5, 2, 4
    copies(student, lent, said)
    lent = Lent([7, 2]), Lent(holding(b7=2, b2=1)), Lent([9, 1]), 5, 2, 4
    copies(student, lent, said)
    if isinstance(as_asked(student.call("copy_on_write", *lent))[1], Lent):
        raise Wrong(
            "[table_is_the_callers] "
            "Nothing has to be copied here, and the table that you return is the very list that "
            "you were given: whoever changes the one changes the other. Return list(block_table)."
        )
    writes = [([7, 2], holding(b7=2, b2=2), [9, 1], computed, 1, 4) for computed in (6, 1)]
    stays_right(student, "copy_on_write", writes, right_copies, as_asked)
    for _ in range(8):
        size, length = rng.choice([1, 2, 4, 5, 16]), rng.randint(1, 5)
        blocks = rng.sample(range(12), 12)
        table, free = blocks[:length], blocks[length : 2 * length + 1]
        holders = [rng.randint(1, 3) if block in table else 0 for block in range(12)]
        computed, n = rng.randint(0, length * size), rng.randint(0, 2 * size + 1)
        copies(
            student,
            (table, holders, free, computed, n, size),
            "[other_copies] See which blocks are written.",
        )


# 5.4 ---------------------------------------------------------------------------------------------


def power_from(tokens):
    return 2 ** (tokens - 1).bit_length()


def blocks_of(tokens, size):
    return -(-tokens // size) * size


ALL_OF_IT = {
    "[prompt_alone] the answer's tokens are stored, too; yours has room for the prompt only.": (
        lambda p, a, most, size: p
    ),
    "[answer_alone] "
    "the prompt is stored, too; yours has room for the answer only.": lambda p, a, most, size: a,
}
ANY_OTHER = {
    "[takes_what_maximum_takes] "
    "that is what “maximum” takes, max_model_len.": lambda p, a, most, size: most,
    "[takes_what_told_takes] that is what “told” takes, the prompt and the answer and no more.": (
        lambda p, a, most, size: p + a
    ),
    "[takes_what_paged_takes] that is what “paged” takes, whole blocks.": lambda p, a, most, size: (
        blocks_of(p + a, size)
    ),
    "[takes_what_power_of_two_takes] that is what “power of two” takes.": lambda p, a, most, size: (
        p + power_from(a)
    ),
}
TAKES = {
    "maximum": {
        "": lambda p, a, most, size: most,
        "[maximum_beside_the_prompt] "
        "“maximum” sets aside max_model_len for each, prompt included; yours adds the prompt.": (
            lambda p, a, most, size: p + most
        ),
        "[maximum_without_the_prompt] "
        "“maximum” sets aside max_model_len for each, prompt included; yours takes that off.": (
            lambda p, a, most, size: most - p
        ),
        "[maximum_rounded_up] "
        "“maximum” sets aside as much as the model can take, max_model_len; yours rounds it up to a"
        " power of two.": lambda p, a, most, size: power_from(most),
    },
    "power of two": {
        "": lambda p, a, most, size: p + power_from(a),
        "[power_of_two_doubled] "
        "an answer that is a power of two already gets just that: 32 tokens get 32.": (
            lambda p, a, most, size: p + 2 ** a.bit_length()
        ),
        "[power_by_logarithm] "
        "math.log(n, 2) is a quotient of two floats, and above a whole number for some powers of "
        "two. Double 1 until it is not below the answer.": (
            lambda p, a, most, size: p + 2 ** math.ceil(math.log(a, 2))
        ),
        "[power_of_two_rounded_down] "
        "the next power of two is not below the answer; yours rounds down.": (
            lambda p, a, most, size: p + 2 ** (a.bit_length() - 1)
        ),
        "[power_of_two_of_the_sum] "
        "only the answer's length is unknown, and is rounded up; the prompt takes what it has. "
        "Yours rounds their sum.": (
            lambda p, a, most, size: power_from(p + a),
            lambda p, a, most, size: 2 ** (p + a).bit_length(),
        ),
        "[power_of_two_of_both] "
        "only the answer's length is unknown, and is rounded up; the prompt takes what it has. "
        "Yours rounds both.": lambda p, a, most, size: power_from(p) + power_from(a),
        "[power_of_two_of_the_prompt] "
        "only the answer's length is rounded up; yours rounds the prompt's.": (
            lambda p, a, most, size: power_from(p) + a
        ),
        "[power_of_two_without_the_prompt] "
        "the prompt is stored, too; yours has room for the rounded answer only.": (
            lambda p, a, most, size: power_from(a)
        ),
        "[power_of_two_up_to_the_maximum] "
        "what is set aside is the prompt and the next power of two, even beyond max_model_len; "
        "yours takes no more than that.": (
            lambda p, a, most, size: min(p + power_from(a), most),
            lambda p, a, most, size: p + min(power_from(a), most - p),
        ),
        "[twice_the_answer] the next power of two, 1, 2, 4, 8, …; yours takes twice the answer.": (
            lambda p, a, most, size: p + 2 * a
        ),
        "[square_of_the_answer] "
        "the next power of two, 1, 2, 4, 8, …; yours takes the answer's square.": (
            lambda p, a, most, size: p + a * a
        ),
    },
    "told": {
        "": lambda p, a, most, size: p + a,
        "[told_without_the_last_token] "
        "the last token counts here, too: the prompt and the whole answer.": (
            lambda p, a, most, size: p + a - 1
        ),
    },
    "paged": {
        "": lambda p, a, most, size: blocks_of(p + a, size),
        "[blocks_rounded_down] "
        "a block that is partly filled is taken whole: round up, -(-tokens // block_size); yours "
        "rounds down.": lambda p, a, most, size: (p + a) // size * size,
        "[rounds_all_together] "
        "“paged” takes whole blocks for each request: round up what it takes, prompt and answer. "
        "Yours rounds nothing, or the sum of all requests.": lambda p, a, most, size: p + a,
        "[blocks_by_bits] "
        "block_size need not be a power of two: -(-tokens // block_size) * block_size rounds up to "
        "any; yours uses its bits.": lambda p, a, most, size: (p + a + size - 1) & -size,
        "[always_one_block_more] "
        "what fills its blocks exactly needs no further one: yours always takes one block more.": (
            lambda p, a, most, size: ((p + a) // size + 1) * size
        ),
        "[blocks_rounded_twice] "
        "the answer goes on in the prompt's last block: round up the sum, once.": (
            lambda p, a, most, size: blocks_of(p, size) + blocks_of(a, size)
        ),
        "[blocks_of_the_prompt] "
        "the answer's tokens are stored in blocks, too; yours has room for the prompt only.": (
            lambda p, a, most, size: blocks_of(p, size)
        ),
        "[blocks_of_the_answer] "
        "the prompt is stored in blocks, too; yours has room for the answer only.": (
            lambda p, a, most, size: blocks_of(a, size)
        ),
        "[rounds_the_answer_alone] "
        "the prompt lies in blocks as well as the answer; yours rounds the answer up alone.": (
            lambda p, a, most, size: p + blocks_of(a, size)
        ),
        "[rounds_the_prompt_alone] "
        "the answer lies in blocks as well as the prompt; yours rounds the prompt up alone.": (
            lambda p, a, most, size: blocks_of(p, size) + a
        ),
        "[block_for_each_token] "
        "the capacity is in tokens, and yours takes a block for a token: blocks * block_size.": (
            lambda p, a, most, size: -(-(p + a) // size)
        ),
        "[one_block_each] "
        "how many blocks there are is capacity // block_size; yours takes block_size for each "
        "sequence.": lambda p, a, most, size: size,
        "[paged_without_the_last_token] "
        "the last token counts here, too: the prompt and the whole answer.": (
            lambda p, a, most, size: blocks_of(p + a - 1, size)
        ),
    },
}
COUNTS = {
    "": lambda takes, capacity: _until(takes, capacity),
    "[small_one_overtakes] "
    "the next in line waits until it fits, and so do those behind it: stop there. In yours a small "
    "one overtakes it.": lambda takes, capacity: _until(takes, capacity, skip=True),
    "[exact_fit_does_not_count] who fits exactly fits: the room may be filled to its last token.": (
        lambda takes, capacity: _until(takes, capacity - 1)
    ),
    "[counts_the_one_too_many] the one that no longer fits does not count.": (
        lambda takes, capacity: min(len(takes), _until(takes, capacity) + 1),
        lambda takes, capacity: sum(sum(takes[:n]) < capacity for n in range(len(takes))),
    ),
    "[divides_by_the_first] "
    "each takes its own room; yours counts how often the first one's goes into the capacity.": (
        lambda takes, capacity: min(len(takes), capacity // takes[0]),
        lambda takes, capacity: capacity // takes[0],
    ),
    "[divides_by_the_largest] "
    "each takes its own room; yours divides the capacity by what the largest takes.": (
        lambda takes, capacity: min(len(takes), capacity // max(takes)),
        lambda takes, capacity: capacity // max(takes),
    ),
    "[divides_by_the_mean] each takes its own room; yours divides the capacity by the mean.": (
        lambda takes, capacity: int(capacity // (sum(takes) / len(takes))),
        lambda takes, capacity: min(len(takes), int(capacity // (sum(takes) / len(takes)))),
    ),
    "[smallest_first] they come in order; yours takes the smallest first.": (
        lambda takes, capacity: _until(sorted(takes), capacity)
    ),
    "[more_than_come] there are no more than come: the count ends with the last request.": (
        lambda takes, capacity: capacity // takes[0] if len(set(takes)) == 1 else -1
    ),
    "[looks_at_each_alone] "
    "all of them have to fit at once, beside one another; yours looks at each one alone.": (
        lambda takes, capacity: sum(one <= capacity for one in takes)
    ),
    "[tokens_in_place_of_requests] "
    "how many requests is asked for, and yours is how many tokens they take.": (
        lambda takes, capacity: sum(takes[: _until(takes, capacity)])
    ),
    "[room_that_is_left] how many requests is asked for, and yours is how much room is left.": (
        lambda takes, capacity: capacity - sum(takes[: _until(takes, capacity)])
    ),
}


def _until(takes, capacity, skip=False):
    count = 0
    for one in takes:
        if one > capacity:
            if skip:
                continue
            break
        capacity -= one
        count += 1
    return count


def fitting(parts):
    (_, requests, capacity, most, size), takes, count = parts
    return count([takes(prompt, answer, most, size) for prompt, answer in requests], capacity)


MIXED = [(10, 5), (20, 9), (7, 8), (3, 16), (12, 20), (1, 1), (30, 33), (5, 7)]
FIT_PROBES = [
    (MIXED, capacity, 128, size)
    for size in (4, 8)
    for capacity in (40, 64, 88, 128, 160, 200, 256, 400)
]

OF_OTHER_ROOM = ("[divides_by_the_first]", "[divides_by_the_largest]", "[divides_by_the_mean]")


def counted(allocator):
    """What belongs to one allocator: its own beliefs, and to have been taken for another one."""
    examples, own = [(10, 5, 128, 4), (20, 9, 128, 4)], TAKES[allocator]

    def answers(form):
        return [form(*example) for example in examples]

    others = {**ALL_OF_IT, **ANY_OTHER}
    if allocator == "paged":  # it has words of its own for what “told” takes
        others = {said: f for said, f in ANY_OTHER.items() if "“told”" not in said}
    others = {said: form for said, form in others.items() if answers(form) != answers(own[""])}
    counts = {
        said: forms
        for said, forms in COUNTS.items()
        if allocator != "maximum" or not said.startswith(OF_OTHER_ROOM)
    }
    return Counted(
        "how_many_fit",
        ("allocator", "requests", "capacity", "max_model_len", "block_size"),
        [(allocator, *probe) for probe in FIT_PROBES],
        fitting,
        {"": lambda *case: case},
        given({**own, **others}),
        given(counts),
    )


FIT = {allocator: counted(allocator) for allocator in TAKES}


def fit(student, allocator, requests, capacity, max_model_len=128, block_size=4):
    takes = [TAKES[allocator][""](*request, max_model_len, block_size) for request in requests]
    said = (
        f"[other_number_fits] they take {', '.join(map(str, takes))} tokens, one after the other."
    )
    if allocator == "maximum":
        said = (
            "[other_number_fits_by_maximum] "
            f"each takes {max_model_len} tokens, however few it will have in the end."
        )
    case = allocator, requests, capacity, max_model_len, block_size
    FIT[allocator].check(student, case, said)


@pytest.mark.task("5.4", points=0.5)
def test_the_maximum_is_set_aside_for_each(student):
    fit(student, "maximum", [(10, 5), (20, 9), (7, 8), (3, 3)], 200, 64)
    fit(student, "maximum", [(10, 5), (20, 9), (7, 8), (3, 3)], 180, 64)
    fit(student, "maximum", [(10, 5), (20, 9)], 512, 64)
    fit(student, "maximum", [(10, 5), (20, 9), (7, 8)], 128, 64)


@pytest.mark.task("5.4", points=0.5)
def test_told_the_length_it_takes_the_prompt_and_the_answer(student):
    fit(student, "told", [(10, 5), (20, 9), (7, 8)], 48)
    fit(student, "told", [(10, 5), (10, 5), (10, 5)], 44)
    fit(student, "told", [(10, 6), (20, 12), (7, 8)], 48)
    fit(student, "told", [(10, 5), (30, 9), (2, 2)], 40)


@pytest.mark.task("5.4", points=0.75)
def test_the_next_power_of_two_is_taken_for_the_answer(student):
    fit(student, "power of two", [(10, 25), (10, 25), (10, 25)], 84)
    fit(student, "power of two", [(10, 32), (10, 1), (10, 16)], 80)
    fit(student, "power of two", [(12, 5), (12, 9), (12, 17)], 64)
    fit(student, "power of two", [(20, 9), (20, 9)], 64, 32)
    fit(student, "power of two", [(8, 2**29), (8, 2**29)], 2**30 + 16)


@pytest.mark.task("5.4", points=0.75)
def test_blocks_are_rounded_up_once(student):
    fit(student, "paged", [(9, 4), (9, 4), (9, 4)], 44)
    fit(student, "paged", [(10, 7), (10, 7)], 36)
    fit(student, "paged", [(9, 3), (9, 3), (9, 3)], 36)  # three full blocks each
    fit(student, "paged", [(10, 6), (10, 6), (10, 6)], 48)
    fit(student, "paged", [(9, 5), (9, 5), (9, 5)], 48)
    fit(student, "paged", [(9, 5), (9, 5), (9, 5)], 96, block_size=16)
    fit(student, "paged", [(9, 3), (9, 3), (9, 3)], 45, block_size=5)


@pytest.mark.task("5.4", points=0.5)
def test_any_requests_are_counted(student, rng):
    for allocator in TAKES:
        for capacity in (40, 64, 128, 200, 400):
            fit(student, allocator, MIXED, capacity)
        fit(student, allocator, Lent([(10, 5), (20, 9)]), 48)
    for _ in range(6):
        size = rng.choice([1, 4, 5, 16])
        requests = [(rng.randint(1, 40), rng.randint(1, 40)) for _ in range(rng.randint(1, 8))]
        capacity = size * rng.randint(1, 400 // size)
        for allocator in TAKES:
            fit(student, allocator, requests, capacity, 128, size)


NOW_YOURS = {
    "5.1": now_yours.slots,
    "5.2": now_yours.pool,
    "5.3": now_yours.copies,
    "5.4": now_yours.how_many,
}

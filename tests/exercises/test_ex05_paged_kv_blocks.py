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
    "[position_counts_new_tokens] you count each row's new tokens from 0; num_computed_tokens "
    "tokens are already in the cache, "
    "so the first new token has the position num_computed_tokens.": lambda start, k, t, first: k,
    "[position_is_one_more] You begin one position too late: positions count from 0, so the "
    "first new token has the position num_computed_tokens.": (
        lambda start, k, t, first: start + k + 1
    ),
    "[position_is_one_less] You begin one position too early: the last token in the cache has "
    "the position num_computed_tokens "
    "- 1, and the first new token comes after it.": lambda start, k, t, first: start + k - 1,
    "[position_in_the_whole_batch] You use a token's index in the whole batch; a token's "
    "position is the index in its own sequence.": (
        lambda start, k, t, first: t,
        lambda start, k, t, first: first + t,
    ),
    "[all_at_the_first_position] You put all tokens of a row at the position of the first token; "
    "each new token has a position of its own.": (lambda start, k, t, first: start),
}
TABLES = {
    "": lambda tables, row: tables[row],
    "[first_rows_table] You look up all rows in the first row's table; each row has a table of "
    "its own.": (lambda tables, row: tables[0]),
    "[last_rows_table] You look up all rows in the last row's table; each row has a table of its "
    "own.": (lambda tables, row: tables[-1]),
    "[no_table_at_all] You use the first blocks of the pool, without a table. A sequence's "
    "blocks can be "
    "anywhere in the pool: look up table[p // block_size].": (lambda tables, row: list(range(99))),
}
PLACES = {  # in the table
    "": lambda p, start, k, size, table: p // size,
    "[offset_taken_for_the_block] You use p % block_size, the offset inside the block, as the "
    "index of the block; p // block_size "
    "is the index of a token's block in the table.": lambda p, start, k, size, table: p % size,
    "[round_and_round_the_table] You use p % len(table), which cycles through the blocks; blocks "
    "are filled "
    "one after the other, so use p // block_size.": lambda p, start, k, size, table: p % len(table),
    "[all_in_the_first_tokens_block] You put all tokens into the first new token's block. A row "
    "that computes several tokens may begin in one block and end in another block: calculate the "
    "block from each token's own position.": (lambda p, start, k, size, table: start // size),
    "[all_in_the_last_block] You put new tokens into the table's last block; new tokens may "
    "belong to an earlier block: use p // block_size.": (lambda p, start, k, size, table: -1),
    "[all_in_the_first_block] You put all tokens into the table's first block: use p // "
    "block_size.": (lambda p, start, k, size, table: 0),
    "[blocks_begin_with_new_tokens] You put the new tokens into the first block of the table; "
    "the tokens already in the cache take blocks, too.": lambda p, start, k, size, table: k // size,
    "[next_block_one_token_late] You still put position 4 into the first block. A block of 4 "
    "holds the positions 0 to 3, and position 4 begins the next block: p // block_size, not (p - "
    "1) // block_size.": (lambda p, start, k, size, table: max(0, p - 1) // size),
    "[block_before_its_own] You use the block before the right block: the table's first block "
    "has index 0, so use p // block_size, not one less.": (
        lambda p, start, k, size, table: p // size - 1
    ),
    "[next_block_one_token_early] You change to the next block one token early; a block of 4 "
    "holds the positions 0 to 3.": (lambda p, start, k, size, table: (p + 1) // size),
}
SLOTS = {
    "": lambda block, p, k, size: block * size + p % size,
    "[offset_added_to_the_block] You add the offset to the block's id; a block is block_size "
    "slots "
    "long, so block b begins at slot b * block_size.": lambda block, p, k, size: block + p % size,
    "[slot_of_the_blocks_beginning] You return the slot where the token's block begins; add the "
    "offset inside the block, p % block_size.": (lambda block, p, k, size: block * size),
    "[block_in_place_of_the_slot] You return the id of the token's block; the slot is block * "
    "block_size + p % block_size.": (lambda block, p, k, size: block),
    "[position_added_to_the_block] You add all of p to the beginning of the block; the offset "
    "inside the block is p % block_size.": (lambda block, p, k, size: block * size + p),
    "[offset_counts_new_tokens] You use the number of the new token in its row as the offset; "
    "new tokens need not begin at a block boundary. The offset inside the block is p % "
    "block_size.": lambda block, p, k, size: block * size + k % size,
    "[blocks_count_from_one] You count the blocks of the pool from 1; blocks count from 0: block "
    "b begins at b * block_size.": (lambda block, p, k, size: (block - 1) * size + p % size),
    "[offset_counts_from_one] You count the slots of a block from 1; slots count from 0: the "
    "offset is p % block_size.": (lambda block, p, k, size: block * size + p % size + 1),
    "[slots_laid_apart] You spread the slots of a block, offset * block_size + block; the slots "
    "of one block follow "
    "one another: block * block_size + offset.": lambda block, p, k, size: p % size * size + block,
    "[offset_in_place_of_the_slot] You return only the offset inside the block; add the slot at "
    "which the block begins, block * block_size.": (lambda block, p, k, size: p % size),
}
SHAPES = {
    "": lambda rows: [slot for row in rows for slot in row],
    "[last_row_only] You return only the slots of the last row; return the slots of all rows. Do "
    "you create a new list for each row?": lambda rows: list(rows[-1]),
    "[first_row_only] You return only the slots of the first row; return the slots of all rows. "
    "Is `return` inside the loop?": (lambda rows: list(rows[0])),
    "[first_token_of_each_row] You return only the slot of the first new token of each row; "
    "return the slots of all new tokens.": (lambda rows: [row[0] for row in rows]),
    "[last_token_of_each_row] You return only the slot of the last new token of each row; return "
    "the slots of all new tokens.": (lambda rows: [row[-1] for row in rows]),
    "[slots_are_sorted] You sort the slots; the rows keep their order.": (
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
        "[another_block_size] You always use the same block size; block_size is an argument and "
        "differs from case to case.": (
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
            "your function returned nothing (None). End it with `return` and the list."
        )
    if isinstance(got, Array):
        return "[list_is_an_array] your answer is an array; return a list of ints. Use .tolist()."
    if not isinstance(got, list):
        return (
            "[list_is_another_thing] your answer must be a list of ints, and you return "
            f"{a_kind(got)}."
        )
    return ""


def no_slot_at_all(got):
    if any(type(slot) is float for slot in got):
        return "[slots_are_floats] your slots are floats; slots are whole numbers: use // and %."
    if any(isinstance(slot, list) for slot in got):
        return (
            "[slots_are_lists] your answer contains lists; return one flat list of ints, row "
            "after row."
        )
    if any(isinstance(slot, tuple) for slot in got):
        return (
            "[slots_are_tuples] your slots are tuples; a slot is one number, block * block_size "
            "+ offset."
        )
    if any(isinstance(slot, Array) for slot in got):
        return "[slots_are_arrays] your answer holds arrays; return a list of ints. Use .tolist()."
    return ""


def wrong_number(got, starts, nums):
    "The sentence for a list of slots that is too short or too long."
    if sum(starts) and len(got) == sum(starts) + sum(nums):
        return (
            "[slots_of_the_cached_tokens_too] you return the slots of the cached tokens, too; "
            "return only the slots of the new tokens."
        )
    if 0 in nums and len(got) == sum(nums[: nums.index(0)]):
        return (
            "[empty_row_ends_the_list] you return no slots for the rows after row "
            f"{nums.index(0)}. This row computes no token in this step and has no slots; the "
            "rows after it still have slots."
        )
    if len(got) != sum(nums):
        return (
            f"[other_number_of_slots] you return {len(got)} slots; each new token has a slot, "
            f"{sum(nums)} in all. A row's positions are range(start, start + n), where start is "
            "the number of computed tokens."
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
        "[other_slot_in_the_third_block] your slot is wrong: position 9 is the second token of "
        "the sequence's third block, which is block 5."
    )
    slots(student, ([[7, 3, 5]], [9], [1], 4), said)
    said = (
        "[other_slots_of_a_prompt] your slots are wrong: a prompt of 3 tokens fills the first "
        "three slots of its block, block 6."
    )
    slots(student, ([[6]], [0], [3], 4), said)


@pytest.mark.task("5.1", points=0.75)
def test_at_a_block_boundary_the_next_block_begins(student):
    said = (
        "[other_slot_at_a_border] your slot is wrong: position 4 is the first slot of the "
        "sequence's second block."
    )
    slots(student, ([[7, 2]], [4], [1], 4), said)
    said = (
        "[other_slot_before_a_border] your slot is wrong: position 3 is the last slot of block 7."
    )
    slots(student, ([[7, 2]], [3], [1], 4), said)
    said = (
        "[other_slots_across_a_border] your slots are wrong: the two tokens take the last slot "
        "of block 7 and the first slot of block 2."
    )
    slots(student, ([[7, 2]], [3], [2], 4), said)
    slots(
        student,
        ([[4, 0, 9]], [0], [10], 4),
        "[other_slots_of_ten_tokens] your slots are wrong: ten tokens of a prompt fill two blocks "
        "and half of a third block.",
    )
    said = (
        "[other_slot_with_a_block_unwritten] your slot is wrong: the table has a block that is "
        "not written yet. Calculate each slot from the token's position."
    )
    slots(student, ([[4, 0, 9]], [1], [4], 4), said)


@pytest.mark.task("5.1", points=0.75)
def test_rows_follow_one_another_each_with_its_own_table(student):
    said = (
        "[other_slots_of_two_rows] your slots are wrong: the two rows have positions 3 and 4 of "
        "the first sequence, and 0 and 1 of the second."
    )
    slots(student, ([[7, 2], [5, 9]], [3, 0], [2, 2], 4), said)
    said = (
        "[other_slots_of_three_rows] your slots are wrong: the three rows have 1, 5 and 1 new "
        "tokens."
    )
    slots(student, ([[7, 2, 8], [5, 0], [1, 6]], [8, 0, 7], [1, 5, 1], 4), said)
    said = (
        "[other_slots_beside_an_empty_row] your slots are wrong: the second row computes no "
        "token in this step and has no slots; the third row follows."
    )
    slots(student, ([[7], [5], [1, 6]], [2, 3, 3], [1, 0, 2], 4), said)


@pytest.mark.task("5.1", points=0.75)
def test_it_holds_for_any_batch(student, rng):
    said = (
        "[other_slots_in_blocks_of_one] your slots are wrong in blocks of 1: every token has a "
        "block of its own, and the table has as many entries as the sequence has tokens."
    )
    slots(student, ([[3, 1, 4]], [1], [2], 1), said)
    said = (
        "[other_slots_in_blocks_of_five] your slots are wrong in blocks of 5: position 12 is the "
        "third token of the third block. block_size need not be a power of two: p // block_size "
        "and p % block_size hold for any size."
    )
    slots(student, ([[4, 9, 2]], [12], [1], 5), said)
    said = (
        "[other_slots_in_blocks_of_seven] your slots are wrong in blocks of 7: twenty tokens "
        "from position 2 on take the last 5 slots of one block, all 7 of the next two blocks, and "
        "1 slot of a fourth block."
    )
    slots(student, ([[8, 3, 6, 1]], [2], [20], 7), said)
    said = (
        "[slots_of_few_bits] your slots are wrong: the slots of block 200,000,000 do not fit "
        "into 32 bits. Use Python's own ints, or int64."
    )
    slots(student, ([[3, 200_000_000]], [16], [2], 16), said)
    cases = [([[7, 2]], [3], [2], 4), ([[7, 9]], [3], [2], 4), ([[5, 9]], [3], [2], 4)]
    stays_right(student, "slot_mapping", cases, right_slots)
    said = (
        "[other_slots] your slots are wrong: the slot of position p is table[p // block_size] * "
        "block_size + p % block_size, with the table of its own row."
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
def test_it_allocates_only_free_blocks(student):
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
def test_any_sequence_of_calls_gives_the_same_free_blocks_and_holders(student, rng):
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
            f"[pool_fails_under_an_engine] In an engine your pool fails: {error.sentence}"
        )
        raise
    if got != expected:
        steps = list(zip(expected, got, strict=False)) if isinstance(got, list) else []
        number = next((n for n, (due, seen) in enumerate(steps) if due != seen), 0)
        raise Wrong(
            f"[other_blocks_under_an_engine] In an engine, after step {number + 1}, the held "
            "blocks are not those of the solution's pool.",
            expected=expected[number],
            got=got[number] if isinstance(got, list) and number < len(got) else got,
        )


# 5.3 ---------------------------------------------------------------------------------------------

WRITTEN = {  # which places of its table a sequence writes
    "": lambda computed, n, size, length: places(computed, computed + n, size),
    "[copies_every_shared_block] You copy every shared block of the table. Copy only blocks that "
    "are written; the blocks "
    "before them are only read and stay shared.": (lambda computed, n, size, length: range(length)),
    "[copies_by_the_last_block] You look at the table's last block; the position of the new "
    "tokens determines which block is written.": (
        lambda computed, n, size, length: [length - 1],
        lambda computed, n, size, length: [length - 1] if n else [],
        lambda computed, n, size, length: [length - 1] if computed % size else [],
    ),
    "[copies_by_the_first_token] You check only the block of the first new token; several new "
    "tokens may reach into further blocks, and each shared block of these is copied.": (
        lambda computed, n, size, length: [computed // size],
        lambda computed, n, size, length: [computed // size] if n else [],
    ),
    "[copies_by_the_last_token] You check only the block of the last new token; every block from "
    "that of the first new token to that of the last is written.": (
        lambda computed, n, size, length: [(computed + n - 1) // size],
        lambda computed, n, size, length: [(computed + n - 1) // size] if n else [],
    ),
    "[copies_the_full_block_before] You also copy the full block before the first new token. "
    "This token has the position num_computed_tokens. At a block boundary this position is in "
    "the next block, and the full block is only read.": (
        lambda computed, n, size, length: places(max(0, computed - 1), computed + n, size),
        lambda computed, n, size, length: places(
            max(0, computed - 1), computed + max(0, n - 1), size
        ),
    ),
    "[copies_one_token_too_far] You go one token too far, and copy a block that is not written; "
    "the last new token has the position num_computed_tokens + num_tokens - 1.": (
        lambda computed, n, size, length: places(computed, computed + n + 1, size)
    ),
    "[rounds_the_end_down] You round the end down; copy the last written block even if the new "
    "tokens do not "
    "fill it.": (lambda computed, n, size, length: range(computed // size, (computed + n) // size)),
    "[copies_one_token_short] You stop one token short of the last new token, which has the "
    "position num_computed_tokens + num_tokens - 1.": lambda computed, n, size, length: places(
        computed, computed + n - 1, size
    ),
    "[writes_from_position_zero] You begin at position 0; new tokens come after the computed "
    "tokens, so the first new token "
    "has the position num_computed_tokens.": lambda computed, n, size, length: places(0, n, size),
    "[copies_what_is_computed] You copy the blocks of computed tokens, which are only read; the "
    "step writes only the new tokens.": (
        lambda computed, n, size, length: places(0, computed, size)
    ),
    "[copies_from_the_first_token_on] You copy the blocks of all tokens; the step writes only "
    "the new tokens.": (lambda computed, n, size, length: places(0, computed + n, size)),
    "[copies_partly_filled_only] You copy only partly filled blocks, and write into the other "
    "shared blocks: a shared block that is written is copied, full or not.": (
        lambda computed, n, size, length: [computed // size] if computed % size and n else [],
        lambda computed, n, size, length: [computed // size] if computed % size else [],
    ),
    "[position_not_divided] You use a position as an index of the table: a position counts "
    "tokens, and the table "
    "has one entry for each block. Divide by block_size.": lambda computed, n, size, length: range(
        computed, computed + n
    ),
    "[copies_without_a_write] You copy a block without new tokens: then nothing is written, so "
    "copy nothing.": (
        lambda computed, n, size, length: places(computed, computed + max(1, n), size)
    ),
}
SHARED = {  # which of these have to be copied
    "": lambda holders, block, place: holders[block] > 1,
    "[copies_its_own_block] You copy a block that only this sequence holds. A sequence may write "
    "into a block that no other sequence holds: copy only blocks with more than one holder.": (
        lambda holders, block, place: True,
        lambda holders, block, place: holders[block] >= 1,
    ),
    "[copies_with_three_holders_only] You copy only blocks with three holders; two holders are "
    "enough: copy where holders is more than 1.": (
        lambda holders, block, place: holders[block] > 2
    ),
    "[copies_with_two_holders_only] You copy only blocks with two holders; a block with three "
    "holders is shared, too: copy where holders is more than 1.": (
        lambda holders, block, place: holders[block] == 2
    ),
    "[writes_into_a_shared_block] You write into a block that another sequence holds, too, and "
    "destroy what "
    "that sequence reads: copy where holders is more than 1.": lambda holders, block, place: False,
    "[asks_holders_with_the_place] You use the place in the table as an index of holders; "
    "holders is indexed by block "
    "id: use holders[block_table[place]].": (lambda holders, block, place: holders[place] > 1),
    "[copies_what_is_not_shared] "
    "You copy only blocks that are not shared; copy the shared blocks.": (
        lambda holders, block, place: holders[block] == 1,
        lambda holders, block, place: holders[block] <= 1,
    ),
}
TARGETS = {  # the new block of copy number n
    "": lambda free, n: free[n],
    "[takes_free_from_the_end] You take free blocks from the end of free_ids; take them from the "
    "front.": (lambda free, n: free[-1 - n]),
    "[takes_one_free_block_for_all] You copy everything into one free block; each copy needs a "
    "block of its own.": (
        lambda free, n: free[0],
        lambda free, n: free[-1],
    ),
    "[takes_the_lowest_free] You take the lowest number of free_ids; take free blocks from the "
    "front.": (lambda free, n: sorted(free)[n]),
}
PAIRS = {
    "": lambda source, target, place: (source, target),
    "[copy_is_backwards] Your copies are backwards: a copy is (from, to), the shared block "
    "first, then the new block.": (lambda source, target, place: (target, source)),
    "[copy_names_the_place] Your copies name places in the table; a copy names two blocks of the "
    "pool.": (lambda source, target, place: (place, target)),
}
NEW_TABLES = {
    "": lambda table, changed: [changed.get(place, block) for place, block in enumerate(table)],
    "[table_is_as_it_was] You return the table unchanged, so the write would still go into the "
    "shared block; the "
    "table must name the new block in place of the old block.": lambda table, changed: list(table),
    "[new_block_stands_behind] You append the new block at the end; the new block takes the old "
    "block's place in the "
    "table, since it holds the same tokens.": lambda table, changed: [*table, *changed.values()],
    "[table_of_the_changes_only] You return only the entries of the table that change; return "
    "the whole table.": (lambda table, changed: list(changed.values())),
    "[new_block_behind_without_the_old] You remove the old block and append the new block at the "
    "end; the new block takes the old block's place in the table.": lambda table, changed: [
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
    who = ", ".join(f"block {b} has {holders[b]}" for b in table)
    shown = (
        f"Block table {table}, holders: {who}; computed tokens: {computed}, new tokens: {n}, "
        f"block_size {size}, free blocks {free}"
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
            "[copies_are_nothing] Your function returned nothing (None). Return copies and table."
        )
    if not isinstance(got, tuple | list) or len(got) != 2:
        what = (
            f"a {type(got).__name__} of {len(got)}"
            if isinstance(got, tuple | list)
            else a_kind(got)
        )
        return (
            f"[other_than_two_things] You return {what}; return two things, the copies and the "
            "table."
        )
    if not isinstance(got[0], list) or not isinstance(got[1], list):
        kinds = " and ".join(map(a_kind, got))
        return (
            f"[other_than_two_lists] You return {kinds}; return two lists, the copies and the "
            "table."
        )
    if got[1] and all(isinstance(pair, tuple | list) for pair in got[1]):
        return (
            "[copies_and_table_swapped] You return the table first; the copies come first, and "
            "then the table."
        )
    if got[0] and not all(isinstance(pair, tuple | list) and len(pair) == 2 for pair in got[0]):
        return (
            "[copies_are_no_pairs] Your copies are not pairs; each copy is two blocks, (from, to)."
        )
    twice = [block for block, times in Counter(pair[0] for pair in got[0]).items() if times > 1]
    if twice:
        return (
            f"[copied_more_than_once] You copy block {twice[0]} more than once; after the first "
            "copy the table names the new block, and only the new block is written."
        )
    return ""


@pytest.mark.task("5.3", points=1)
def test_a_shared_block_is_copied_before_it_is_written(student):
    said = (
        "[other_copy_of_a_shared_block] Your copies are wrong. Position 6 is in block 2, which "
        "another sequence holds, too: block 2 is copied into block 9."
    )
    copies(student, ([7, 2], holding(b7=2, b2=2), [9, 1], 6, 1, 4), said)
    said = (
        "[other_copy_of_a_thrice_held_block] Your copies are wrong. Position 1 is in block 5, "
        "which two other sequences hold, too: block 5 is copied into block 8."
    )
    copies(student, ([5], holding(b5=3), [8], 1, 1, 4), said)


@pytest.mark.task("5.3", points=1)
def test_a_sole_holder_writes_in_place(student):
    said = (
        "[other_copy_of_its_own_block] Your copies are wrong. Position 6 is in block 2, which no "
        "other sequence holds: block 2 is written without a copy."
    )
    copies(student, ([7, 2], holding(b7=2, b2=1), [9, 1], 6, 1, 4), said)
    said = (
        "[other_copy_beside_a_shared_block] Your copies are wrong. Positions 5 and 6 are in "
        "block 2, which only this sequence holds; block 0 is shared, and not written."
    )
    copies(student, ([7, 2, 0], holding(b7=2, b2=1, b0=2), [9, 1], 5, 2, 4), said)


@pytest.mark.task("5.3", points=1)
def test_only_blocks_that_are_written_are_copied(student):
    said = (
        "[other_copy_at_a_border] Your copies are wrong. Position 8 begins the third block, "
        "which is shared: the third block is copied, though nothing in it is computed yet. The "
        "two blocks before it are only read."
    )
    copies(student, ([7, 2, 5], holding(b7=2, b2=2, b5=2), [9, 1], 8, 1, 4), said)
    said = (
        "[other_copy_past_the_table] Your copies are wrong. Position 8 is past the end of the "
        "table: the sequence gets a new block later, so copy nothing."
    )
    copies(student, ([7, 2], holding(b7=2, b2=2), [9, 1], 8, 1, 4), said)
    said = (
        "[other_copy_up_to_the_end] Your copies are wrong. Positions 6 and 7 fill block 2 to its "
        "end; block 5 is not written."
    )
    copies(student, ([7, 2, 5], holding(b7=2, b2=2, b5=2), [9, 1], 6, 2, 4), said)
    said = (
        "[other_copy_behind_a_full_block] Your copies are wrong. Positions 4 to 6 begin in block "
        "2; block 7 is full, and only read."
    )
    copies(student, ([7, 2], holding(b7=2, b2=2), [9, 1], 4, 3, 4), said)
    said = (
        "[other_copy_in_the_first_block] Your copies are wrong. Position 2 is in the first block "
        "of the table: the step writes only there, and not into the second block."
    )
    copies(student, ([3, 6], holding(b3=2, b6=2), [11, 8], 2, 1, 4), said)
    said = (
        "[other_copy_without_tokens] Your copies are wrong. No token is written, so nothing is "
        "copied."
    )
    copies(student, ([7, 2], holding(b7=2, b2=2), [9, 1], 6, 0, 4), said)


@pytest.mark.task("5.3", points=1)
def test_a_write_over_several_blocks_copies_each_that_is_shared(student, rng):
    said = (
        "[other_copies_in_three_blocks] Your copies are wrong. Positions 6 to 12 are in blocks 2, "
        "5 and 0. Blocks 2 and 0 are shared: each is copied into the next free block. Only this "
        "sequence holds block 5: it needs no free block, but the blocks after it are still checked."
    )
    many = holding(b7=2, b2=2, b5=1, b0=3)
    copies(student, ([7, 2, 5, 0], many, [9, 1, 4], 6, 7, 4), said)
    said = (
        "[other_copies_in_two_blocks] Your copies are wrong. Positions 4 to 11 are in blocks 2 "
        "and 5, and both blocks are shared."
    )
    copies(student, ([7, 2, 5], holding(b7=2, b2=2, b5=2), [10, 1, 4], 4, 8, 4), said)
    said = (
        "[other_copies_in_blocks_of_five] Your copies are wrong in blocks of 5. Positions 9 and "
        "10 are in blocks 2 and 5. block_size need not be a power of two: p // block_size holds "
        "for any size."
    )
    copies(student, ([7, 2, 5], holding(b7=2, b2=2, b5=2), [10, 1, 4], 9, 2, 5), said)
    said = "[other_table_than_its_own] You change the caller's lists; return a new table."
    lent = Lent([7, 2]), Lent(holding(b7=2, b2=2)), Lent([9, 1]), 5, 2, 4
    copies(student, lent, said)
    lent = Lent([7, 2]), Lent(holding(b7=2, b2=1)), Lent([9, 1]), 5, 2, 4
    copies(student, lent, said)
    if isinstance(as_asked(student.call("copy_on_write", *lent))[1], Lent):
        raise Wrong(
            "[table_is_the_callers] "
            "Here nothing is copied, and you return the same list that you were given: a change "
            "to one changes the other. Return list(block_table)."
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
            "[other_copies] Your copies are wrong. Find the blocks that are written.",
        )


# 5.4 ---------------------------------------------------------------------------------------------


def power_from(tokens):
    return 2 ** (tokens - 1).bit_length()


def blocks_of(tokens, size):
    return -(-tokens // size) * size


ALL_OF_IT = {
    "[prompt_alone] you count only the prompt; the answer's tokens are stored, too.": (
        lambda p, a, most, size: p
    ),
    "[answer_alone] "
    "you count only the answer; the prompt is stored, too.": lambda p, a, most, size: a,
}
ANY_OTHER = {
    "[takes_what_maximum_takes] you return what the rule “maximum” reserves, max_model_len; return "
    "what the rule in `allocator` reserves.": lambda p, a, most, size: most,
    "[takes_what_told_takes] you return what the rule named “told” reserves (prompt plus answer); "
    "return what the rule in `allocator` reserves.": (lambda p, a, most, size: p + a),
    "[takes_what_paged_takes] you return what the rule “paged” reserves, whole blocks; return what "
    "the rule in `allocator` reserves.": lambda p, a, most, size: blocks_of(p + a, size),
    "[takes_what_power_of_two_takes] you return what the rule “power of two” reserves; return what "
    "the rule in `allocator` reserves.": lambda p, a, most, size: p + power_from(a),
}
TAKES = {
    "maximum": {
        "": lambda p, a, most, size: most,
        "[maximum_beside_the_prompt] you add the prompt to max_model_len; the rule “maximum” "
        "reserves max_model_len "
        "for each request, including the prompt.": (lambda p, a, most, size: p + most),
        "[maximum_without_the_prompt] you subtract the prompt from max_model_len; the rule "
        "“maximum” reserves max_model_len "
        "for each request, including the prompt.": (lambda p, a, most, size: most - p),
        "[maximum_rounded_up] you round max_model_len up to a power of two; the rule “maximum” "
        "reserves max_model_len for each request.": lambda p, a, most, size: power_from(most),
    },
    "power of two": {
        "": lambda p, a, most, size: p + power_from(a),
        "[power_of_two_doubled] you double an answer length that is already a power of two; such "
        "a length is not rounded: 32 tokens get 32.": (
            lambda p, a, most, size: p + 2 ** a.bit_length()
        ),
        "[power_by_logarithm] you use math.log(n, 2), which has a rounding error: for some powers "
        "of two it is above the whole number. Start with 1 and double it until it is at least the "
        "answer's length.": (lambda p, a, most, size: p + 2 ** math.ceil(math.log(a, 2))),
        "[power_of_two_rounded_down] you round down; round up to the next power of two.": (
            lambda p, a, most, size: p + 2 ** (a.bit_length() - 1)
        ),
        "[power_of_two_of_the_sum] you round the sum of prompt and answer; round up only the "
        "answer's length, which is unknown. The prompt takes its own length.": (
            lambda p, a, most, size: power_from(p + a),
            lambda p, a, most, size: 2 ** (p + a).bit_length(),
        ),
        "[power_of_two_of_both] you round both the prompt and the answer; round up only the "
        "answer's length, which is unknown. "
        "The prompt takes its own length.": lambda p, a, most, size: power_from(p) + power_from(a),
        "[power_of_two_of_the_prompt] you round the prompt's length; round up only the answer's "
        "length.": (lambda p, a, most, size: power_from(p) + a),
        "[power_of_two_without_the_prompt] you count only the rounded answer; the prompt is "
        "stored, too.": (lambda p, a, most, size: power_from(a)),
        "[power_of_two_up_to_the_maximum] you stop at max_model_len; the rule “power of two” "
        "reserves the prompt and the next power of two, even beyond max_model_len.": (
            lambda p, a, most, size: min(p + power_from(a), most),
            lambda p, a, most, size: p + min(power_from(a), most - p),
        ),
        "[twice_the_answer] you take twice the answer; take the next power of two (1, 2, 4, 8, "
        "…).": (lambda p, a, most, size: p + 2 * a),
        "[square_of_the_answer] you take the answer's square; take the next power of two (1, 2, "
        "4, 8, …).": (lambda p, a, most, size: p + a * a),
    },
    "told": {
        "": lambda p, a, most, size: p + a,
        "[told_without_the_last_token] you leave out the last token; the last token counts here, "
        "too: the prompt and the whole answer.": (lambda p, a, most, size: p + a - 1),
    },
    "paged": {
        "": lambda p, a, most, size: blocks_of(p + a, size),
        "[blocks_rounded_down] You round down: a partly "
        "filled block counts as a whole block.": lambda p, a, most, size: (p + a) // size * size,
        "[rounds_all_together] you do not round, or you round the sum of all requests. The rule "
        "“paged” reserves whole blocks for "
        "each request: round up the sum of its prompt and answer.": lambda p, a, most, size: p + a,
        "[blocks_by_bits] you use bit operations, and block_size need not be a power of two: "
        "-(-tokens // block_size) "
        "* block_size works for any size.": lambda p, a, most, size: (p + a + size - 1) & -size,
        "[always_one_block_more] you always take one block more; a request that fills its blocks "
        "exactly needs no further block.": (lambda p, a, most, size: ((p + a) // size + 1) * size),
        "[blocks_rounded_twice] you round prompt and answer separately; the answer continues in "
        "the prompt's last block: round up the sum once.": (
            lambda p, a, most, size: blocks_of(p, size) + blocks_of(a, size)
        ),
        "[blocks_of_the_prompt] you count only the prompt; the answer's tokens are stored in "
        "blocks, too.": (lambda p, a, most, size: blocks_of(p, size)),
        "[blocks_of_the_answer] you count only the answer; the prompt is stored in blocks, too.": (
            lambda p, a, most, size: blocks_of(a, size)
        ),
        "[rounds_the_answer_alone] you round up only the answer; the prompt is stored in blocks, "
        "too.": (lambda p, a, most, size: p + blocks_of(a, size)),
        "[rounds_the_prompt_alone] you round up only the prompt; the answer is stored in blocks, "
        "too.": (lambda p, a, most, size: blocks_of(p, size) + a),
        "[block_for_each_token] you count each block as one token; the capacity is in tokens: use "
        "blocks * block_size.": (lambda p, a, most, size: -(-(p + a) // size)),
        "[one_block_each] you take block_size blocks for each sequence. There are capacity // "
        "block_size blocks in all, and "
        "each sequence takes only the blocks that its tokens need.": lambda p, a, most, size: size,
        "[paged_without_the_last_token] you leave out the last token; the last token counts "
        "here, too: the prompt and the whole answer.": (
            lambda p, a, most, size: blocks_of(p + a - 1, size)
        ),
    },
}
COUNTS = {
    "": lambda takes, capacity: _until(takes, capacity),
    "[small_one_overtakes] you let a small request overtake a request that does not fit; when a "
    "request does not fit, it waits, and so do all "
    "requests behind it: stop there.": lambda takes, capacity: _until(takes, capacity, skip=True),
    "[exact_fit_does_not_count] you leave out a request that fits exactly: a request may fill "
    "the room to the last token.": (lambda takes, capacity: _until(takes, capacity - 1)),
    "[counts_the_one_too_many] "
    "you count a request that no longer fits; stop before this request.": (
        lambda takes, capacity: min(len(takes), _until(takes, capacity) + 1),
        lambda takes, capacity: sum(sum(takes[:n]) < capacity for n in range(len(takes))),
    ),
    "[divides_by_the_first] you divide the capacity by the first request's room; each request "
    "takes its own room.": (
        lambda takes, capacity: min(len(takes), capacity // takes[0]),
        lambda takes, capacity: capacity // takes[0],
    ),
    "[divides_by_the_largest] you divide the capacity by the largest request's room; each "
    "request takes its own room.": (
        lambda takes, capacity: min(len(takes), capacity // max(takes)),
        lambda takes, capacity: capacity // max(takes),
    ),
    "[divides_by_the_mean] you divide the capacity by the mean room; each request takes its own "
    "room.": (
        lambda takes, capacity: int(capacity // (sum(takes) / len(takes))),
        lambda takes, capacity: min(len(takes), int(capacity // (sum(takes) / len(takes)))),
    ),
    "[smallest_first] you take the smallest request first; take the requests in the order of the "
    "list.": (lambda takes, capacity: _until(sorted(takes), capacity)),
    "[more_than_come] you count more requests than there are; the count cannot exceed the number "
    "of requests.": (lambda takes, capacity: capacity // takes[0] if len(set(takes)) == 1 else -1),
    "[looks_at_each_alone] you check each request alone; all counted requests must fit at the same "
    "time.": (lambda takes, capacity: sum(one <= capacity for one in takes)),
    "[tokens_in_place_of_requests] you return the number of tokens that the requests take; "
    "return the number of requests.": (
        lambda takes, capacity: sum(takes[: _until(takes, capacity)])
    ),
    "[room_that_is_left] you return the room that is left; return the number of requests.": (
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
        "[other_number_fits] your number is wrong: the requests take "
        f"{', '.join(map(str, takes))} tokens, in order."
    )
    if allocator == "maximum":
        said = (
            "[other_number_fits_by_maximum] your number is wrong: each request takes "
            f"{max_model_len} tokens, however few tokens it has at the end."
        )
    case = allocator, requests, capacity, max_model_len, block_size
    FIT[allocator].check(student, case, said)


@pytest.mark.task("5.4", points=0.5)
def test_the_maximum_is_reserved_for_each_request(student):
    fit(student, "maximum", [(10, 5), (20, 9), (7, 8), (3, 3)], 200, 64)
    fit(student, "maximum", [(10, 5), (20, 9), (7, 8), (3, 3)], 180, 64)
    fit(student, "maximum", [(10, 5), (20, 9)], 512, 64)
    fit(student, "maximum", [(10, 5), (20, 9), (7, 8)], 128, 64)


@pytest.mark.task("5.4", points=0.5)
def test_with_a_known_length_it_takes_the_prompt_and_the_answer(student):
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

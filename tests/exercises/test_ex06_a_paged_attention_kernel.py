"""Judges exercises 6.1 to 6.4: kernels, run and watched on the judge's bench (kernels.py)."""

import re
from numbers import Integral

import numpy as np
import pytest
from chunk_outputs import about_a_chunk, about_the_joined, about_the_slots, chunks_of, parts_of
from kernel_cases import (
    APART,
    BROAD,
    CHUNKS,
    EMPTY_FIRST,
    EVEN,
    FOUR,
    HUGE,
    LONG,
    LONG_FOR_TWO,
    LOW,
    NARROW,
    ODD,
    POOL,
    RISES,
    ROUNDED,
    SCALED,
    STEPS,
    TALL,
    TILES,
    TRIO,
    WIDE,
    case,
    options,
)
from kernel_outputs import MANY, about_the_output
from kernels import (
    SCHEDULES,
    about_another_size,
    array_of,
    check_compiled,
    check_faults,
    check_outputs,
    check_own_arrays,
    first,
    nan_like,
    output_of,
    results,
    run_on_cases,
)

from minibatch.course.judging.values import Lent
from minibatch.course.judging.verdict import Wrong
from minibatch.course.judging.worker_errors import WorkerError
from minibatch.plots.multiprocessors import waves_of

MOST_SHARED = 8192  # bytes: a tile or two, and not a context
SHARED = "rows of different length that share a KV block"


# 6.1 ---------------------------------------------------------------------------------------------


def gathered(one):
    """The keys of each row in their order; NaN beyond its end."""
    rows, longest = len(one.seq_lens), max(one.seq_lens)
    keys = nan_like((rows, longest, *one.key_cache.shape[2:]))
    for row, length in enumerate(one.seq_lens):
        keys[row, :length] = np.concatenate(one.key_cache[one.block_tables[row]])[:length]
    return keys


def copies(student):
    def launch(name):
        keys = gathered(case(name))
        return {
            "grid": [len(keys)],
            "threads": 64,
            "arrays": {"keys": output_of(keys.shape)},
            "expect": {"keys": keys.ravel().tolist()},
        }

    return run_on_cases(
        student, "copy_keys", launch, once=(POOL, FOUR, WIDE, BROAD, TALL, NARROW, LONG)
    )


@pytest.mark.task("6.1", points=1)
def test_it_reads_and_writes_only_what_is_its_own(student):
    found = copies(student)
    check_faults(found)
    for name, _, result in found:
        right = gathered(case(name))
        got = np.array(result["outputs"]["keys"], float).reshape(right.shape)
        for row, t in np.argwhere((np.isnan(right) & ~np.isnan(got)).any((2, 3)))[:1].tolist():
            raise Wrong(
                f"[writes_beyond_the_row] Your kernel writes keys[{row}, {t}], past the end of row "
                f"{row}: seq_lens[{row}] is {case(name).seq_lens[row]}. The case: {name}."
            )


@pytest.mark.task("6.1", points=1)
def test_every_key_is_copied_to_its_place(student):
    check_outputs(copies(student), about_the_copy)


def about_the_copy(name, result):
    right = gathered(case(name))
    got = np.array(result["outputs"]["keys"], float).reshape(right.shape)
    is_wrong = (~np.isclose(got, right) & ~np.isnan(right)).any((2, 3))
    *_, block_size, kv_heads, head_dim = case(name).key_cache.shape
    if name == TALL and not is_wrong[:, :block_size].any():
        return about_another_size(name)
    if name in (BROAD, TALL):
        return (
            f"[loops_end_too_early] A KV block has {block_size} tokens here, and a token has "
            f"kv_heads * head_dim = {kv_heads * head_dim:,} numbers. Each loop must run up to "
            "one of these sizes; one of your loops may end too early."
        )
    if pattern := about_the_tokens_copied(case(name), is_wrong):
        return pattern
    if name != WIDE:
        return ""
    head_dim = right.shape[3]
    for seen in range(64, head_dim, 64):
        if np.isnan(got[..., seen:]).all():
            return (
                f"[first_elements_only] You copy only elements 0 to {seen - 1} of a head. Here "
                f"head_dim is {head_dim}, more than the 64 threads of a thread block."
            )
    return about_another_size(name)


def about_the_tokens_copied(one, is_wrong):
    """What the wrong tokens have in common, and no other token has. is_wrong: [rows, longest]."""
    is_own = np.arange(is_wrong.shape[1]) < one.seq_lens[:, None]
    block_size = one.key_cache.shape[1]
    blocks = one.block_tables[:, np.arange(is_wrong.shape[1]) // block_size]
    found = []
    if is_own[~is_wrong].any() and (is_wrong == ((blocks == 0) & is_own)).all():
        found.append(
            "[kv_block_0_is_lost] Your kernel is wrong only for the tokens in KV block 0: treat "
            "block 0 like any other block."
        )
    is_full = one.seq_lens % block_size == 0
    if not is_full.all() and (is_wrong.any(1) == is_full).all():
        found.append(
            "[full_kv_blocks_are_lost] Your kernel is wrong only for rows that fill their last "
            "KV block: there seq_lens[row] % block_size is 0."
        )
    return " Or: ".join(found)


@pytest.mark.task("6.1", points=2)
def test_no_sector_is_read_twice(student):
    for name, result in first(copies(student)).items():
        _, by_others, within = result["ledger"].get("key_cache", (0, 1, 1))
        _, asked = result["stored"].get("keys", (1, 1))
        used = 4 * int((~np.isnan(gathered(case(name)))).sum())
        if within > 1.05:
            raise Wrong(
                "[keys_read_again] "
                f"Each sector of K is read {within:.1f} times. In one instruction, 32 "
                "neighbouring lanes should read 32 neighbouring numbers: lane i takes number i, i "
                f"+ 32, and so on. The case: {name}.",
                expected="×1.0",
                got=f"×{within:.1f}",
            )
        if by_others > 1.05 and name != SHARED:
            raise Wrong(
                "[keys_of_other_thread_blocks] Several thread blocks read the same keys: each "
                f"thread block must read only the keys of its own row. The case: {name}."
            )
        if asked > 1.05 * used:
            raise Wrong(
                "[keys_written_in_pieces] The keys are read correctly, but written in pieces, or "
                f"more than once: the writes take sectors of {asked:,} bytes for {used:,} bytes of "
                f"keys. The case: {name}.",
            )


# 6.2 and 6.3 -------------------------------------------------------------------------------------


def decoded(student, function, is_group):
    def launch(name):
        one = case(name)
        rows, heads, _ = one.query.shape
        return {
            "grid": [rows, one.key_cache.shape[2] if is_group else heads],
            "threads": 32,
            "arrays": {},
            "expect": {"output": one.exact.ravel().tolist()},
        }

    once = (LONG_FOR_TWO,) if is_group else (EVEN, TRIO, LONG)
    cases = (SCALED, ODD, LOW, *once, TILES, STEPS, ROUNDED, RISES, HUGE)
    return run_on_cases(student, function, launch, cases)


def check_reads(found, arrays=("key_cache", "value_cache"), most=1.1, among=False):
    for name, result in first(found).items():
        for array in arrays:
            if array not in result["ledger"]:
                raise Wrong(
                    f"[nobody_reads] No thread of your kernel reads {array}. The case: {name}."
                )
            _, by_others, within = result["ledger"][array]
            if within > most:
                why = (
                    "[neighbours_read_apart] Neighbouring lanes of your kernel read numbers that "
                    "are far apart; they should read neighbouring numbers of one token."
                    if within > 3
                    else (
                        "[number_read_again] Your kernel reads a number twice. If you need it "
                        "twice, keep it in a variable. Go through the tokens once: with a "
                        "running maximum, no second pass is needed."
                    )
                )
                raise Wrong(
                    f"{why} Within a thread block each sector of {array} is read {within:.1f} "
                    f"times. The case: {name}.",
                    expected="×1.0",
                    got=f"×{within:.1f}",
                )
            if among and by_others > 1.05 and name != SHARED:
                raise Wrong(
                    "[query_heads_do_not_share] Thread blocks cannot share reads, and "
                    f"{by_others:.1f} of them read {array}: compute the query heads of a KV head "
                    f"in one thread block. The case: {name}.",
                )


def check_shared(found):
    found = first(found)
    most = max(result["shared"] for result in found.values())
    if most > MOST_SHARED:
        raise Wrong(
            "[too_much_shared_memory] "
            f"A thread block takes {most:,} bytes of shared memory. Keep a tile, not the whole "
            "context: a row of 100,000 tokens must fit, too."
        )


@pytest.mark.task("6.2", points=2)
def test_no_schedule_finds_a_fault(student):
    check_faults(decoded(student, "decode", False))


@pytest.mark.task("6.2", points=3)
def test_the_output_is_what_the_definition_gives(student):
    check_outputs(decoded(student, "decode", False), about_the_output)


@pytest.mark.task("6.2", points=2)
def test_a_thread_block_reads_each_key_and_value_once(student):
    check_reads(decoded(student, "decode", False))


@pytest.mark.task("6.2", points=1)
def test_memory_does_not_grow_with_the_context(student):
    found = decoded(student, "decode", False)
    check_own_arrays(found)
    check_shared(found)
    check_compiled(student, "decode", most_float64=None, most_stack=512)


@pytest.mark.task("6.3", points=1)
def test_no_schedule_finds_a_fault_in_the_group(student):
    check_faults(decoded(student, "decode_group", True))


@pytest.mark.task("6.3", points=2)
def test_the_output_of_both_heads_is_what_the_definition_gives(student):
    check_outputs(decoded(student, "decode_group", True), about_the_output)


@pytest.mark.task("6.3", points=2)
def test_each_key_and_value_is_read_once_for_both_heads(student):
    check_reads(decoded(student, "decode_group", True), most=1.05, among=True)


@pytest.mark.task("6.3", points=1)
def test_it_has_no_float64_and_no_stack_and_little_shared_memory(student):
    found = decoded(student, "decode_group", True)
    check_outputs(found, about_the_output)  # of a kernel that does nothing there is little to say
    check_shared(found)
    check_compiled(student, "decode_group")


# 6.4 ---------------------------------------------------------------------------------------------


LENGTHS = [[5, 2], [1], [7, 7, 7], [3000, 10, 512, 1, 700], [4, 8, 12]]
PLANS = [(lengths, most) for lengths in LENGTHS for most in (3, 4, 512)]
PLANS += [([20, 100], 20), ([100], 50), ([1001], 1000)]


@pytest.mark.task("6.4", points=2)
def test_the_work_list_covers_every_token_once(student):
    for lengths, most in PLANS:
        shown = f"plan_chunks({lengths}, {most})"
        got = student.call("plan_chunks", list(lengths), most)
        if not isinstance(got, list) or not all(
            isinstance(chunk, tuple | list) and len(chunk) == 3 for chunk in got
        ):
            raise Wrong(
                f"[chunks_are_no_triples] {shown}: return a list of (row, begin, end).", got=got
            )
        got = [tuple(chunk) for chunk in got]
        check_bounds(shown, got, lengths)
        for row, length in enumerate(lengths):
            seen = [t for r, begin, end in got if r == row for t in range(begin, end)]
            if sorted(seen) != list(range(length)):
                late = sorted(set(range(length)) - set(seen))
                what = (
                    f"[chunks_have_other_tokens] row {row} has {length} tokens, and its chunks "
                    f"have {len(seen)} tokens in total"
                )
                if late:
                    what = f"[token_in_no_chunk] token {late[0]} of row {row} is in no chunk"
                begins = [begin for r, begin, _ in got if r == row]
                if begins == [0] * len(begins) and len(begins) > 1:
                    what = (
                        "[chunks_begin_at_zero] "
                        f"every chunk of row {row} begins at token 0; begin and end count "
                        "from the beginning of the row"
                    )
                raise Wrong(f"{shown}: {what}.", got=got[:6])
        longest = max(end - begin for _, begin, end in got)
        if longest > most:
            raise Wrong(
                f"[chunk_is_too_long] {shown}: a chunk has {longest} tokens, but at most {most} "
                "are allowed."
            )
        for row, length in enumerate(lengths):
            number, enough = sum(r == row for r, _, _ in got), -(-length // most)
            if number > enough:
                raise Wrong(
                    f"[too_many_chunks] {shown}: you divide row {row}, of {length:,} tokens, into "
                    f"{number} chunks; {enough} are enough.",
                    got=got[:6],
                )
        if got != sorted(got):
            raise Wrong(
                f"[chunks_out_of_order] {shown}: the order of your chunks is wrong. Sort them by "
                "row, then by first token.",
                got=got[:6],
            )
    student.call("plan_chunks", Lent([5, 2]), 3)  # which raises if it changes the list
    several = [[list(lengths), most] for lengths, most in (*PLANS, PLANS[0])]
    alone = [student.call("plan_chunks", *each) for each in several]
    if student.calls("plan_chunks", several) != alone:
        raise Wrong(
            "[answers_are_one_list] You return the same list from several calls, so a later call, "
            "or a caller, changes an earlier answer: return a new list from each call."
        )


def check_bounds(shown, got, lengths):
    """Every chunk lies within its row. Before its tokens are counted one by one: there may be any
    number of them."""
    if len(got) > 2 * sum(lengths) + len(lengths):
        raise Wrong(
            f"[more_chunks_than_tokens] {shown}: you return {len(got):,} chunks; {sum(lengths):,} "
            "tokens need far fewer."
        )
    for chunk in got:
        row, begin, end = chunk
        if not all(isinstance(number, Integral) for number in chunk):
            raise Wrong(f"[chunks_are_no_integers] {shown}: {chunk} must be three integers.")
        if not 0 <= row < len(lengths):
            raise Wrong(
                f"[chunk_of_no_row] {shown}: {chunk} names row {row}, but the rows are 0 "
                f"to {len(lengths) - 1}."
            )
        if not 0 <= begin <= end <= lengths[row]:
            raise Wrong(
                "[chunk_beyond_its_row] "
                f"{shown}: {chunk} is not within row {row}, which has {lengths[row]:,} tokens."
            )


@pytest.mark.task("6.4", points=1)
def test_a_ragged_batch_takes_little_more_than_the_best_time(student):
    lengths = [4096] + [256] * 15
    chunks = student.call("plan_chunks", lengths, 256)
    check_bounds("plan_chunks([4096] + [256] * 15, 256)", chunks, lengths)
    done = waves_of([end - begin for _, begin, end in chunks], 16)
    if done.makespan > 1.3 * done.ideal:
        raise Wrong(
            "[work_is_uneven] Your chunks are uneven. For one row of 4,096 tokens and 15 rows of "
            "256, with chunks of at most 256, 16 multiprocessors need the time of "
            f"{done.makespan:,.0f} tokens; the best division needs that of {done.ideal:,.0f}."
        )


def decoded_chunks(student):
    def launch(name):
        cut = chunks_of(name)
        output, highest, total = parts_of(name)
        is_empty = cut[:, 1:2] == cut[:, 2:]
        sizes = {
            "part_output": output.shape,
            "part_highest": total.shape,
            "part_total": total.shape,
        }
        return {
            "grid": [len(cut), output.shape[1]],
            "threads": 32,
            "arrays": {"chunks": array_of(cut)} | {n: output_of(s) for n, s in sizes.items()},
            "expect": {
                "part_output": output.ravel().tolist(),
                "part_total": total.ravel().tolist(),
                "part_highest": np.where(is_empty, np.nan, highest).ravel().tolist(),
            },
            "row_of": cut[:, 0].tolist(),
        }

    once = (SCALED, ODD, LOW, TILES, EVEN, TRIO, LONG, STEPS, ROUNDED, RISES)
    found = run_on_cases(student, "decode_chunk", launch, once)
    return [(*which, one | {"wrong": in_chunks(one["wrong"])}) for *which, one in found]


def in_chunks(wrong):
    """The lab's sentence of an array [chunks, heads, …], which it takes for [rows, heads, …]."""
    if not wrong.startswith("part_output"):
        wrong = re.sub(r"element (?=\d)", "head ", wrong)
    return re.sub(r"\brow(?=s? \d)", "chunk", wrong)


def merged(student):
    def launch(name):
        one, cut = case(name), chunks_of(name)
        names = ("part_output", "part_highest", "part_total")
        parts = {
            n: array_of(a.astype(np.float32)) for n, a in zip(names, parts_of(name), strict=True)
        }
        return {
            "grid": list(one.query.shape[:2]),
            "threads": 32,
            "arrays": parts | {"chunks": array_of(cut)},
            "expect": {"output": one.exact.ravel().tolist()},
        }

    return run_on_cases(student, "merge_chunks", launch, once=(CHUNKS, LOW, APART))


@pytest.mark.task("6.4", points=2)
def test_decode_chunk_runs_without_a_fault_and_writes_the_sums_of_its_tokens(student):
    found = decoded_chunks(student)
    check_faults(found, about_the_slots)
    check_outputs(found, about_a_chunk)
    check_reads(found)
    for name, result in first(found).items():
        cut, (_, highest, total) = chunks_of(name), parts_of(name)
        got = np.array(result["outputs"]["part_highest"]).reshape(total.shape)
        for chunk in np.flatnonzero(cut[:, 1] == cut[:, 2]):
            if not (got[chunk] < highest[total > 0].min()).all():
                raise Wrong(
                    f"[empty_chunk_has_a_high_maximum] Chunk {chunk} is empty: its maximum must be "
                    f"below every score of the other chunks. The case: {name}.",
                    expected="below every score, as LOWEST is",
                    got=f"{got[chunk].max():g}",
                )


@pytest.mark.task("6.4", points=2)
def test_merge_chunks_runs_without_a_fault_and_gives_what_the_definition_gives(student):
    found = merged(student)
    check_faults(found)
    check_outputs(found, about_the_joined)
    check_own_parts(student)


def check_own_parts(student):
    """The student's merge joins what the student's decode wrote, if that is right: an empty chunk
    comes first in each row, and may have any maximum below every score."""
    try:
        found = decoded_chunks(student)
        check_faults(found)
        check_outputs(found)
    except (WorkerError, Wrong):
        return  # another test's points
    sizes = {"part_output": (2, 32), "part_highest": (2,), "part_total": (2,)}
    cut = np.array([(0, 0, 0), (0, 0, 3), (0, 3, 5), (1, 0, 0), (1, 0, 4)], np.int32)
    launch = {"threads": 32, "case": options(EMPTY_FIRST), "schedule": None}
    chunks = {"chunks": array_of(cut)}
    outputs = {n: output_of((len(cut), *size)) for n, size in sizes.items()}
    anything = {n: np.full((len(cut), *size), np.nan).ravel().tolist() for n, size in sizes.items()}
    (parts,) = results(
        student,
        "decode_chunk",
        [
            launch
            | {"grid": [len(cut), 2], "arrays": chunks | outputs, "expect": anything}
            | {"row_of": cut[:, 0].tolist()}
        ],
    )
    given = {
        n: array_of(np.array(parts["outputs"][n], np.float32).reshape(len(cut), *size))
        for n, size in sizes.items()
    }
    (joined,) = results(
        student,
        "merge_chunks",
        [
            launch
            | {"grid": [2, 2], "arrays": chunks | given}
            | {"expect": {"output": case(EMPTY_FIRST).exact.ravel().tolist()}}
        ],
    )
    is_infinite = np.isneginf(given_highest(parts)).any()
    check_outputs([(EMPTY_FIRST, None, joined)], lambda *_: about_own_parts(is_infinite, joined))


def given_highest(parts):
    return np.array(parts["outputs"]["part_highest"], float)


def about_own_parts(is_infinite, result):
    return (
        "[infinity_minus_infinity] Your merge_chunks joined the results of your decode_chunk. If "
        "the first chunk of a row is empty, both functions give a maximum of minus infinity, and "
        "exp(-inf - -inf) is NaN: begin at LOWEST."
        if is_infinite and not np.isfinite(np.array(result["outputs"]["output"])).all()
        else "[own_parts_do_not_join] Your merge_chunks joined the results of your decode_chunk. "
        "Your merge_chunks is right with correct results, so look at decode_chunk."
    )


def copied(student):
    result = first(copies(student))["more tokens than threads"]
    needed, *_ = result["ledger"]["key_cache"]
    return (
        f"Your kernel copied the keys of 34 tokens, {needed:,} bytes, through the block table, and "
        "read each key once."
    )


def decoding(student):
    result = first(decoded(student, "decode", False))[MANY]
    needed, by_others, within = result["ledger"]["key_cache"]
    return (
        f"Your kernel's output for a row of 34 tokens is right under {len(SCHEDULES)} schedules, "
        f"and reads {needed:,} bytes of K {by_others * within:.2g} times: once for each of two "
        "query heads."
    )


def grouped(student):
    needed, *_ = first(decoded(student, "decode_group", True))[MANY]["ledger"]["key_cache"]
    return f"Your kernel reads {needed:,} bytes of K once for two query heads."


def chunked(student):
    chunks = student.call("plan_chunks", [32_768] + [512] * 63, 1024)
    done = waves_of([end - begin for _, begin, end in chunks for _ in range(8)])
    return (
        f"Your work list has {len(chunks)} chunks for one row of 32,768 tokens and 63 rows of 512. "
        f"With 8 KV heads, 132 multiprocessors need the time of {done.makespan:,.0f} tokens; the "
        f"best division needs that of {done.ideal:,.0f}."
    )


NOW_YOURS = {"6.1": copied, "6.2": decoding, "6.3": grouped, "6.4": chunked}

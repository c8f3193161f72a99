"""Judges exercises 6.1 to 6.4: kernels, run and watched on the judge's bench (kernels.py)."""

import re
from numbers import Integral

import numpy as np
import pytest
from kernels import (
    CHUNKS,
    EMPTY_FIRST,
    EVEN,
    FOUR,
    LONG,
    LONG_FOR_TWO,
    LOW,
    POOL,
    QUARTET,
    SCALED,
    SCHEDULES,
    SIXTEEN,
    TILES,
    array_of,
    case,
    check_compiled,
    check_faults,
    check_outputs,
    first,
    nan_like,
    options,
    output_of,
    results,
    run_on_cases,
)

from minibatch import kernel_lab as lab
from minibatch.course.judging.verdict import Wrong
from minibatch.course.judging.worker_errors import WorkerError

MOST_SHARED = 8192  # bytes: a tile or two, and not a context
SHARP, MANY = "scores 500 times as large", "more tokens than threads"
SHARED = "rows of different length that share a KV block"
FROM_0 = (
    "[maximum_begins_at_zero] "
    "A maximum that begins at 0 is higher than all scores of a row that are below 0, and their "
    "weights come to nothing: begin at LOWEST."
)
TOO_HIGH = (
    "[maximum_begins_too_high] "
    "A maximum that begins at a number such as -1000 is higher than all of these scores, and their "
    "weights are 0: begin at LOWEST."
)


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

    return run_on_cases(student, "copy_keys", launch, once=(FOUR, POOL, LONG))


@pytest.mark.task("6.1", points=1)
def test_it_reads_and_writes_only_what_is_its_own(student):
    check_faults(copies(student))


@pytest.mark.task("6.1", points=1)
def test_every_key_comes_to_its_place(student):
    check_outputs(copies(student))


@pytest.mark.task("6.1", points=2)
def test_no_sector_is_asked_for_twice(student):
    for name, result in first(copies(student)).items():
        _, by_others, within = result["ledger"].get("key_cache", (0, 1, 1))
        used, asked = result["stored"].get("keys", (1, 1))
        if within > 1.05:
            raise Wrong(
                "[keys_read_again] "
                f"With {name}: each sector of K is read {within:.1f} times. 32 neighbouring lanes "
                "should have neighbouring numbers in the same instruction: deal them out like "
                "cards.",
                expected="×1.0",
                got=f"×{within:.1f}",
            )
        if by_others > 1.05 and name != SHARED:
            raise Wrong(
                f"[keys_of_other_thread_blocks] With {name}: thread blocks read one another's keys."
            )
        if asked > 1.05 * used:
            raise Wrong(
                "[keys_written_in_pieces] "
                f"With {name}: the keys are read as they should be, and written in pieces: "
                f"sectors of {asked:,} bytes for {used:,}.",
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

    once = (LONG_FOR_TWO,) if is_group else (EVEN, QUARTET, LONG)
    return run_on_cases(student, function, launch, (SCALED, SIXTEEN, LOW, *once, TILES))


def believed(one):
    """What comes out under each of some beliefs, by the sentence that mends it."""
    heads, kv_heads = one.query.shape[1], one.key_cache.shape[2]
    group = heads // kv_heads
    names = {
        "[scores_not_scaled] The scores are not scaled: q k times `scale`.": {"scale": 1.0},
        "[not_divided_by_the_sum] It is not divided by the sum of the weights.": {
            "total": lambda w, w_run: 1.0
        },
        "[sum_does_not_shrink] When a higher maximum comes, the sum of weights shrinks, too.": {
            "total": lambda w, w_run: w_run.sum()
        },
        "[weighted_sum_does_not_shrink] "
        "When a higher maximum comes, the weighted sum of V shrinks, too.": {"run": True},
        "[last_token_is_missing] The last token is missing: a row has seq_lens[row] of them.": {
            "tokens": slice(0, -1)
        },
        "[first_token_is_missing] The first token is missing.": {"tokens": slice(1, None)},
        "[first_tile_only] Only the first 32 tokens are seen.": {"tokens": slice(0, 32)},
        "[kv_head_by_remainder] "
        "Query head h reads KV head h // (heads // kv_heads), and yours h % kv_heads.": {
            "kv_head": lambda h: h % kv_heads
        },
        "[kv_head_always_zero] "
        "Query head h reads KV head h // (heads // kv_heads), and yours always 0.": {
            "kv_head": lambda h: 0
        },
        "[kv_head_always_by_two] "
        "Query head h reads KV head h // (heads // kv_heads), and yours h // 2.": {
            "kv_head": lambda h: h // 2 % kv_heads
        },
        "[scale_of_its_own] "
        "Scores are multiplied by the argument `scale`, and yours always 1 / sqrt(32).": {
            "scale": 32**-0.5
        },
        "[tokens_weigh_the_same] "
        "All tokens weigh the same: the weight of a token is exp(score - maximum).": {"flat": True},
    }
    for said, change in names.items():
        yield said, _under(one, group, **change)


def _under(
    one,
    group,
    scale=None,
    total=lambda w, w_run: w.sum(),
    run=False,
    tokens=slice(None),
    kv_head=None,
    flat=False,
):
    found = np.zeros(one.query.shape)
    for row, length in enumerate(one.seq_lens):
        key, value = (
            np.concatenate(cache[one.block_tables[row]])[:length][tokens].astype(float)
            for cache in (one.key_cache, one.value_cache)
        )
        for head in range(one.query.shape[1]):
            kv = kv_head(head) if kv_head else head // group
            scores = key[:, kv] @ one.query[row, head].astype(float)
            scores *= one.scale if scale is None else scale
            if not len(scores):
                continue
            weights = np.ones(len(scores)) if flat else np.exp(scores - scores.max())
            so_far = np.exp(scores - np.maximum.accumulate(scores))  # under the maximum of the time
            found[row, head] = (so_far if run else weights) @ value[:, kv] / total(weights, so_far)
    return found


def about_the_output(name, result):
    """What a wrong output most likely comes from."""
    got = np.array(result["outputs"]["output"])
    one = case(name)
    for said, output in believed(one):
        if np.allclose(got, output.ravel(), rtol=1e-4, atol=1e-4):
            return said
    if name in (SHARP, TILES) and not np.isfinite(got).all():
        if is_from_0(one, got):
            return FROM_0
        return "[exp_overflows] exp of 500 is beyond float32: subtract the running maximum first."
    if name == LOW and not np.isfinite(got).all():
        return TOO_HIGH
    if not np.isfinite(got).all():
        return (
            "[output_is_nan] "
            "NaN comes of infinity minus infinity, of 0 / 0, or of unwritten memory."
        )
    if name in (LONG, LONG_FOR_TWO) and (seen := tokens_seen(one, got)):
        return f"[first_tokens_only] Only the first {seen} tokens are seen."
    if name == MANY:
        return (
            "[long_rows_are_wrong] Shorter rows are right: what becomes of tokens beyond the 32nd?"
        )
    if name in (SHARP, TILES):
        return (
            "[large_scores_are_wrong] "
            "Small scores are right: what was summed up under an older maximum has to shrink."
        )
    return ""


def highest_scores(one):
    """[rows, heads]"""
    group = one.query.shape[1] // one.key_cache.shape[2]
    scores = []
    for row, length in enumerate(one.seq_lens):
        key = np.concatenate(one.key_cache[one.block_tables[row]])[:length].repeat(group, axis=1)
        scores.append(np.einsum("hd,khd->hk", one.query[row], key).max(1) * one.scale)
    return np.array(scores)


def is_from_0(one, got):
    """Whether what is no number lies only where all scores are below 0."""
    is_bad = ~np.isfinite(got.reshape(one.query.shape)).all(2)
    return is_bad.any() and (highest_scores(one)[is_bad] < 0).all()


def tokens_seen(one, got):
    """How many of a single row's first tokens come to this output; 0 if no number does."""
    weights, values = one.parts(0)
    sums = np.cumsum(weights[:, :, None] * values.transpose(1, 0, 2), axis=1)
    output = sums / np.cumsum(weights, axis=1)[:, :, None]
    close = np.isclose(output, got.reshape(-1, 1, 32), 1e-4, 1e-4).all((0, 2))
    return int(np.argmax(close)) + 1 if close.any() else 0


def check_reads(found, arrays=("key_cache", "value_cache"), most=1.1, among=False):
    for name, result in first(found).items():
        for array in arrays:
            if array not in result["ledger"]:
                raise Wrong(f"[nobody_reads] With {name}: nobody reads {array}.")
            _, by_others, within = result["ledger"][array]
            if within > most:
                why = (
                    "[neighbours_read_apart] "
                    "Neighbouring lanes should read neighbouring numbers of one token."
                    if within > 3
                    else "[number_read_again] A number that is needed twice belongs in a variable."
                )
                raise Wrong(
                    f"With {name}: within a thread block each sector of {array} is read "
                    f"{within:.1f} times. {why}",
                    expected="×1.0",
                    got=f"×{within:.1f}",
                )
            if among and by_others > 1.05 and name != SHARED:
                raise Wrong(
                    "[query_heads_do_not_share] "
                    f"With {name}: {array} is read by {by_others:.1f} thread blocks. A thread "
                    "block of its own for each query head cannot share.",
                )


def check_shared(found):
    found = first(found)
    most = max(result["shared"] for result in found.values())
    if most > MOST_SHARED:
        raise Wrong(
            "[too_much_shared_memory] "
            f"A thread block takes {most:,} bytes of shared memory. Keep a tile, not a context: a "
            "row of 100,000 tokens has to fit, too."
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
    check_shared(found)
    check_compiled(student, "decode", most_float64=None)


@pytest.mark.task("6.3", points=1)
def test_no_schedule_finds_a_fault_in_the_group(student):
    check_faults(decoded(student, "decode_group", True))


@pytest.mark.task("6.3", points=2)
def test_both_heads_come_to_what_the_definition_gives(student):
    check_outputs(decoded(student, "decode_group", True), about_the_output)


@pytest.mark.task("6.3", points=2)
def test_each_key_and_value_is_read_once_for_both_heads(student):
    check_reads(decoded(student, "decode_group", True), most=1.05, among=True)


@pytest.mark.task("6.3", points=1)
def test_no_float64_no_stack_and_a_tile_of_shared_memory_at_most(student):
    found = decoded(student, "decode_group", True)
    check_outputs(found, about_the_output)  # of a kernel that does nothing there is little to say
    check_shared(found)
    check_compiled(student, "decode_group")


# 6.4 ---------------------------------------------------------------------------------------------


LENGTHS = [[5, 2], [1], [7, 7, 7], [3000, 10, 512, 1, 700], [4, 8, 12]]


@pytest.mark.task("6.4", points=2)
def test_the_work_list_covers_every_token_once(student):
    for lengths in LENGTHS:
        for most in (3, 4, 512):
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
                        "[chunks_have_other_tokens] "
                        f"row {row} has {length} tokens, and its chunks {len(seen)}"
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
                    "[chunk_is_too_long] "
                    f"{shown}: a chunk has {longest} tokens, and {most} is the most."
                )
            for row, length in enumerate(lengths):
                number, enough = sum(r == row for r, _, _ in got), -(-length // most)
                if number > enough:
                    raise Wrong(
                        f"[too_many_chunks] {shown}: row {row} has {length:,} tokens in {number} "
                        f"chunks, and {enough} would do.",
                        got=got[:6],
                    )
            if got != sorted(got):
                raise Wrong(
                    f"[chunks_out_of_order] {shown}: chunks come in the order of rows and tokens.",
                    got=got[:6],
                )


def check_bounds(shown, got, lengths):
    """Every chunk lies within its row. Before its tokens are counted one by one: there may be any
    number of them."""
    if len(got) > 2 * sum(lengths) + len(lengths):
        raise Wrong(
            f"[more_chunks_than_tokens] {shown}: {len(got):,} chunks for {sum(lengths):,} tokens."
        )
    for chunk in got:
        row, begin, end = chunk
        if not all(isinstance(number, Integral) for number in chunk):
            raise Wrong(f"[chunks_are_no_integers] {shown}: {chunk} should be three integers.")
        if not 0 <= row < len(lengths):
            raise Wrong(f"[chunk_of_no_row] {shown}: {chunk} names row {row} of {len(lengths)}.")
        if not 0 <= begin <= end <= lengths[row]:
            raise Wrong(
                "[chunk_beyond_its_row] "
                f"{shown}: {chunk} is not within row {row}, which has {lengths[row]:,} tokens."
            )


@pytest.mark.task("6.4", points=1)
def test_a_ragged_batch_is_done_in_little_more_than_the_best_time(student):
    lengths = [4096] + [256] * 15
    chunks = student.call("plan_chunks", lengths, 256)
    check_bounds("plan_chunks([4096] + [256] * 15, 256)", chunks, lengths)
    done = lab.waves([end - begin for _, begin, end in chunks], 16)
    if done.makespan > 1.3 * done.ideal:
        raise Wrong(
            "[work_is_uneven] "
            f"One row of 4,096 tokens among 15 of 256, chunks of 256 at most: 16 multiprocessors "
            f"need {done.makespan:,.0f}, and at best it is {done.ideal:,.0f}."
        )


def chunks_of(name):
    """Chunks of three tokens at most, and an empty one for each row."""
    lengths = case(name).seq_lens.tolist()
    if name == LONG:
        return np.array([(0, 0, 2090), (0, 2090, 2100)], np.int32)
    if name == CHUNKS:
        return np.array([(r, t, t + 1) for r, n in enumerate(lengths) for t in range(n)], np.int32)
    most = 3 if max(lengths) < 12 else 15
    cut = [(r, b, min(b + most, n)) for r, n in enumerate(lengths) for b in range(0, n, most)]
    empty = [(row, min(2, length), min(2, length)) for row, length in enumerate(lengths)]
    return np.array(cut + empty, np.int32)


def parts_of(name, tokens=slice):
    """The right results of those chunks: output, highest, total. tokens: a chunk's, by its begin
    and end, for a wrong belief."""
    one = case(name)
    cut, heads = chunks_of(name), one.query.shape[1]
    group = heads // one.key_cache.shape[2]
    output = np.zeros((len(cut), heads, 32))
    highest, total = np.full((len(cut), heads), -1e30), np.zeros((len(cut), heads))
    for i, (row, begin, end) in enumerate(cut):
        if begin < end:
            key, value = (
                np.concatenate(cache[one.block_tables[row]])[tokens(begin, end)]
                .astype(float)
                .repeat(group, axis=1)
                for cache in (one.key_cache, one.value_cache)
            )
            scores = np.einsum("hd,khd->hk", one.query[row].astype(float), key) * one.scale
            highest[i] = scores.max(1)
            weights = np.exp(scores - highest[i][:, None])
            total[i], output[i] = weights.sum(1), np.einsum("hk,khd->hd", weights, value)
    return output, highest, total


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

    found = run_on_cases(
        student, "decode_chunk", launch, once=(SCALED, SIXTEEN, LOW, TILES, EVEN, QUARTET, LONG)
    )
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

    return run_on_cases(student, "merge_chunks", launch, once=(CHUNKS, LOW))


def about_a_chunk(name, result):
    cut, (output, right, _) = chunks_of(name), parts_of(name)
    is_full = cut[:, 1] < cut[:, 2]
    sums = np.array(result["outputs"]["part_output"]).reshape(output.shape)[is_full]
    for belief in (lambda begin, end: slice(end - begin), lambda begin, end: slice(end)):
        if np.allclose(sums, parts_of(name, belief)[0][is_full], 1e-4, 1e-4):
            return (
                "[chunk_reads_from_token_zero] "
                "A chunk begins at token `begin` of its row, and yours at token 0."
            )
    got = np.array(result["outputs"]["part_highest"]).reshape(right.shape)
    if (right[is_full] < 0).any() and np.allclose(
        got[is_full], np.maximum(right, 0)[is_full], 1e-4, 1e-4
    ):
        return FROM_0
    if name == LOW:
        return TOO_HIGH
    if name == LONG:
        return (
            "[long_chunks_are_wrong] Shorter chunks are right: a chunk may be as long as it likes."
        )
    if result["wrong"].startswith("part_highest"):
        return (
            "[weights_under_another_maximum] "
            "`part_highest` is the maximum under which the weights of the chunk were summed up."
        )
    if "part_total" in result["wrong"] or "nan" in result["wrong"]:
        return (
            "[empty_chunk_is_wrong] "
            "An empty chunk has a total of 0; a chunk's maximum is that of its own tokens."
        )
    return (
        "[chunk_output_is_divided] "
        "A chunk's output is the sum of weight * v, not divided by anything yet."
    )


def about_the_joined(name, result):
    got = np.array(result["outputs"]["output"])
    if name == SHARP and is_from_0(case(name), got):
        return FROM_0
    if name == LOW:
        return TOO_HIGH
    if name == CHUNKS:
        return (
            "[not_all_chunks_are_seen] "
            "Shorter work lists are right. Not all chunks are seen: there are chunks.shape[0]."
        )
    return "[chunks_weigh_the_same] Chunks with a smaller maximum weigh less, by exp."


@pytest.mark.task("6.4", points=2)
def test_the_sums_of_a_chunk_are_those_of_its_tokens(student):
    found = decoded_chunks(student)
    check_faults(found)
    check_outputs(found, about_a_chunk)
    for name, result in first(found).items():
        cut, (_, highest, total) = chunks_of(name), parts_of(name)
        got = np.array(result["outputs"]["part_highest"]).reshape(total.shape)
        for chunk in np.flatnonzero(cut[:, 1] == cut[:, 2]):
            if not (got[chunk] < highest[total > 0].min()).all():
                raise Wrong(
                    "[empty_chunk_has_a_high_maximum] "
                    f"With {name}: chunk {chunk} is empty, and its maximum is above a score of "
                    "another chunk.",
                    expected="below every score, as LOWEST is",
                    got=f"{got[chunk].max():g}",
                )


@pytest.mark.task("6.4", points=2)
def test_the_chunks_join_to_what_the_definition_gives(student):
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
    cut = np.array([(0, 0, 0), (0, 0, 3), (0, 3, 5), (1, 1, 1), (1, 0, 4)], np.int32)
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
    check_outputs([(EMPTY_FIRST, None, joined)], about_own_parts)


def about_own_parts(name, result):
    return (
        "[infinity_minus_infinity] Your merge_chunks joined what your decode_chunk wrote. Where "
        "the first chunk of a row is empty, a maximum of minus infinity from both gives "
        "exp(-inf - -inf), which is NaN: begin at LOWEST."
        if not np.isfinite(np.array(result["outputs"]["output"])).all()
        else "[own_parts_do_not_join] Your merge_chunks joined what your decode_chunk wrote."
    )


def copied(student):
    result = first(copies(student))["more tokens than threads"]
    needed, *_ = result["ledger"]["key_cache"]
    return f"Your kernel copied 34 tokens' keys, {needed:,} bytes, through the table, each once."


def decoding(student):
    result = first(decoded(student, "decode", False))[MANY]
    needed, by_others, within = result["ledger"]["key_cache"]
    return (
        f"Your kernel answers a row of 34 tokens right under {len(SCHEDULES)} schedules, and reads "
        f"{needed:,} bytes of K {by_others * within:.2g} times: once for each of two query heads."
    )


def grouped(student):
    needed, *_ = first(decoded(student, "decode_group", True))[MANY]["ledger"]["key_cache"]
    return f"Your kernel reads {needed:,} bytes of K once for two query heads."


def chunked(student):
    chunks = student.call("plan_chunks", [32_768] + [512] * 63, 1024)
    done = lab.waves([end - begin for _, begin, end in chunks for _ in range(8)])
    return (
        f"Your work list has {len(chunks)} chunks for one row of 32,768 tokens among 63 of 512; "
        f"132 multiprocessors are done with 8 KV heads after {done.makespan:,.0f} tokens each, and "
        f"at best after {done.ideal:,.0f}."
    )


NOW_YOURS = {"6.1": copied, "6.2": decoding, "6.3": grouped, "6.4": chunked}

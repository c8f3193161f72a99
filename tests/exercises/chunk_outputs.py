"""What a wrong chunk or a wrong join of chunks of exercise 6.4 comes from."""

import re

import numpy as np
from kernel_cases import APART, CHUNKS, LONG, LOW, ODD, RISES, ROUNDED, case
from kernel_maxima import FROM_0, NO_MAXIMUM, SHARP, TOO_HIGH, TOO_LATE, bad_under, scores_of
from kernel_outputs import PASSED_OVER, is_like
from kernels import about_another_size


def chunks_of(name):
    """Chunks of three tokens at most, in the order of the rows, and an empty one for each row:
    before its other chunks, after them, or after its first chunk. The first begins at the row's
    end, and the second at its beginning: empty chunks need not be in the order of the tokens."""
    lengths = case(name).seq_lens.tolist()
    if name == LONG:
        return np.array([(0, 0, 2090), (0, 2090, 2100)], np.int32)
    if name in (CHUNKS, APART):
        return np.array([(r, t, t + 1) for r, n in enumerate(lengths) for t in range(n)], np.int32)
    most = 3 if max(lengths) < 12 else 15
    cut = [(r, b, min(b + most, n)) for r, n in enumerate(lengths) for b in range(0, n, most)]
    found = []
    for row, length in enumerate(lengths):
        own = [chunk for chunk in cut if chunk[0] == row]
        place, at = [(0, length), (len(own), 0), (1, own[0][2])][row % 3]
        found += [*own[:place], (row, at, at), *own[place:]]
    return np.array(found, np.int32)


def parts_of(name, tokens=slice, scale=None):
    """The right results of those chunks: output, highest, total. tokens: a chunk's, by its begin
    and end, and scale, for a wrong belief."""
    one = case(name)
    scale = one.scale if scale is None else scale
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
            scores = np.einsum("hd,khd->hk", one.query[row].astype(float), key) * scale
            highest[i] = scores.max(1)
            weights = np.exp(scores - highest[i][:, None])
            total[i], output[i] = weights.sum(1), np.einsum("hk,khd->hd", weights, value)
    return output, highest, total


def about_a_chunk(name, result):
    one, cut, right = case(name), chunks_of(name), parts_of(name)
    names = ("part_output", "part_highest", "part_total")
    got = [
        np.array(result["outputs"][each], float).reshape(array.shape)
        for each, array in zip(names, right, strict=True)
    ]
    is_full = cut[:, 1] < cut[:, 2]
    if all(np.isnan(array[~is_full]).all() for array in got) and not is_full.all():
        return (
            "[nothing_is_written_for_an_empty_chunk] You write nothing for an empty chunk (begin "
            "== end): write a maximum below every score, and write zeros."
        )
    if name == RISES:
        return PASSED_OVER
    output, highest, total = (array[is_full] for array in got)
    right_output, right_highest, right_total = (array[is_full] for array in right)
    for belief in (lambda begin, end: slice(end - begin), lambda begin, end: slice(end)):
        if is_like(output, parts_of(name, belief)[0][is_full], right_output):
            return (
                "[chunk_reads_from_token_zero] Your chunk begins at token 0 of the row; a chunk "
                "begins at token `begin` of its row."
            )
    scales = {1.0: "are not scaled", 32**-0.5: "are multiplied by 1 / sqrt(32)"}
    scales |= {1 / one.scale: "are divided by `scale`"}
    for scale, shown in scales.items():
        if is_like(output, parts_of(name, scale=scale)[0][is_full], right_output):
            return (
                f"[chunk_has_another_scale] Your scores {shown}: multiply them by the argument "
                "`scale`."
            )
    if (right_highest < 0).any() and is_like(highest, np.maximum(right_highest, 0), right_highest):
        return FROM_0
    if name == LOW and (np.isnan(output).any() or (total == 0).all()):
        return TOO_HIGH
    if is_like(output, right_output / right_total[..., None], right_output):
        return (
            "[chunk_output_is_divided] You divide a chunk's output: do not divide it yet. The "
            "output of a chunk is the sum of weight * v."
        )
    if name == LONG and (left := left_out(output[0, 0])):
        return (
            f"[small_weights_are_left_out] Your result for chunk 0 leaves out {left:,} tokens with "
            "small weights. Many small weights have a large sum: add all of them."
        )
    with np.errstate(invalid="ignore", divide="ignore"):
        quotients = output / total[..., None], right_output / right_total[..., None]
    same_sums = np.allclose(output, right_output, 1e-4, 1e-4)
    if same_sums and not np.allclose(highest, right_highest, 1e-4, 1e-4):
        return (
            "[weights_under_another_maximum] The sums are right, but `part_highest` is wrong: "
            "write the maximum that you subtracted from the chunk's scores."
        )
    if np.allclose(*quotients, 1e-3, 1e-3) and not same_sums:
        return (
            "[chunk_has_a_lower_maximum] The sums of a chunk are all too large by the same "
            "factor: the maximum that you subtract must be the highest score of the chunk's own "
            "tokens."
        )
    if name == LONG:
        return (
            "[long_chunks_are_wrong] Your result is right only for shorter chunks: a chunk may "
            "have any length."
        )
    if (got[2][~is_full] != 0).any() or (got[0][~is_full] != 0).any():
        return (
            "[empty_chunk_is_wrong] An empty chunk must have a total and an output of 0: its sums "
            "contain no token."
        )
    return about_another_size(name) if name in (ODD, ROUNDED) else ""


def left_out(got):
    """The number of tokens of the first chunk of LONG, those with the smallest weights, without
    which it comes to this output [32]; 0 if it does not."""
    one, (row, begin, end) = case(LONG), chunks_of(LONG)[0]
    scores, values = scores_of(one, row)[0, begin:end], one.parts(row)[1][begin:end, 0]
    order = np.argsort(-scores)
    weights = np.exp(scores - scores.max())[order]
    off = np.abs(np.cumsum(weights[:, None] * values[order], 0) - got).max(1)
    kept = int(np.argmin(off)) + 1
    return len(order) - kept if off[kept - 1] < min(1e-5, off[-1] / 4) else 0


def about_the_slots(name, kind, said):
    """Of a fault in decode_chunk: what the thread block's chunk is."""
    if not (number := re.search(r"thread block \(?(\d+)", said)):
        return ""
    row, begin, end = chunks_of(name)[int(number[1])].tolist()
    if begin == end and "block_tables[" in said:
        return (
            f"[empty_chunk_looks_up] Chunk {number[1]} is empty, ({row}, {begin}, {end}): its row "
            "may have no token `begin`, so do not look up a KV block for it."
        )
    if begin == end or kind not in ("foreign", "unwritten") or name in (ODD, ROUNDED):
        return ""
    if "_cache[" not in said:
        return ""
    return (
        f"[chunk_reads_a_wrong_slot] Chunk {number[1]} is ({row}, {begin}, {end}), and it reads a "
        f"slot that does not belong to tokens {begin} to {end - 1} of row {row}. Token t of a row "
        "is at place t % block_size of its KV block, with t counted from the beginning of the row."
    )


def about_the_joined(name, result):
    one, cut, (output, highest, total) = case(name), chunks_of(name), parts_of(name)
    got = np.array(result["outputs"]["output"], float).reshape(one.query.shape)
    is_bad = ~np.isfinite(got).all(2)
    if name == LOW and is_bad.all():
        return TOO_HIGH
    if name == APART and is_bad.any():
        return TOO_LATE
    if name == SHARP and is_bad.any():
        if (is_bad == bad_under(one, lambda scores: np.maximum(scores.max(1), 0)[:, None])).all():
            return FROM_0
        if (is_bad == bad_under(one, np.zeros_like)).all():
            return NO_MAXIMUM
    wrong_row, head = np.argwhere(~np.isclose(got, one.exact, 1e-5, 1e-5).all(2))[0].tolist()
    own = np.flatnonzero(cut[:, 0] == wrong_row)
    for seen in runs_of_chunks(len(cut), own):
        shares = np.exp(highest[seen, head] - highest[seen, head].max())
        with np.errstate(invalid="ignore"):
            joined = shares @ output[seen, head] / (shares @ total[seen, head])
        if np.allclose(joined, got[wrong_row, head], 1e-4, 1e-4, equal_nan=True):
            if name == CHUNKS:
                return not_all(f" You join only the first {len(seen)} chunks of row {wrong_row}.")
            if (cut[seen, 1] == cut[seen, 2]).all() and np.isin(seen, own).all():
                return (
                    f"[empty_chunk_cuts_the_row] Your result for row {wrong_row} joins only its "
                    f"empty {named(seen)}; the row has {named(own)}. An empty chunk neither begins "
                    "nor ends a row."
                )
            return (
                f"[other_chunks_are_joined] Your result for row {wrong_row} joins {named(seen)} of "
                f"the work list; the row has {named(own)}."
            )
    if name == CHUNKS and (
        left := shares_left_out(output, total, highest, got[wrong_row], own, head)
    ):
        return (
            f"[small_chunks_are_left_out] Your result for row {wrong_row} leaves out {left:,} "
            "chunks with small shares. Many small shares have a large sum: add all of them."
        )
    if weighs_the_same(output, total, highest, cut, got):
        return (
            "[chunks_weigh_the_same] You give all chunks the same weight. A chunk with a smaller "
            "maximum weighs less: multiply by exp(its maximum - the highest maximum)."
        )
    return not_all("") if name == CHUNKS else ""


def shares_left_out(output, total, highest, got, own, head):
    """The number of a row's chunks, those with the lowest maxima, without which it comes to this
    output; 0 if it does not."""
    order = own[np.argsort(-highest[own, head], kind="stable")]
    shares = np.exp(highest[order, head] - highest[order[0], head])
    above = np.cumsum(shares[:, None] * output[order, head], 0)
    below = np.cumsum(shares * total[order, head])
    off = np.abs(above / below[:, None] - got[head]).max(1)
    kept = int(np.argmin(off)) + 1
    return len(order) - kept if off[kept - 1] < min(1e-5, off[-1] / 4) else 0


def not_all(how_many):
    return (
        "[not_all_chunks_are_seen] Your result is right only for shorter work lists. You never "
        f"read some chunks of this list: it has chunks.shape[0] chunks.{how_many}"
    )


def runs_of_chunks(number, own):
    """Chunks, one after another in the list: all runs of a short list, those of a row's own chunks
    first; of a long list, the first 4, 8, 16 … of the row's own."""
    if number > 50:
        return [own[: 2**n] for n in range(2, 10) if 2**n < len(own)]
    runs = [
        np.arange(begin, end) for begin in range(number) for end in range(begin + 1, number + 1)
    ]
    others = [run for run in runs if run.tolist() != own.tolist()]
    return sorted(others, key=lambda run: not np.isin(run, own).all())


def named(numbers):
    """Chunks 2 to 4."""
    first, last = numbers[0], numbers[-1]
    return f"chunk {first}" if first == last else f"chunks {first} to {last}"


def weighs_the_same(output, total, highest, cut, got):
    """Whether a row's chunks were added up as they are, or under an older maximum."""
    for shares_of in (np.zeros_like, lambda own: np.maximum.accumulate(own) - own[-1:]):
        joined = np.zeros(got.shape)
        for row in range(len(got)):
            own = cut[:, 0] == row
            top = np.maximum.accumulate(highest[own], 0)
            shares = np.exp(shares_of(top))[..., None]
            joined[row] = (output[own] * shares).sum(0) / (total[own][..., None] * shares).sum(0)
        if np.allclose(joined, got, 1e-4, 1e-4):
            return True
    return False

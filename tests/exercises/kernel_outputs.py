"""What a wrong output of exercises 6.2 and 6.3 comes from: a misconception is named only if it
gives the very numbers that the kernel gave, and otherwise what was seen."""

import numpy as np
from kernel_cases import CASES, HUGE, LONG, LONG_FOR_TWO, ODD, RISES, ROUNDED, TILES, case
from kernel_maxima import SHARP, about_no_numbers, scores_of
from kernels import about_another_size

MANY = "more tokens than threads"
PASSED_OVER = (
    "[small_rises_are_lost] Your kernel replaces the maximum, but passes over a small rise: "
    "multiply the earlier sums by exp(old maximum - new maximum), however small the rise is."
)
LANES = np.arange(32)
STEPS_OF_A_SUM = (16, 8, 4, 2, 1)


def about_the_output(name, result):
    """What a wrong output most likely comes from."""
    one = case(name)
    got = np.array(result["outputs"]["output"], float).reshape(one.query.shape)
    if not np.isfinite(got).all():
        never = got.size - result["stored"].get("output", [0])[0] // 4
        if never > 0 and never == np.isnan(got).sum():
            return (
                f"[output_is_never_written] Your kernel does not write {never:,} elements of "
                "`output`: a row has 32 elements for each query head."
            )
        is_size = name in (ODD, ROUNDED, HUGE)
        return about_another_size(name) if is_size else about_no_numbers(name, one, got)
    if name in (ROUNDED, HUGE):  # smaller blocks are right
        return about_another_size(name)
    if name == RISES:  # larger rises are right
        return PASSED_OVER
    likely = [
        (np.abs(got - output).max(), said)
        for said, output in believed(one)
        if is_like(got, output, one.exact)
    ]
    if name in (LONG, LONG_FOR_TWO):  # where beliefs are near each other: the nearest
        likely = sorted(likely + tokens_seen(one, got))
    for _, said in likely:
        if said.startswith("[tokens_weigh_the_same]") and name not in CASES:
            return (
                "[differences_are_lost] In this case all tokens get the same weight, and in "
                "earlier cases they did not. Does your kernel limit a score before it takes exp?"
            )
        return said
    if name == ODD:
        return about_another_size(name)
    if seen := about_the_tokens(one, got):
        return seen
    if name == MANY:
        return (
            "[long_rows_are_wrong] Shorter rows are right: what does your kernel do with "
            "tokens after the 32nd?"
        )
    if name in (SHARP, TILES):
        return (
            "[large_scores_are_wrong] Small scores are right: when the maximum rises, multiply "
            "the earlier sums by exp(old maximum - new maximum)."
        )
    return ""


def is_like(got, output, exact):
    """Whether a belief's output is what came out, and not just near the right one."""
    with np.errstate(invalid="ignore", over="ignore"):
        off = np.abs(got - output).max()
        return np.allclose(got, output, 1e-4, 1e-4) and off < np.abs(got - exact).max() / 4


def believed(one):
    """What comes out under each of some beliefs, by the sentence that corrects it."""
    heads, kv_heads = one.query.shape[1], one.key_cache.shape[2]
    group = heads // kv_heads
    names = {
        "[scores_not_scaled] You do not scale the scores: a score is q · k times `scale`.": {
            "scale": 1.0
        },
        "[divided_by_scale] You divide the scores by `scale`: multiply them by `scale`.": {
            "scale": 1 / one.scale
        },
        "[not_divided_by_the_sum] You do not divide the output by the sum of the weights.": {
            "total": lambda w, w_run: 1.0
        },
        "[sum_does_not_shrink] When the maximum rises, your weighted sum of V shrinks, but your "
        "sum of weights does not; both must shrink.": {"total": lambda w, w_run: w_run.sum(0)},
        "[weighted_sum_does_not_shrink] When the maximum rises, your sum of weights shrinks, but "
        "your weighted sum of V does not; both must shrink.": {"run": True},
        "[no_sum_shrinks] When the maximum rises, your two sums do not shrink; both must shrink by "
        "exp(old maximum - new maximum). Calculate this factor before you overwrite the old "
        "maximum.": {
            "run": True,
            "total": lambda w, w_run: w_run.sum(0),
        },
        "[last_token_is_missing] You leave out the last token: a row has seq_lens[row] tokens.": {
            "tokens": slice(0, -1)
        },
        "[first_token_is_missing] You leave out the first token of a row.": {
            "tokens": slice(1, None)
        },
        "[first_tile_only] You read only the first 32 tokens of a row.": {"tokens": slice(0, 32)},
        "[kv_head_by_remainder] Your query head h reads KV head h % kv_heads; it must read KV "
        "head h // (heads // kv_heads).": {"kv_head": lambda h: h % kv_heads},
        "[kv_head_always_zero] Your query heads always read KV head 0; query head h must read KV "
        "head h // (heads // kv_heads).": {"kv_head": lambda h: 0},
        "[kv_head_always_by_two] Your query head h reads KV head h // 2; it must read KV head h "
        "// (heads // kv_heads).": {"kv_head": lambda h: h // 2 % kv_heads},
        "[scale_of_its_own] Your scores are always multiplied by 1 / sqrt(32); multiply them by "
        "the argument `scale`.": {"scale": 32**-0.5},
        "[tokens_weigh_the_same] All tokens get the same weight: the weight of a token is "
        "exp(score - maximum).": {"flat": True},
        "[sum_of_another_head] You divide each query head by the sum of the first query head of "
        "its group; divide "
        "each query head by its own sum of weights.": {"total_of": lambda h: h // group * group},
        "[no_sum_over_the_lanes] "
        "A score is a sum over all 32 lanes, and each of your lanes has only its own product.": {
            "steps": ()
        },
    }
    for said, change in names.items():
        yield said, output_of(one, group, **change)
    for step in STEPS_OF_A_SUM:
        left = tuple(other for other in STEPS_OF_A_SUM if other != step)
        said = (
            f"[shuffle_is_missing] Lane 0 and lane {step} of a warp have different scores for the "
            f"same token: the shuffle with {step} is missing from the sum over the lanes."
        )
        yield said, output_of(one, group, steps=left)
    block_size, width = one.key_cache.shape[1], one.block_tables.shape[1]
    for entries in (1, 16, 32, 64, 128, 256):
        if entries < width:
            said = (
                f"[table_is_longer] The block table has {width} entries in this case, and your "
                f"kernel uses only the first {f'{entries}' if entries > 1 else 'one'}, repeatedly."
            )
            slots = np.arange(max(one.seq_lens))
            again = slots // block_size % entries * block_size + slots % block_size
            yield said, output_of(one, group, tokens=again)


def output_of(
    one,
    group,
    scale=None,
    total=lambda w, w_run: w.sum(0),
    run=False,
    tokens=slice(None),
    kv_head=None,
    flat=False,
    total_of=None,
    steps=STEPS_OF_A_SUM,
):
    """[rows, heads, 32], with what is given done otherwise than it should be."""
    found = np.zeros(one.query.shape)
    for row, length in enumerate(one.seq_lens):
        own = np.arange(length)[tokens] if isinstance(tokens, slice) else tokens[:length]
        key, value = (
            np.concatenate(cache[one.block_tables[row]])[own].astype(float)
            for cache in (one.key_cache, one.value_cache)
        )
        if not len(key):
            continue
        weights, so_far = {}, {}  # [tokens, 32], of each head: a lane has a score of its own
        for head in range(one.query.shape[1]):
            kv = kv_head(head) if kv_head else head // group
            scores = key[:, kv] * one.query[row, head].astype(float)
            for step in steps:
                scores = scores + scores[:, LANES ^ step]
            scores *= one.scale if scale is None else scale
            weights[head] = np.ones(scores.shape) if flat else np.exp(scores - scores.max(0))
            so_far[head] = np.exp(scores - np.maximum.accumulate(scores))
        for head, used in (so_far if run else weights).items():
            kv, other = kv_head(head) if kv_head else head // group, head
            other = total_of(head) if total_of else head
            divisor = total(weights[other], so_far[other])
            found[row, head] = (used * value[:, kv]).sum(0) / divisor
    return found


def tokens_seen(one, got):
    """[(how far from it, a sentence)] of a single row's first tokens that come to this output."""
    weights, values = one.parts(0)
    sums = np.cumsum(weights[:, :, None] * values.transpose(1, 0, 2), axis=1)
    output = sums / np.cumsum(weights, axis=1)[:, :, None]
    off = np.abs(output - got.reshape(-1, 1, 32)).max((0, 2))
    seen = int(np.argmin(off[:-1])) + 1
    is_near = off[seen - 1] < min(1e-4, off[-1] / 4)
    said = f"[first_tokens_only] You read only the first {seen} tokens of a row."
    return [(off[seen - 1], said)] if is_near else []


def about_the_tokens(one, got):
    """A sentence about the tokens that come to the first wrong row and head; "" if none do."""
    is_wrong = ~np.isclose(got, one.exact, 2e-5, 2e-5).all(2)
    row, head = np.argwhere(is_wrong)[0].tolist()
    weights, values = one.parts(row)
    scores = scores_of(one, row)[head]
    at_the_time = np.exp(scores - np.maximum.accumulate(scores))
    order = np.argsort(-at_the_time, kind="stable")
    sums = np.cumsum((weights[head][:, None] * values[:, head])[order], 0)
    off = np.abs(sums / np.cumsum(weights[head][order])[:, None] - got[row, head]).max(1)
    kept, length = int(np.argmin(off[:-1])) + 1 if len(off) > 1 else 0, len(order)
    seen = one.why(got)
    if not seen and kept and off[kept - 1] < 2e-5:
        return (
            f"[small_weights_are_left_out] Your result for row {row}, head {head} leaves out "
            f"{length - kept} tokens with a weight of {at_the_time[order[kept]]:.2g} or less. Many "
            "small weights have a large sum: add every token to both sums."
        )
    if seen:
        return (
            f"[other_tokens_counted] {seen[0].upper()}{seen[1:]}; the row has {length} tokens, and "
            "all of them count."
        )
    return ""

"""Judges exercises 2.1 to 2.3: tensors by a model that reads them, the policy by what it does."""

import heapq
import itertools

import now_yours
import pytest
from beliefs import Counted, a_kind, why
from serving import (
    CACHED,
    FAILED,
    TWO_ALIKE,
    asks,
    asks_the_pool,
    computes_what_is_left,
    drawn,
    go_on,
    plans_alike_twice,
    same_plan,
    serve,
    serves_in_an_engine,
    some_requests,
)

import minibatch as mb
from minibatch.course.judging.remote_scheduler import RemoteScheduler
from minibatch.course.judging.values import Array, Lent
from minibatch.course.judging.verdict import Wrong
from minibatch.course.judging.worker_errors import Raised

WITHHELD = {
    "2.2": {"minibatch.model.rectangle": "left_padded"},
    "2.3": {"minibatch.schedulers.static": "Static", "minibatch.schedulers.dynamic": "Dynamic"},
}
PROMPTS = [[5, 6, 7, 8], [11], [9, 10]]
TWINS = [[9, 10], [5, 6, 7], [9, 10], [4]]


# 2.1 ---------------------------------------------------------------------------------------------


def batches(lengths, size):
    return [lengths[i : i + size] for i in range(0, len(lengths), size)]


def each(batches, end, tokens=sum):
    """(tokens, slot-steps, requests) of each batch; end: how many steps it runs."""
    return [(tokens(batch), end(batch) * len(batch), len(batch)) for batch in batches]


def to_the(end):
    """Batches that run as long as `end(batch)` says."""
    return lambda lengths, size: each(batches(lengths, size), end)


def padded_by(padding):
    """Batches with as many slot-steps as there are, of which `padding(batch)` are padding."""
    return lambda lengths, size: each(
        batches(lengths, size), max, lambda batch: max(batch) * len(batch) - padding(batch)
    )


def spread(lengths, size):
    """As many batches as are needed, and as equal as can be."""
    num = -(-len(lengths) // size)
    few, more = divmod(len(lengths), num)
    ends = [0, *itertools.accumulate(few + (i < more) for i in range(num))]
    return [lengths[begin:end] for begin, end in itertools.pairwise(ends)]


def refilled(lengths, size):
    """Slots that take the next request as soon as one ends, to the end of the last."""
    slots = [0] * min(size, len(lengths))
    for length in lengths:
        heapq.heappush(slots, heapq.heappop(slots) + length)
    return [(sum(lengths), max(slots) * len(slots), len(lengths))]


def second(batch):
    return sorted(batch)[-2] if len(batch) > 1 else batch[0]


LONGEST = to_the(max)
ONE_BATCH = (
    "[all_in_one_batch] you have put all requests into one batch; a batch has at most "
    "max_batch_size requests, and runs until the longest answer in it ends."
)
TWENTY = [7, 3, 9, 4, 8, 2, 6, 5, 1, 12, 11, 15, 14, 3, 13, 22, 16, 17, 40, 21]
SHARE = Counted(
    "padding_share",
    ("output_lengths", "max_batch_size"),
    [
        ([5, 1, 1, 9, 2], 2),
        ([10, 2, 100], 2),
        ([7, 3, 9, 4, 8], 3),
        ([20, 45, 80, 120, 150, 90], 4),
        ([3, 6, 6, 2, 6, 5, 1], 3),
        (TWENTY, 18),
    ],
    lambda part: part[1](part[0]),
    {
        "": LONGEST,
        "[sorted_shortest_first] you sort the requests, shortest first; requests are served in "
        "order of arrival.": (lambda lengths, size: LONGEST(sorted(lengths), size)),
        "[sorted_longest_first] you sort the requests, longest first; requests are served in "
        "order of arrival.": (lambda lengths, size: LONGEST(sorted(lengths, reverse=True), size)),
        "[begins_with_the_last] you begin with the last requests, so the smaller batch is the "
        "first batch; requests "
        "are served in order of arrival.": lambda lengths, size: LONGEST(lengths[::-1], size),
        ONE_BATCH: lambda lengths, size: LONGEST(lengths, len(lengths)),
        "[size_of_its_own] you use a fixed number; a batch has max_batch_size requests.": tuple(
            lambda lengths, size, form=form, n=n: LONGEST(lengths, form(size, n))
            for n in (4, 8, 10, 16)
            for form in (min, lambda size, n: n)
        ),
        "[last_batch_has_all_slots] you give the last batch max_batch_size slots; a smaller last "
        "batch has len(batch) slots.": lambda lengths, size: [
            (sum(batch), max(batch) * size, len(batch)) for batch in batches(lengths, size)
        ],
        "[last_batch_left_out] a smaller last batch counts, too; you have left it out.": (
            lambda lengths, size: LONGEST(lengths[: len(lengths) // size * size], size),
            lambda lengths, size: LONGEST(
                lengths[: len(lengths) // size * size or len(lengths)], size
            ),
        ),
        "[batch_of_one_left_out] "
        "a batch of one has no padding, but it has slot-steps; you have left it out.": (
            lambda lengths, size: each([b for b in batches(lengths, size) if len(b) > 1], max)
        ),
        "[last_batch_has_tokens_only] "
        "all slot-steps of a smaller last batch count; you have counted only its tokens.": (
            lambda lengths, size: [
                (sum(batch), max(batch) * len(batch) * (len(batch) == size), len(batch))
                for batch in batches(lengths, size)
            ]
        ),
        "[spread_evenly] you spread the requests evenly; fill each batch before the next one, so "
        "that "
        "only the last batch is smaller.": (lambda lengths, size: each(spread(lengths, size), max)),
        "[counts_steps] "
        "you have counted steps; a step of n requests is n slot-steps.": lambda lengths, size: [
            (sum(batch), max(batch), len(batch)) for batch in batches(lengths, size)
        ],
        "[batches_overlap] your batches overlap; a batch is followed by the next max_batch_size "
        "requests: range(0, n, max_batch_size).": (
            lambda lengths, size: each([lengths[i : i + size] for i in range(len(lengths))], max),
            lambda lengths, size: each(
                [lengths[i : i + size] for i in range(max(1, len(lengths) - size + 1))], max
            ),
        ),
        "[batches_lack_their_last] "
        "lengths[i : i + max_batch_size] are already max_batch_size requests, since a slice does "
        "not include its end; your batches lack their last request.": (
            lambda lengths, size: [
                (sum(batch), max(short) * len(short), len(batch))
                for batch in batches(lengths, size)
                for short in [batch[: max(1, size - 1)]]
            ],
            lambda lengths, size: each(
                [batch[: max(1, size - 1)] for batch in batches(lengths, size)], max
            ),
        ),
        "[equal_answers_count_once] you count answers of equal length once, as a set does; all "
        "answers count.": (
            lambda lengths, size: each([set(batch) for batch in batches(lengths, size)], max),
            lambda lengths, size: [
                (sum(batch), max(batch) * len(set(batch)), len(batch))
                for batch in batches(lengths, size)
            ],
        ),
        "[free_slot_is_filled] you give a free slot to the next request at once, which is "
        "continuous "
        "batching; in a static batch a free slot is padding until the batch ends.": refilled,
        "[runs_to_the_mean] you end a batch after the mean of its answer lengths; a batch runs "
        "until its longest answer ends.": to_the(lambda batch: sum(batch) / len(batch)),
        "[runs_to_the_median] you end a batch after the median of its answer lengths; a batch runs "
        "until its longest answer ends.": (
            to_the(lambda batch: sorted(batch)[len(batch) // 2]),
            to_the(lambda batch: sorted(batch)[(len(batch) - 1) // 2]),
        ),
        "[counts_padded_requests] you count requests; count slot-steps: a request may be padded "
        "for one step or for a hundred.": (
            lambda lengths, size: [
                (batch.count(max(batch)), len(batch), len(batch))
                for batch in batches(lengths, size)
            ]
        ),
        "[counts_padded_steps] you count steps; count slot-steps: in one step, one slot may be "
        "padding, or all slots but one.": (
            lambda lengths, size: [
                (min(batch), max(batch), len(batch)) for batch in batches(lengths, size)
            ]
        ),
        "[divides_by_steps] you have divided by the number of steps; a batch of n requests has n "
        "slot-steps in each step.": (
            lambda lengths, size: [
                (max(batch) - max(batch) * len(batch) + sum(batch), max(batch), len(batch))
                for batch in batches(lengths, size)
            ]
        ),
        "[first_batch_left_out] "
        "you leave out the first batch; every batch counts.": lambda lengths, size: LONGEST(
            lengths[size:] or lengths, size
        ),
        "[runs_to_the_first] you end a batch after the answer of its first request; a batch runs "
        "until its longest answer ends.": to_the(lambda b: b[0]),
        "[runs_to_the_last] you end a batch after the answer of the last request in the list; a "
        "batch runs until its longest answer ends.": to_the(lambda b: b[-1]),
        "[runs_to_the_shortest] you end a batch after its shortest answer; a batch runs until its "
        "longest answer ends.": to_the(min),
        "[runs_to_the_second_longest] you end a batch after its second longest answer; a batch "
        "runs until its longest answer ends, even if only this answer is left.": (
            to_the(second),
            padded_by(lambda batch: sum(max(0, second(batch) - n) for n in batch)),
        ),
        "[pads_the_shortest_only] you have padded only the shortest request of a batch; each "
        "request "
        "is padded up to the longest one.": padded_by(lambda batch: max(batch) - min(batch)),
        "[one_step_more] you have counted one step too many; a batch runs as long as its longest "
        "answer.": to_the(lambda batch: max(batch) + 1),
        "[one_step_less] you have counted one step too few; a batch runs as long as its longest "
        "answer. The first token takes a step, too.": (
            to_the(lambda batch: max(batch) - 1),
            lambda lengths, size: each(
                batches(lengths, size),
                lambda batch: max(batch) - 1,
                lambda batch: sum(batch) - len(batch),
            ),
        ),
        "[batch_size_is_number_of_batches] you use max_batch_size as the number of batches; "
        "max_batch_size is how many requests a batch has.": (
            lambda lengths, size: LONGEST(lengths, -(-len(lengths) // size))
        ),
        "[takes_every_so_many] you take every n-th request; a batch takes consecutive requests.": (
            lambda lengths, size: each(
                [lengths[i :: -(-len(lengths) // size)] for i in range(-(-len(lengths) // size))],
                max,
            )
        ),
    },
    {
        "": lambda *_: lambda seen: 1 - _sum(seen, 0) / _sum(seen, 1),
        "[share_of_tokens] you return the share of slot-steps that yield a token; padding is the "
        "rest, 1 - that share.": (lambda *_: lambda seen: _sum(seen, 0) / _sum(seen, 1)),
        "[padding_not_divided] you return how many slot-steps are padding; divide by all "
        "slot-steps.": (lambda *_: lambda seen: _sum(seen, 1) - _sum(seen, 0)),
        "[padding_divided_by_tokens] "
        "you have divided padding by tokens; divide by all slot-steps.": (
            lambda *_: lambda seen: (_sum(seen, 1) - _sum(seen, 0)) / _sum(seen, 0)
        ),
        "[slot_steps_divided_by_tokens] you have divided slot-steps by tokens; divide padding by "
        "slot-steps.": (lambda *_: lambda seen: _sum(seen, 1) / _sum(seen, 0)),
        "[mean_of_batches] you return the mean of the batches' shares, which gives a short batch "
        "as much weight as a long batch: divide all padding by all slot-steps, once, at the end.": (
            lambda *_: lambda seen: sum(1 - t / s for t, s, _ in seen) / len(seen)
        ),
        "[mean_of_requests] you return the mean of the requests' shares, which gives a request "
        "in a short batch as much weight as a request in a long batch: divide all padding by all "
        "slot-steps, once, at the end.": (
            lambda *_: lambda seen: sum(n * (1 - t / s) for t, s, n in seen) / _sum(seen, 2)
        ),
        "[sum_of_batches] "
        "you have added up the batches' shares: divide all padding by all slot-steps, once, at the "
        "end.": lambda *_: lambda seen: sum(1 - t / s for t, s, _ in seen),
        "[share_in_per_cent] your share is in per cent; return a share between 0 and 1.": (
            lambda *_: lambda seen: 100 * (1 - _sum(seen, 0) / _sum(seen, 1))
        ),
        "[share_has_its_sign_turned] your share has the wrong sign; return a share between 0 and "
        "1.": (lambda *_: lambda seen: _sum(seen, 0) / _sum(seen, 1) - 1),
        "[share_below_zero_made_zero] (You turn a share below 0 into 0. A share below 0 means "
        "that slot-steps are missing.)": (
            lambda *_: lambda seen: max(0, 1 - _sum(seen, 0) / _sum(seen, 1))
        ),
        "[share_is_rounded] you round the share; return the share as it is.": tuple(
            lambda *_, n=n: lambda seen: round(1 - _sum(seen, 0) / _sum(seen, 1), n)
            for n in range(1, 7)
        ),
        "[share_is_floored] you divide with //, which drops the fraction; use / for a share.": (
            lambda *_: lambda seen: (_sum(seen, 1) - _sum(seen, 0)) // _sum(seen, 1)
        ),
        "[share_of_tokens_is_floored] you divide with //, which drops the fraction; use / for a "
        "share (also for the share of tokens).": (
            lambda *_: lambda seen: 1 - _sum(seen, 0) // _sum(seen, 1)
        ),
        "[last_batch_alone] you return the share of only the last batch; add up all batches.": (
            lambda *_: lambda seen: 1 - seen[-1][0] / seen[-1][1]
        ),
        "[first_batch_alone] you return the share of only the first batch: is `return` inside "
        "the loop?": (lambda *_: lambda seen: 1 - seen[0][0] / seen[0][1]),
    },
)


def _sum(seen, which):
    return sum(batch[which] for batch in seen)


def share(student, lengths, size):
    parts = " and ".join(map(str, batches(lengths, size)))
    tokens, steps = (_sum(LONGEST(lengths, size), i) for i in (0, 1))
    said = (
        f"[other_share] your share is wrong: served as {parts}, the requests take {steps} "
        f"slot-steps for {tokens} tokens."
    )
    SHARE.check(student, (lengths, size), said)


@pytest.mark.task("2.1", points=0.5)
def test_equal_lengths_waste_nothing(student):
    share(student, [8, 8, 8, 8], 4)


@pytest.mark.task("2.1", points=0.5)
def test_a_batch_runs_as_long_as_its_longest_answer(student):
    share(student, [8, 18, 50], 3)


@pytest.mark.task("2.1", points=0.5)
def test_batches_are_formed_in_order(student):
    share(student, [20, 45, 80, 120, 150, 90, 60, 200], 4)
    share(student, [5, 1, 1, 5], 2)


@pytest.mark.task("2.1", points=0.25)
def test_every_slot_step_counts_the_same(student, rng):
    share(student, [10, 2, 100], 2)
    share(student, [3, 3, 5, 5, 9], 5)
    share(student, [6, 28, 16, 33, 55, 44, 19], 5)
    share(student, TWENTY, 18)
    for _ in range(5):
        share(student, [rng.randint(1, 60) for _ in range(rng.randint(1, 12))], rng.randint(1, 5))


@pytest.mark.task("2.1", points=0.25)
def test_the_caller_keeps_its_lengths(student):
    """A list that refuses to be changed."""
    share(student, Lent([3, 9, 4]), 2)


# 2.2 ---------------------------------------------------------------------------------------------


def padded(student, prompts, pad_token_id=0):
    """Three nested lists, once they are known to be int64 tensors of the right shape."""
    try:
        got = student.call("pad_batch", prompts, pad_token_id)
    except Raised as error:
        if "expected sequence of length" in error.sentence:
            error.sentence = (
                f"[tensor_rows_differ_in_length] {error.sentence}. Your rows differ in length, and "
                "the rows of a tensor must be equally long. Pad each row to the length of the "
                f"longest prompt, wherever this prompt is in the list. (prompts={list(prompts)})"
            )
            if len(max(prompts)) < max(map(len, prompts)):
                error.sentence += (
                    " [max_compares_tokens] max(prompts) compares token ids: add key=len."
                )
        raise
    if not isinstance(got, tuple | list) or len(got) != 3:
        kind = "nothing (None)" if got is None else a_kind(got)
        kind = f"{len(got)} things" if isinstance(got, tuple | list) else kind
        raise Wrong(
            "[three_tensors_are_asked_for] "
            f"Return three tensors, input_ids, attention_mask, position_ids; you return {kind}.",
            got=got,
        )
    shape = (len(prompts), max(map(len, prompts)))
    for name, array in zip(("input_ids", "attention_mask", "position_ids"), got, strict=True):
        is_tensor = isinstance(array, Array)
        if not is_tensor or array.dtype != "int64" or tuple(array.shape) != shape:
            raise Wrong(
                "[other_shape_or_type] "
                f"{name} must be an int64 tensor of shape {list(shape)}: one row for each prompt, "
                "and as many places as the longest prompt has tokens. "
                f"{shape_seen(array, prompts, shape)}",
                expected=f"int64 {list(shape)}",
                got=f"{array.dtype} {list(array.shape)}" if is_tensor else array,
            )
    return [array.values for array in got]


def shape_seen(array, prompts, shape):
    if not isinstance(array, Array):
        return (
            f"[list_in_place_of_a_tensor] You return {a_kind(array)}; torch.tensor makes a tensor "
            "from nested lists."
        )
    if array.dtype.startswith("numpy"):
        return (
            "[array_of_numpy] You return a numpy array, which the model does not accept: use "
            "torch.tensor(...)."
        )
    if tuple(array.shape) == shape:
        return (
            f"[tensor_of_another_type] Your tensor holds {array.dtype}: use dtype=torch.int64, "
            "or whole numbers in torch.tensor."
        )
    if tuple(array.shape) == shape[::-1]:
        return "[tensor_lies_on_its_side] You exchange rows and columns: each row is one prompt."
    if len(array.shape) != 2:
        num = len(array.shape)
        return (
            f"[other_number_of_dimensions] Your tensor has {num} dimension{'s' * (num > 1)}; it "
            "needs two: prompt and place."
        )
    rows, places = array.shape
    if rows < shape[0] and rows == len({tuple(prompt) for prompt in prompts}):
        return (
            "[equal_prompts_share_a_row] Two prompts are equal, and your tensor has one row for "
            "both prompts: each prompt needs its own row."
        )
    if rows != shape[0]:
        return f"[other_number_of_rows] Your tensor has {rows} rows for {shape[0]} prompts."
    return width_seen(places, [len(prompt) for prompt in prompts])


def width_seen(places, lengths):
    wide = (
        f"Your tensor has {places} places, and the longest of these prompts has {max(lengths)} "
        "tokens"
    )
    if places == min(lengths):
        return (
            "[as_wide_as_the_shortest] Your tensor is as wide as the shortest prompt, so the "
            "other prompts lose tokens."
        )
    if places == lengths[0]:
        return (
            f"[as_wide_as_the_first] {wide}: you always use the width of the first prompt, even "
            "if another prompt is longer."
        )
    if places == lengths[-1]:
        return (
            f"[as_wide_as_the_last] {wide}: you always use the width of the last prompt, even if "
            "another prompt is longer."
        )
    if places == max(lengths) - 1:
        return f"[one_place_too_few] {wide}: a token is lost. A row holds all of a prompt's tokens."
    if places == max(lengths) + 1:
        return (
            f"[one_place_too_many] {wide}: this is one place too many. The longest prompt needs no "
            "padding."
        )
    if places % 8 == 0:
        return f"[width_is_rounded_up] {wide}: do not round up."
    return f"{wide}."


def left(prompts, pad, real):
    """Rows of `real(prompt)`, with `pad` to their left."""
    width = max(map(len, prompts))
    return [[pad] * (width - len(prompt)) + real(prompt) for prompt in prompts]


def right(prompts, pad, real):
    width = max(map(len, prompts))
    return [real(prompt) + [pad] * (width - len(prompt)) for prompt in prompts]


def only_first(rows, prompts, empty):
    """The rows that a loop fills which asks prompts.index(prompt) for the row's number."""
    return [
        row if i == prompts.index(prompts[i]) else [empty] * len(row) for i, row in enumerate(rows)
    ]


def one_list(prompts, pad, real):
    """The rows of [[pad] * longest] * len(prompts), which are the same list, filled one by one."""
    row = [pad] * max(map(len, prompts))
    for prompt in prompts:
        row[len(row) - len(prompt) :] = real(prompt)
    return [row] * len(prompts)


def in_the_middle(prompts, pad, real, rounded=0):
    """Half of the padding, rounded up or down, on each side."""
    width, rows = max(map(len, prompts)), []
    for prompt in prompts:
        few = (width - len(prompt) + rounded) // 2
        rows.append([pad] * few + real(prompt) + [pad] * (width - len(prompt) - few))
    return rows


def padded_with_its_own(prompts, place):
    width = max(map(len, prompts))
    return [[prompt[place]] * (width - len(prompt)) + prompt for prompt in prompts]


def ones(prompt):
    return [1] * len(prompt)


def places(prompt):
    return list(range(len(prompt)))


def in_16_bits(number):
    return (number + 2**15) % 2**16 - 2**15


IDS = {
    "": lambda prompts, pad: left(prompts, pad, list),
    "[padded_on_the_right] You put the padding on the right. The model predicts the next token "
    "at the last place of each row, so a real token must be there: put the padding on the left.": (
        lambda prompts, pad: right(prompts, pad, list)
    ),
    "[padded_with_zero] You pad with 0; pad with pad_token_id. (Your padding is on the left, as "
    "it should be.)": (lambda prompts, pad: left(prompts, 0, list)),
    "[padded_on_the_right_with_zero] You pad with 0 on the right; pad with pad_token_id on the "
    "left.": (lambda prompts, pad: right(prompts, 0, list)),
    "[padded_on_both_sides] You put padding on both sides; all padding goes on the left, so that "
    "a real token is in the last place.": (
        lambda prompts, pad: in_the_middle(prompts, pad, list),
        lambda prompts, pad: in_the_middle(prompts, pad, list, rounded=1),
    ),
    "[padded_with_a_number_of_its_own] You pad with a number other than pad_token_id. (Your "
    "padding is on the left, as it should be.)": (
        lambda prompts, pad: left(prompts, -100, list),
        lambda prompts, pad: left(prompts, -1, list),
        lambda prompts, pad: left(prompts, 1, list),
        lambda prompts, pad: left(prompts, 2, list),
    ),
    "[padded_with_a_token_of_the_prompt] You pad with a token of the prompt; pad with "
    "pad_token_id.": (
        lambda prompts, pad: padded_with_its_own(prompts, 0),
        lambda prompts, pad: padded_with_its_own(prompts, -1),
    ),
    "[rows_are_one_list] "
    "All your rows are the same list, so each prompt overwrites the one before: [[…]] * n repeats "
    "one list. Create a new list for each row.": (
        lambda prompts, pad: one_list(prompts, pad, list)
    ),
    "[prompts_run_backwards] You reverse the tokens of a prompt; a prompt's tokens keep their "
    "order.": (lambda prompts, pad: left(prompts, pad, lambda prompt: prompt[::-1])),
    "[rows_sorted_by_length] "
    "You sort the rows by length; the rows keep the order of the prompts.": (
        lambda prompts, pad: sorted(left(prompts, pad, list), key=lambda row: row.count(pad))
    ),
    "[rows_sorted_longest_last] You sort the rows by length, shortest first; the rows keep the "
    "order of the prompts.": (
        lambda prompts, pad: sorted(left(prompts, pad, list), key=lambda row: -row.count(pad))
    ),
    "[second_of_equals_stays_padding] "
    "Two of these prompts are equal, and the row of the second one stays empty: prompts.index "
    "finds only the first of two equal prompts. Use enumerate.": (
        lambda prompts, pad: only_first(left(prompts, pad, list), prompts, pad)
    ),
    "[second_of_equals_stays_zero] "
    "Two of these prompts are equal, and the row of the second one stays 0: prompts.index finds "
    "only the first of two equal prompts. Use enumerate.": (
        lambda prompts, pad: only_first(left(prompts, pad, list), prompts, 0)
    ),
}
IDS["[ids_do_not_fit] Your ids have 16 bits, which cannot hold an id above 65,535: use int64."] = (
    lambda prompts, pad: left(prompts, in_16_bits(pad), lambda prompt: [*map(in_16_bits, prompt)]),
    lambda prompts, pad: left(prompts, pad % 2**16, lambda prompt: [n % 2**16 for n in prompt]),
)
MASKS = {
    "": lambda prompts, pad: left(prompts, 0, ones),
    "[mask_is_inverted] You invert the mask: the mask is 1 for a real token and 0 for padding.": (
        lambda prompts, pad: left(prompts, 1, lambda prompt: [0] * len(prompt))
    ),
    "[mask_asks_for_the_padding_id] Your mask treats a real token as padding if the token has "
    "the same id as the padding. Set the mask by where the prompt begins.": (
        lambda prompts, pad: left(prompts, 0, lambda prompt: [int(t != pad) for t in prompt])
    ),
    "[mask_has_the_last_place_only] Your mask is 1 only at the last place; the mask is 1 for "
    "every real token, since the model attends to all of them.": lambda prompts, pad: left(
        prompts, 0, lambda prompt: [0] * (len(prompt) - 1) + [1]
    ),
    "[mask_counts_tokens] Your mask counts the real tokens; the mask is 1 for each real token and "
    "0 for padding.": (
        lambda prompts, pad: left(prompts, 0, lambda prompt: [n + 1 for n in places(prompt)])
    ),
    "[mask_holds_tokens] Your mask holds the tokens themselves; the mask is 1 for a real token.": (
        lambda prompts, pad: left(prompts, pad, list),
        lambda prompts, pad: left(prompts, 0, list),
    ),
    "[mask_rows_are_one_list] "
    "All rows of your mask are the same list: [[…]] * n repeats one list. Create a new list for "
    "each row.": lambda prompts, pad: one_list(prompts, 0, ones),
    "[mask_is_one_everywhere] Your mask is 1 everywhere; the mask is 0 for padding.": (
        lambda prompts, pad: left(prompts, 1, ones)
    ),
    "[mask_has_tokens_on_the_left] Your mask has the real tokens on the left; the real tokens "
    "are on the right.": (lambda prompts, pad: right(prompts, 0, ones)),
    "[mask_and_positions_swapped] You return position_ids in second place: the order is "
    "input_ids, attention_mask, position_ids.": (lambda prompts, pad: left(prompts, 0, places)),
    "[mask_is_of_id_zero_on_the_left] You set the mask by checking which ids are 0; set the mask "
    "by where the prompt begins.": (
        lambda prompts, pad: [[int(t != 0) for t in row] for row in left(prompts, pad, list)]
    ),
    "[mask_hides_id_zero] Your mask is 0 for each real token whose id is 0; the mask is 1 for "
    "every real token.": (
        lambda prompts, pad: left(prompts, 0, lambda prompt: [int(t != 0) for t in prompt])
    ),
    "[mask_of_the_second_equal_is_empty] Two of these prompts are equal, and your mask is 0 for "
    "the second one: prompts.index finds only the first of two equal prompts. Use enumerate.": (
        lambda prompts, pad: only_first(left(prompts, 0, ones), prompts, 0)
    ),
}
POSITIONS = {
    "": lambda prompts, pad: left(prompts, 0, places),
    "[positions_count_places_of_the_row] You count the places of the row; positions count only "
    "real tokens. Every prompt begins at position 0, wherever the prompt begins in the row.": (
        lambda prompts, pad: [list(range(max(map(len, prompts)))) for _ in prompts]
    ),
    "[positions_go_on_downwards_in_padding] The real tokens' positions are right, but your "
    "positions are negative in the padding; the position of padding is 0.": (
        lambda prompts, pad: [
            list(range(len(prompt) - max(map(len, prompts)), len(prompt))) for prompt in prompts
        ]
    ),
    "[positions_are_one_in_padding] The real tokens' positions are right, but your positions are "
    "1 in the padding; the position of padding is 0.": (
        lambda prompts, pad: left(prompts, 1, places)
    ),
    "[positions_are_minus_one_in_padding] The real tokens' positions are right, but your "
    "positions are -1 in the padding; the position of padding is 0.": (
        lambda prompts, pad: left(prompts, -1, places)
    ),
    "[positions_are_the_padding_id] The real tokens' positions are right, but your positions are "
    "pad_token_id in "
    "the padding; the position of padding is 0.": lambda prompts, pad: left(prompts, pad, places),
    "[positions_count_on_through_prompts] Your positions continue from the prompt before; every "
    "prompt begins at position 0.": (
        lambda prompts, pad: [
            [0] * (max(map(len, prompts)) - len(prompt)) + list(range(before, before + len(prompt)))
            for prompt, before in zip(
                prompts, itertools.accumulate([0, *map(len, prompts)]), strict=False
            )
        ]
    ),
    "[positions_rows_are_one_list] "
    "All rows of your positions are the same list: [[…]] * n repeats one list. Create a new list "
    "for each row.": lambda prompts, pad: one_list(prompts, 0, places),
    "[positions_count_from_one] The first token's position is 0, and you count from 1.": (
        lambda prompts, pad: left(prompts, 0, lambda prompt: [n + 1 for n in places(prompt)])
    ),
    "[positions_count_from_one_in_tokens] "
    "The first token's position is 0, and you count from 1 (padding has position 0).": (
        lambda prompts, pad: left(prompts, 1, lambda prompt: [n + 1 for n in places(prompt)])
    ),
    "[positions_count_from_one_over_the_row] "
    "The first token's position is 0, and you count from 1, over the whole row.": (
        lambda prompts, pad: [list(range(1, max(map(len, prompts)) + 1)) for _ in prompts]
    ),
    "[positions_have_padding_on_the_right] Your positions are 0 on the right; padding, which has "
    "position 0, is on the left.": (lambda prompts, pad: right(prompts, 0, places)),
    "[positions_are_places_of_the_row] You count places from the start of the row; count them from "
    "the first token of the prompt, from 0.": lambda prompts, pad: [
        [n if n >= max(map(len, prompts)) - len(prompt) else 0 for n in range(len(row))]
        for prompt, row in zip(prompts, left(prompts, 0, places), strict=True)
    ],
    "[positions_count_down] Your positions count down; positions count up from the first token "
    "of the prompt.": (lambda prompts, pad: left(prompts, 0, lambda prompt: places(prompt)[::-1])),
    "[positions_do_not_fit] "
    "Your positions have 8 bits, which overflow in a long prompt: use int64.": (
        lambda prompts, pad: left(prompts, 0, lambda prompt: [n % 256 for n in places(prompt)]),
        lambda prompts, pad: left(
            prompts, 0, lambda prompt: [(n + 128) % 256 - 128 for n in places(prompt)]
        ),
    ),
    "[positions_are_all_zero] Your positions are all 0; the position of a real token is its "
    "place in its own prompt: 0, 1, 2, …": (
        lambda prompts, pad: [[0] * max(map(len, prompts)) for _ in prompts]
    ),
    "[positions_skip_the_padding_id] You do not count a real token whose id is pad_token_id; a "
    "real token counts, whatever its id is.": (
        lambda prompts, pad: left(
            prompts,
            0,
            lambda prompt: [
                max(0, sum(t != pad for t in prompt[: n + 1]) - 1) for n in places(prompt)
            ],
        ),
        lambda prompts, pad: left(
            prompts, 0, lambda prompt: [sum(t != pad for t in prompt[:n]) for n in places(prompt)]
        ),
    ),
    "[positions_of_the_second_equal_are_empty] Two of these prompts are equal, and the positions "
    "of the second one are missing: prompts.index finds only the first of two equal prompts. Use "
    "enumerate.": (lambda prompts, pad: only_first(left(prompts, 0, places), prompts, 0)),
}


def rectangle(student, index, forms, cases, otherwise):
    """One of the three tensors, in all cases; if one is wrong, the belief that fits them all."""
    seen = [(case, padded(student, *case)[index]) for case in cases]
    for case, got in seen:
        if got != forms[""](*case):
            said = why(seen, lambda part: part[0], forms) or otherwise
            shown = f"pad_batch({case[0]}, pad_token_id={case[1]})"
            if len(shown) > 200:
                lengths = " and ".join(str(len(prompt)) for prompt in case[0])
                shown = f"prompts of {lengths} tokens, pad_token_id={case[1]}"
            raise Wrong(f"{said} ({shown})", expected=forms[""](*case), got=got)


@pytest.mark.task("2.2", points=0.5)
def test_it_is_a_rectangle_of_whole_numbers(student):
    padded(student, PROMPTS)
    padded(student, TWINS)
    padded(student, [[5, 6, 7]])


@pytest.mark.task("2.2", points=1)
def test_the_padding_is_on_the_left(student):
    said = (
        "[other_input_ids] Your input_ids are wrong. Padding goes on the left and is "
        "pad_token_id; the unchanged prompt follows."
    )
    cases = [(PROMPTS, 3), (TWINS, 2), ([[7], [5, 6], [4, 3, 2]], 1)]
    cases += [([[70_001, 5], [131_071]], 100_003)]  # a large vocabulary's
    rectangle(student, 0, IDS, cases, said)


@pytest.mark.task("2.2", points=1)
def test_the_mask_tells_real_tokens_from_padding(student):
    said = (
        "[other_mask] Your mask is wrong. The mask is 1 for a real token and 0 for padding: "
        "first a 0 for each padding token, then ones."
    )
    cases = [([*PROMPTS, [4, 0, 4]], 0), ([*PROMPTS, [0, 3, 3]], 3), (TWINS, 2)]
    rectangle(student, 1, MASKS, cases, said)


@pytest.mark.task("2.2", points=1)
def test_positions_count_real_tokens_from_zero(student):
    said = (
        "[other_positions] Your position_ids are wrong. Every prompt begins at position 0, "
        "wherever it begins in its row: positions count only real tokens, and are 0 for padding."
    )
    cases = [(PROMPTS, 0), ([*PROMPTS, [0, 4, 0]], 0), (TWINS, 2), ([[9], [7, 8, 4] * 100], 2)]
    rectangle(student, 2, POSITIONS, cases, said)


@pytest.mark.task("2.2", points=0.25)
def test_a_model_continues_each_prompt_as_if_it_were_alone(student, rng):
    import torch
    from tiny_model import tiny_model

    hf = tiny_model().hf
    prompts = [[rng.randrange(2, 120) for _ in range(rng.randint(1, 9))] for _ in range(5)]
    ids, mask, positions = (torch.tensor(values) for values in padded(student, prompts))
    if not (int(ids.min()) >= 0 and int(ids.max()) < 128 and int(positions.min()) >= 0):
        raise Wrong(
            "[no_model_can_look_these_up] input_ids or position_ids hold numbers that the model "
            "does not have: ids must be from 0 to 127, and positions 0 or more."
        )
    with torch.inference_mode():
        together = hf(ids, attention_mask=mask, position_ids=positions).logits[:, -1]
        for row, prompt in enumerate(prompts):
            alone = hf(torch.tensor([prompt])).logits[0, -1]
            if not torch.allclose(together[row], alone, atol=1e-3):
                raise Wrong(
                    "[continues_in_another_way] With your batch, a model continues prompt "
                    f"{row + 1} of {len(prompts)} differently than alone: something in row "
                    f"{row + 1} is wrong.",
                    expected=int(alone.argmax()),
                    got=int(together[row].argmax()),
                )


@pytest.mark.task("2.2", points=0.25)
def test_the_caller_keeps_its_prompts(student):
    """Lists that refuse to be changed, and prompts of the same length."""
    padded(student, Lent(map(Lent, PROMPTS)))
    padded(student, Lent(map(Lent, ([1, 2], [3, 4]))))


# 2.3 ---------------------------------------------------------------------------------------------

FIVE = asks(("A", 4, 6), ("B", 7, 2), ("C", 5, 4), ("D", 3, 3), ("E", 6, 5))


def mine(student, max_batch_size=3):
    return RemoteScheduler(student, "MyStatic", max_batch_size)


def who(step):
    return ", ".join(sorted(row.request_id for row in step.rows))


@pytest.mark.task("2.3", points=0.5)
def test_a_batch_takes_waiting_requests_up_to_its_size(student):
    (step,) = serve(mine(student), FIVE, steps=1).trace.steps
    got = who(step)
    if got != "A, B, C":
        said = "[other_first_batch] your first batch is wrong: the head of the queue joins first."
        if len(step.rows) == 1:
            said = (
                "[only_one_joined] only one request joined: admit all requests that fit, in a loop."
            )
        elif len(step.rows) == 2:
            said = (
                "[slot_stayed_empty] two requests joined, and a slot stayed empty: while "
                "len(self.running) < "
            )
            said += "self.max_batch_size, the next request joins."
        raise Wrong(
            f"Five requests wait for 3 slots: the first batch is A, B and C; {said}",
            expected="A, B, C",
            got=got,
        )


def uneven(rows, lengths):
    """What to say of rows that are not 7 tokens long, prompts of 5, 7 and 4 tokens."""
    computed = {row.request_id: row.num_tokens for row in rows}
    if lengths["A"] == 9:
        return (
            "[padded_to_who_waits] You pad to 9, the length of D's prompt. D waits, so D's "
            "prompt does not count: only this step's rows count."
        )
    if computed["B"] < 7:
        return (
            f"[prompt_cut_to_a_shorter_one] You compute {computed['B']} of B's tokens. Compute "
            "each prompt whole: pad the shorter prompts, do not cut the longer prompts."
        )
    if len(set(lengths.values())) == 1:
        return (
            f"[padded_to_more_than_the_longest] You pad the rows to {lengths['A']} tokens; pad "
            "them only to the length of the longest row."
        )
    if all(row.num_padding_tokens == 7 for row in rows):
        return (
            "[padding_is_the_padded_length] You give the padded length as the third number of "
            "mb.Row; give the number of padding tokens, longest - n."
        )
    if not any(row.num_padding_tokens for row in rows):
        return (
            "[no_padding_at_all] Your rows have no padding; give the number of padding tokens as "
            "the third number of mb.Row."
        )
    if lengths["C"] == 5:
        return (
            "[padded_to_the_first] You pad to A's 5 tokens: A is the first row, not the longest "
            "row."
        )
    return (
        "[rows_differ_in_length] Your rows are not equally long: add padding to shorter rows, "
        "mb.Row(s, n, padding)."
    )


@pytest.mark.task("2.3", points=0.5)
def test_short_prompts_are_padded_to_the_longest(student):
    four = asks(("A", 5, 6), ("B", 7, 2), ("C", 4, 4), ("D", 9, 3))
    first, second = serve(mine(student), four, steps=2).trace.steps
    if who(first) != "A, B, C":
        raise Wrong(
            "[other_batch_before_padding] Your first batch is wrong: A, B and C are the first "
            "batch, and D waits.",
            expected="A, B, C",
            got=who(first),
        )
    lengths, after = (
        {row.request_id: row.num_tokens + row.num_padding_tokens for row in step.rows}
        for step in (first, second)
    )
    if set(lengths.values()) != {7}:
        raise Wrong(
            "All rows of a step must be equally long. B's prompt has 7 tokens, so A's row needs 5 "
            f"tokens and 2 of padding, and C's row needs 4 and 3. {uneven(first.rows, lengths)}",
            expected={"A": 7, "B": 7, "C": 7},
            got=lengths,
        )
    if set(after.values()) != {1}:
        raise Wrong(
            "[padded_to_the_longest_prompt] You pad to the longest prompt. In step 2 every prompt "
            "is already computed, and each row computes 1 token: pad to the longest row of this "
            "step.",
            expected={"A": 1, "B": 1, "C": 1},
            got=after,
        )
    long = [*asks(("A", 5000, 2)), *FIVE[1:3]]
    (step,) = serve(mine(student), long, num_blocks=4000, steps=1).trace.steps
    computed = max(row.num_tokens for row in step.rows)
    if computed != 5000:
        raise Wrong(
            "[long_prompt_not_computed_whole] "
            f"A's prompt has 5,000 tokens, and its row computes {computed:,}: compute the whole "
            "prompt, however long it is.",
            expected="A: 5000",
            got=f"A: {computed}",
        )


@pytest.mark.task("2.3", points=0.5)
def test_a_finished_request_stays_as_padding(student):
    engine = serve(mine(student), FIVE[:3])
    expected = serve(mb.Static(3), FIVE[:3])
    for number, step in enumerate(engine.trace.steps, 1):
        rows = {row.request_id: row.num_tokens + row.num_padding_tokens for row in step.rows}
        if len(rows) != 3:
            gone = ", ".join(sorted({"A", "B", "C"} - rows.keys()))
            raise Wrong(
                "[finished_has_no_row] "
                f"In step {number}, {gone} has no row. A static batch keeps its shape: a finished "
                "request holds its slot, with a row of padding, until the batch ends.",
                expected="3 rows",
                got=f"{len(rows)} rows",
                drawing=drawn(expected, engine),
            )
        if number > 1 and set(rows.values()) != {1}:
            raise Wrong(
                "[finished_row_is_longer] "
                f"In step {number}, a decode row has 1 token, so a finished request needs a "
                "padding row of 1 token, not more.",
                expected=dict.fromkeys("ABC", 1),
                got=rows,
            )


@pytest.mark.task("2.3", points=0.5)
def test_no_request_joins_before_the_batch_has_ended(student):
    requests = [*FIVE[:2], *asks(("D", 3, 3, 1.0), ("E", 6, 5, 2.5))]
    engine = serve(mine(student), requests)
    batch = engine.trace.steps[:6]
    early = [n for n, step in enumerate(batch, 1) if {r.request_id for r in step.rows} & {"D", "E"}]
    if early:
        raise Wrong(
            "[joins_a_running_batch] "
            f"D joined in step {early[0]}, while A's batch was running and had a free slot. Form "
            "a static batch only when no sequence runs.",
            drawing=drawn(serve(mb.Static(3), requests), engine),
        )


@pytest.mark.task("2.3", points=0.25)
def test_a_batch_also_ends_if_a_request_of_it_is_aborted(student):
    """C is given up while A and B go on, and A once B has finished. Then D's batch begins."""
    requests = asks(("A", 4, 9), ("B", 7, 3), ("C", 5, 8), ("D", 3, 3))
    expected, got = (serve(policy, requests, steps=2) for policy in (mb.Static(3), mine(student)))
    for engine in (expected, got):
        engine.abort("C")
        go_on(engine, steps=4)
        engine.abort("A")
    if got.scheduler.running:
        raise Wrong(
            "[given_up_keeps_the_batch] You keep the batch: B had finished when A was aborted, "
            "and B still holds its slot. No request of the batch continues, so the batch has "
            "ended. The exercise's own `abort`, below `retire`, handles this: leave `abort` as "
            "it is."
        )
    for engine in (expected, got):
        go_on(engine)
    same_plan(
        expected,
        got,
        "[plan_after_giving_up] Your plan is wrong after two aborts. C was aborted after step 2, "
        "and A and B continued. A was aborted after step 4: the batch has ended, and D joins.",
    )


@pytest.mark.task("2.3", points=0.5)
def test_a_request_that_does_not_fit_into_the_pool_opens_the_next_batch(student):
    asks_the_pool(lambda slots: mine(student, slots), 3)
    requests = asks(("A", 4, 12), ("B", 4, 12), ("C", 4, 12))  # each may need 4 blocks of 4
    try:
        engine = serve(mine(student), requests, num_blocks=9, max_tokens=12, exactly=True)
    except Raised as error:
        if not error.sentence.startswith("MemoryError"):
            raise
        raise Wrong(
            "[pool_ran_dry_in_an_answer] "
            "The pool ran out of blocks in the middle of an answer (MemoryError): it has 9 "
            "blocks, and each of A, B and C may need 4. Take blocks for max_num_tokens when a "
            "sequence joins."
        ) from None
    sizes = [len(step.admitted) for step in engine.trace.steps if step.admitted]
    if sizes != [2, 1]:
        raise Wrong(
            "[other_batches_in_a_small_pool] The pool has 9 blocks, and each of A, B and C may "
            "need 4: A and B fill the pool, and C waits for the next batch.",
            expected="batches of 2, 1",
            got="batches of " + ", ".join(map(str, sizes)),
        )
    two = asks(("A", 5, 12), ("B", 5, 12))  # 16 tokens are exactly 4 blocks
    engine = serve(mine(student), two, num_blocks=8, max_tokens=12, steps=1, exactly=True)
    if who(engine.trace.steps[0]) != "A, B":
        raise Wrong(
            "[exact_fit_waits] A and B may need 4 blocks each, for their max_num_tokens, 16; 8 "
            "blocks are free, and only A joined. A sequence that fits exactly joins, too, as "
            "self.can_grow says."
        )
    requests = asks(("A", 4, 12), ("B", 16, 16), ("C", 2, 2))  # of up to 12: A 4 blocks, B 7, C 4
    engine = serve(mine(student), requests, num_blocks=9, max_tokens=12, exactly=True)
    if who(engine.trace.steps[0]) != "A":
        raise Wrong(
            "[later_one_overtakes] "
            "B did not fit into the pool, and C, which arrived later, overtook it. Take from the "
            "head of the queue, and stop at the first sequence that does not fit. Otherwise a "
            "large request may wait forever."
        )


@pytest.mark.task("2.3", points=0.5)
def test_asked_twice_it_plans_the_same_rows(student):
    plans_alike_twice(mine(student), FIVE)


@pytest.mark.task("2.3", points=0.5)
def test_any_requests_give_the_batches_of_the_rule(student, rng):
    few = asks(("A", 4, 6), ("B", 2, 3, 1.5), ("C", 5, 2, 2.5))
    engine = serve(mine(student), few)
    if [who(step) for step in engine.trace.steps if step.admitted] == ["A", "B", "C"]:
        raise Wrong(
            "[remembers_the_batch_size] B and C waited when A's batch ended, and B ran alone. A "
            "slot was free, so C joins B's batch; the size of A's batch is no limit for the next "
            "one. Read self.waiting each time, and keep nothing between calls.",
            expected="batches of A; B, C",
            got="batches of A; B; C",
            drawing=drawn(serve(mb.Static(3), few), engine),
        )
    said = (
        "[other_plan] Your plan does not follow the rule: first decodes, then prompts that have "
        "begun, then new requests."
    )
    late = asks(("A", 4, 6), ("B", 2, 3), ("C", 5, 2, 30.0))  # in between nobody waits or runs
    for requests in (FIVE, late):
        same_plan(serve(mb.Static(3), requests), serve(mine(student), requests), said)
    serves_in_an_engine(mine(student), mb.Static(3), FIVE, num_blocks=9)
    for requests in (some_requests(rng) for _ in range(3)):
        same_plan(serve(mb.Static(3), requests), serve(mine(student), requests), said)


@pytest.mark.task("2.3", points=0.25)
def test_each_row_computes_what_is_not_computed_yet(student):
    """With prefixes in the cache, and after a forward pass that failed."""
    computes_what_is_left(
        mine(student),
        mb.Static(3),
        TWO_ALIKE,
        f"[other_need_with_a_cached_prefix] {CACHED}",
        others="[other_batch_with_a_cached_prefix] Your batches are different when a cache is on. "
        "The cache changes how much a row computes, not which requests join.",
        is_padded=True,
        prefix_caching=True,
    )
    computes_what_is_left(
        mine(student),
        mb.Static(3),
        FIVE,
        f"[other_need_after_a_failed_pass] {FAILED}",
        others="[other_batch_after_a_failed_pass] "
        "Pass 4 failed, and all running sequences wait again at the head of the queue: "
        "self.running is empty, and a new batch is formed as usual.",
        is_padded=True,
        fails=[4],
    )


NOW_YOURS = {"2.1": now_yours.padding, "2.2": now_yours.rectangle, "2.3": now_yours.static}

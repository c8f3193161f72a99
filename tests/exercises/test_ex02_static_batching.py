"""Judges exercises 2.1 to 2.3: tensors by a model that reads them, the policy by what it does."""

import pytest
from serving import asks, drawn, plans_alike_twice, same_plan, serve, some_requests

import minibatch as mb
from minibatch.course.judging.desk_errors import Raised
from minibatch.course.judging.remote import RemoteScheduler
from minibatch.course.judging.values import Array
from minibatch.course.judging.verdict import Wrong

WITHHELD = {
    "2.3": {"minibatch.schedulers.static": "Static", "minibatch.schedulers.dynamic": "Dynamic"}
}
PROMPTS = [[5, 6, 7, 8], [9, 10], [11]]


# 2.1 ---------------------------------------------------------------------------------------------


def padded(student, prompts, pad_token_id=0):
    """Three nested lists, once they are known to be int64 tensors of the right shape."""
    got = student.call("pad_batch", prompts, pad_token_id)
    if not isinstance(got, tuple | list) or len(got) != 3:
        raise Wrong("Return three tensors: input_ids, attention_mask, position_ids.", got=got)
    shape = (len(prompts), max(map(len, prompts)))
    for name, array in zip(("input_ids", "attention_mask", "position_ids"), got, strict=True):
        if not isinstance(array, Array) or array.dtype != "int64" or array.shape != shape:
            seen = f"{array.dtype} {list(array.shape)}" if isinstance(array, Array) else array
            raise Wrong(
                f"{name} must be an int64 tensor of shape {list(shape)}: as many rows as prompts, "
                "as many places as the longest has tokens.",
                expected=f"int64 {list(shape)}",
                got=seen,
            )
    return [array.values for array in got]


@pytest.mark.task("2.1", points=0.5)
def test_it_is_a_rectangle_of_whole_numbers(student):
    padded(student, PROMPTS)


@pytest.mark.task("2.1", points=1)
def test_the_padding_is_on_the_left(student):
    ids, _, _ = padded(student, PROMPTS, 3)
    expected = [[5, 6, 7, 8], [3, 3, 9, 10], [3, 3, 3, 11]]
    if ids != expected:
        raise Wrong(
            "The next token is read off the last place of each row, so a real token must stand "
            "there: the padding goes to the left, and is pad_token_id.",
            expected=expected,
            got=ids,
        )


@pytest.mark.task("2.1", points=1)
def test_the_mask_tells_real_tokens_from_padding(student):
    _, mask, _ = padded(student, [*PROMPTS, [4, 0, 4]], 0)
    expected = [[1, 1, 1, 1], [0, 0, 1, 1], [0, 0, 0, 1], [0, 1, 1, 1]]
    if mask != expected:
        raise Wrong(
            "The mask is 1 for a real token and 0 for padding. A real token may have the same id "
            "as the padding: what counts is where the prompt begins.",
            expected=expected,
            got=mask,
        )


@pytest.mark.task("2.1", points=1)
def test_positions_count_real_tokens_from_zero(student):
    _, _, positions = padded(student, PROMPTS)
    expected = [[0, 1, 2, 3], [0, 0, 0, 1], [0, 0, 0, 0]]
    if positions != expected:
        raise Wrong(
            "Every prompt begins at position 0, wherever its row begins: positions count real "
            "tokens only, and are 0 for padding.",
            expected=expected,
            got=positions,
        )


@pytest.mark.task("2.1", points=0.5)
def test_a_model_says_of_each_what_it_says_of_it_alone(student, rng):
    import torch
    from tiny_model import tiny_model

    hf = tiny_model().hf
    prompts = [[rng.randrange(2, 120) for _ in range(rng.randint(1, 9))] for _ in range(5)]
    ids, mask, positions = (torch.tensor(values) for values in padded(student, prompts))
    if not (int(ids.min()) >= 0 and int(ids.max()) < 128 and int(positions.min()) >= 0):
        raise Wrong("input_ids or position_ids hold numbers that no model can look up.")
    with torch.inference_mode():
        together = hf(ids, attention_mask=mask, position_ids=positions).logits[:, -1]
        for row, prompt in enumerate(prompts):
            alone = hf(torch.tensor([prompt])).logits[0, -1]
            if not torch.allclose(together[row], alone, atol=1e-3):
                raise Wrong(
                    f"A model continues prompt {row + 1} of {len(prompts)} in another way than "
                    "alone: something in its row is not as it should be.",
                    expected=int(alone.argmax()),
                    got=int(together[row].argmax()),
                )


# 2.2 ---------------------------------------------------------------------------------------------


def share(student, lengths, size, sentence):
    batches = [lengths[i : i + size] for i in range(0, len(lengths), size)]
    expected = 1 - sum(lengths) / sum(max(batch) * len(batch) for batch in batches)
    got = student.call("padding_share", lengths, size)
    if isinstance(got, bool) or not isinstance(got, int | float) or abs(got - expected) > 1e-9:
        shares = [1 - sum(batch) / (max(batch) * len(batch)) for batch in batches]
        if isinstance(got, float) and abs(got - sum(shares) / len(shares)) < 1e-9:
            sentence = (
                "a mean of the batches' shares gives a short batch as much weight as a long one: "
                "divide all padding by all slot-steps, once, at the end."
            )
        raise Wrong(f"padding_share({lengths}, {size}): {sentence}", expected=expected, got=got)


@pytest.mark.task("2.2", points=0.5)
def test_equal_lengths_waste_nothing(student):
    share(student, [8, 8, 8, 8], 4, "all four end together, so no slot-step is padding.")


@pytest.mark.task("2.2", points=0.5)
def test_a_batch_runs_as_long_as_its_longest_answer(student):
    share(
        student,
        [8, 18, 50],
        3,
        "50 steps in 3 slots are 150 slot-steps, 76 of them yield a token: the other 74 are "
        "padding.",
    )


@pytest.mark.task("2.2", points=0.5)
def test_batches_are_formed_in_order(student):
    said = "the first four are one batch, the next four another: each runs to its own longest."
    share(student, [20, 45, 80, 120, 150, 90, 60, 200], 4, said)
    share(student, [5, 1, 1, 5], 2, said)


@pytest.mark.task("2.2", points=0.5)
def test_every_slot_step_counts_the_same(student, rng):
    said = "the last batch has one sequence, and so one slot."
    share(student, [10, 2, 100], 2, said)
    for _ in range(5):
        lengths = [rng.randint(1, 60) for _ in range(rng.randint(1, 12))]
        share(student, lengths, rng.randint(1, 5), said)


# 2.3 ---------------------------------------------------------------------------------------------

FIVE = asks(("A", 4, 6), ("B", 7, 2), ("C", 5, 4), ("D", 3, 3), ("E", 6, 5))


def mine(student, max_batch_size=3):
    return RemoteScheduler(student, "MyStatic", max_batch_size)


@pytest.mark.task("2.3", points=0.5)
def test_a_batch_takes_who_waits_up_to_its_size(student):
    (step,) = serve(mine(student), FIVE, steps=1).trace.steps
    got = ", ".join(sorted(row.request_id for row in step.rows))
    if got != "A, B, C":
        raise Wrong(
            "Five wait for 3 slots: the first batch is A, B and C, admitted in one go.",
            expected="A, B, C",
            got=got,
        )


@pytest.mark.task("2.3", points=0.5)
def test_short_prompts_are_padded_to_the_longest(student):
    engine = serve(mine(student), FIVE, steps=2)
    lengths, after = (
        {r.request_id: r.num_tokens + r.num_padding_tokens for r in step.rows}
        for step in engine.trace.steps
    )
    if set(lengths.values()) != {7}:
        raise Wrong(
            "The rows of a step are equally long: B's prompt has 7 tokens, so A's row has 4 and 3 "
            "of padding, C's 5 and 2.",
            expected={"A": 7, "B": 7, "C": 7},
            got=lengths,
        )
    if set(after.values()) != {1}:
        raise Wrong(
            "In step 2 every prompt is computed, and each row has 1 token to compute: pad to the "
            "longest of this step's rows, not to the longest prompt.",
            expected={"A": 1, "B": 1, "C": 1},
            got=after,
        )


@pytest.mark.task("2.3", points=1)
def test_who_has_finished_goes_on_as_padding(student):
    engine = serve(mine(student), FIVE[:3])
    expected = serve(mb.Static(3), FIVE[:3])
    for number, step in enumerate(engine.trace.steps, 1):
        rows = {row.request_id: row.kind for row in step.rows}
        if len(rows) != 3:
            gone = ", ".join(sorted({"A", "B", "C"} - rows.keys()))
            raise Wrong(
                f"In step {number} {gone} has no row. A static batch keeps its shape: a member "
                "that has finished holds its slot, with a row of padding, until the batch ends.",
                expected="3 rows",
                got=f"{len(rows)} rows",
                drawing=drawn(expected, engine),
            )


@pytest.mark.task("2.3", points=0.5)
def test_nobody_joins_before_the_batch_has_ended(student):
    requests = [*FIVE[:2], *asks(("D", 3, 3, 1.0), ("E", 6, 5, 2.5))]
    engine = serve(mine(student), requests)
    batch = engine.trace.steps[:6]
    early = [n for n, step in enumerate(batch, 1) if {r.request_id for r in step.rows} & {"D", "E"}]
    if early:
        raise Wrong(
            f"D joined in step {early[0]}, while A's batch was running and had a slot free. A "
            "static batch is formed only when nobody runs any more.",
            drawing=drawn(serve(mb.Static(3), requests), engine),
        )


@pytest.mark.task("2.3", points=0.5)
def test_who_does_not_fit_into_the_pool_opens_the_next_batch(student):
    """Each may need 4 blocks of 4; there are 9."""
    requests = asks(("A", 4, 12), ("B", 4, 12), ("C", 4, 12))
    try:
        engine = serve(mine(student), requests, num_blocks=9, max_tokens=12)
    except Raised as error:
        if not error.sentence.startswith("MemoryError"):
            raise
        raise Wrong(
            "The pool ran dry: 9 blocks, and each of A, B and C may need 4. Ask self.can_grow "
            "before self.admit, both for max_num_tokens; who does not fit opens the next batch."
        ) from None
    if [len(step.admitted) for step in engine.trace.steps if step.admitted] != [2, 1]:
        raise Wrong("A and B fill the pool; C comes in the next batch, alone.")
    requests = asks(("A", 4, 12), ("B", 16, 16), ("C", 2, 2))  # of up to 12: A 4 blocks, B 7, C 4
    engine = serve(mine(student), requests, num_blocks=9, max_tokens=12)
    if [list(step.admitted) for step in engine.trace.steps if step.admitted][0] != ["A"]:
        raise Wrong(
            "B did not fit into the pool, and C, who came later, overtook it. Take from the head "
            "of the queue and stop at the first that does not fit, or one who needs much waits "
            "for ever."
        )


@pytest.mark.task("2.3", points=0.5)
def test_after_a_failed_forward_pass_the_plan_is_the_same(student):
    plans_alike_twice(mine(student), FIVE)


@pytest.mark.task("2.3", points=0.5)
def test_any_requests_give_the_batches_they_should(student, rng):
    for requests in (FIVE, *(some_requests(rng) for _ in range(3))):
        expected, got = serve(mb.Static(3), requests), serve(mine(student), requests)
        same_plan(expected, got, "Compare it with the rule: a batch, equal rows, to the end.")

"""Judges exercises 8.1 and 8.2: how many chunks a budget makes, and which budget holds a limit."""

import now_yours
import pytest
from beliefs import Counted


def up(tokens, each):
    return -(-tokens // each)


# 8.1 ---------------------------------------------------------------------------------------------

CHUNKS = Counted(
    "num_chunks",
    ("num_prompt_tokens", "num_decodes", "max_batch_tokens"),
    [(1300, 7, 128), (1210, 7, 128), (640, 0, 64), (999, 50, 64), (90, 3, 40), (5, 4, 64)],
    lambda parts: parts[0],
    {
        "": lambda p, d, b: up(p, b - d),
        "decodes go first, a token each, so that max_batch_tokens - num_decodes are left for the "
        "prompt; yours gives it the whole budget.": (
            lambda p, d, b: up(p, b),
            lambda p, d, b: p // b,
            lambda p, d, b: p // b + 1,
            lambda p, d, b: p / b,
        ),
        "the last chunk may be smaller, and takes a step, too: round up. Yours rounds down.": (
            lambda p, d, b: p // (b - d)
        ),
        "if the prompt ends with a full chunk, no empty one follows; yours adds one.": (
            lambda p, d, b: p // (b - d) + 1
        ),
        "a step is whole: round up. Yours is a part of one.": lambda p, d, b: p / (b - d),
        "round up, however little is left; yours rounds to the nearest.": (
            lambda p, d, b: round(p / (b - d))
        ),
        "decodes take a token in every step, not once; yours adds them to the prompt.": (
            lambda p, d, b: up(p + d, b)
        ),
        "the prompt takes part of the budget without a token besides: what is left is "
        "max_batch_tokens - num_decodes; yours keeps one more back.": (
            lambda p, d, b: up(p, b - d - 1)
        ),
        "asked for are the steps until the prompt is computed; yours counts one more.": (
            lambda p, d, b: up(p, b - d) + 1
        ),
        "the decodes take a token each, all num_decodes of them; yours takes one away.": (
            lambda p, d, b: up(p, b - 1)
        ),
        "the last chunk takes a step like every other; yours leaves it out.": (
            lambda p, d, b: up(p, b - d) - 1
        ),
        "what decodes take is not left for the prompt; yours adds it to the budget.": (
            lambda p, d, b: up(p, b + d)
        ),
    },
)
ROUND_UP = "num_prompt_tokens / (max_batch_tokens - num_decodes), rounded up."


@pytest.mark.task("8.1", points=0.5)
def test_a_prompt_without_company_has_the_whole_budget(student):
    CHUNKS.check(student, (640, 0, 64), "nobody decodes: 640 / 64.")
    CHUNKS.check(student, (650, 0, 64), "nobody decodes: 650 / 64, rounded up.")


@pytest.mark.task("8.1", points=1)
def test_decodes_are_paid_first(student):
    for arguments in ((1300, 7, 128), (1300, 7, 260), (999, 50, 64)):
        CHUNKS.check(student, arguments, ROUND_UP)


@pytest.mark.task("8.1", points=0.25)
def test_a_prompt_that_ends_with_a_chunk_needs_no_other(student):
    CHUNKS.check(student, (1210, 7, 128), "1,210 are ten chunks of 121.")
    CHUNKS.check(student, (5, 4, 64), "five tokens fit into one chunk.")


@pytest.mark.task("8.1", points=0.25)
def test_any_prompt_and_budget(student, rng):
    for _ in range(10):
        decodes = rng.randint(0, 60)
        budget = decodes + rng.randint(2, 300)
        CHUNKS.check(student, (rng.randint(1, 5_000), decodes, budget), ROUND_UP)


# 8.2 ---------------------------------------------------------------------------------------------


def budget_of(left, count=lambda n, d: n + d if n > 0 else 0):
    """From the microseconds that are left for prompt tokens, and what is made of their number."""
    return lambda limit, d, s, one, p: count(left(limit, d, s, one) // p, d)


def paid(limit, d, s, one):
    return limit - s - d * one


BUDGET = Counted(
    "largest_budget",
    ("limit_us", "num_decodes", "step_us", "decode_us", "prompt_us"),
    [
        (50_000, 7, 8_000, 1_000, 300),
        (100_000, 7, 7_800, 180, 190),
        (30_000, 64, 5_000, 150, 100),
        (20_000, 32, 10_000, 300, 200),
        (26_000, 8, 6_000, 500, 400),
        (9_000, 8, 6_000, 500, 400),
    ],
    lambda parts: parts[0],
    {
        "": budget_of(paid),
        "the budget counts the decodes, too: add num_decodes to the prompt tokens that fit.": (
            budget_of(paid, lambda n, d: max(0, n)),
            budget_of(paid, lambda n, d: n),
        ),
        "every decode takes decode_us as well; yours has none paid.": (
            budget_of(lambda limit, d, s, one: limit - s)
        ),
        "each of the num_decodes decodes takes decode_us; yours pays for one.": (
            budget_of(lambda limit, d, s, one: limit - s - one)
        ),
        "the step itself takes step_us, before anything is in it; yours leaves that out.": (
            budget_of(lambda limit, d, s, one: limit - d * one)
        ),
        "only whole prompt tokens fit: round down. Rounded up, the step lasts longer than the "
        "limit.": lambda limit, d, s, one, p: (
            up(paid(limit, d, s, one), p) + d if paid(limit, d, s, one) >= p else 0
        ),
        "a step may last exactly limit_us; yours keeps below it.": (
            budget_of(lambda limit, d, s, one: paid(limit, d, s, one) - 1)
        ),
        "where no prompt token fits the answer is 0; yours is what is left without it.": (
            budget_of(paid, lambda n, d: n + d),
            budget_of(paid, lambda n, d: max(0, n) + d),
            budget_of(paid, lambda n, d: max(0, n + d)),
        ),
        "a decode takes decode_us, not prompt_us; yours divides everything by prompt_us.": (
            lambda limit, d, s, one, p: max(0, (limit - s) // p)
        ),
        "the decodes have their token, and are no part of what prompts take; yours takes them away "
        "once more.": budget_of(paid, lambda n, d: max(0, n - d)),
    },
)
LEFT = "(limit_us - step_us - num_decodes * decode_us) // prompt_us, and the decodes."


@pytest.mark.task("8.2", points=0.5)
def test_a_prompt_alone_in_its_step(student):
    BUDGET.check(student, (30_000, 0, 5_000, 1_000, 250), "no decode: 25,000 // 250.")


@pytest.mark.task("8.2", points=1.5)
def test_the_step_and_its_decodes_are_paid_first(student):
    for arguments in ((50_000, 7, 8_000, 1_000, 300), (30_000, 64, 5_000, 150, 100)):
        BUDGET.check(student, arguments, LEFT)


@pytest.mark.task("8.2", points=0.5)
def test_a_step_may_last_exactly_as_long_as_the_limit(student):
    BUDGET.check(student, (26_000, 8, 6_000, 500, 400), "40 prompt tokens fit exactly.")


@pytest.mark.task("8.2", points=0.25)
def test_where_no_prompt_token_fits_no_budget_holds(student):
    for arguments in ((9_000, 8, 6_000, 500, 400), (20_000, 32, 10_000, 310, 200)):
        BUDGET.check(student, arguments, "not one prompt token fits: 0.")


@pytest.mark.task("8.2", points=0.25)
def test_any_costs(student, rng):
    for _ in range(10):
        decodes, step, one, prompt = (
            rng.randint(1, 60),
            rng.randint(2_000, 20_000),
            rng.randint(100, 900),
            rng.randint(50, 400),
        )
        limit = step + decodes * one + rng.randint(prompt, 200 * prompt)
        BUDGET.check(student, (limit, decodes, step, one, prompt), LEFT)


NOW_YOURS = {"8.1": now_yours.chunks, "8.2": now_yours.budget}

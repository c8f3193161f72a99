"""Judges exercises 10.1 to 10.4: what is kept, what it is worth, a guesser by its score, and
rejection sampling."""

import random
from weakref import WeakKeyDictionary

import now_yours
import pytest
from beliefs import Counted, a_kind, calls_shown, input_shown, why
from guessing import FORMS, QUOTING, QUOTING_OFTEN, by_newest, longest_match, tokens_a_step

from minibatch.course.judging.values import Lent
from minibatch.course.judging.verdict import Wrong

WITHHELD = {
    "10.2": {"minibatch.simulator.speculation": "tokens_a_step"},
    "10.4": {"minibatch.speculation.prompt_lookup": "PromptLookup"},
}


# 10.1 --------------------------------------------------------------------------------------------

NAMES = ("draft", "own", "num_tokens", "block_table", "block_size")
PASSES = {  # what happened: the arguments
    "the second draft token is wrong": ([4, 9, 3], [4, 7, 3, 8], 10, [5, 2, 8, 1], 4),
    "all draft tokens are right": ([4, 9, 3], [4, 9, 3, 8], 5, [6, 0], 4),
    "no draft token is right": ([4, 9, 3], [1, 9, 3, 8], 6, [3, 7, 2], 4),
    "there are no draft tokens": ([], [6], 8, [1, 0], 4),
    "the first draft token is wrong, and later ones are right": (
        [2, 5, 5, 5],
        [1, 5, 5, 5, 5],
        7,
        [9, 4, 3],
        4,
    ),
    "the last draft token is wrong": ([7, 7, 2], [7, 7, 1, 2], 2, [8, 6, 1, 0, 5], 1),
    "the table was longer than the draft tokens needed": ([3], [3, 1], 4, [2, 7, 5], 4),
    "the first of many draft tokens is wrong, and three blocks held draft tokens": (
        [6, 4, 4, 2, 8, 1],
        [5, 4, 4, 2, 8, 1, 3],
        5,
        [8, 1, 6, 0, 9, 4],
        2,
    ),
    "the only draft token is wrong, and is in a new block": ([3], [5, 3], 16, [4, 7, 1], 8),
    "the last draft token is wrong, and equals the model's choice after it": (
        [1, 2, 6],
        [1, 2, 5, 6],
        9,
        [2, 0, 3],
        4,
    ),
    "token ids are large, and the last draft token is wrong": (
        [3000, 2100, 4000, 7],
        [3000, 2100, 4000, 9, 5],
        6,
        [3, 1, 4, 2],
        4,
    ),
}


def agreed(draft, own):
    count = 0
    while count < len(draft) and draft[count] == own[count]:
        count += 1
    return count


def agreed_if_small(draft, own):
    """What `is` in place of == finds: Python keeps one object of each number up to 256."""
    large = [i for i, guess in enumerate(draft) if guess > 256]
    return min([agreed(draft, own), *large])


def everywhere(draft, own):
    return sum(guess == choice for guess, choice in zip(draft, own, strict=False))


def num_blocks(num_tokens, block_size):
    return -(-num_tokens // block_size)


def from_block(count):
    """The blocks of the table from number `count(agreed, …)` on."""
    return lambda draft, own, n, table, size: table[count(agreed(draft, own), draft, n, size) :]


NEW = {
    "": lambda draft, own, *_: own[: agreed(draft, own) + 1],
    "[ends_with_the_last_right_guess] you end with the last accepted draft token; after the "
    "accepted draft tokens "
    "comes one more token, the model's own choice in the next place.": lambda draft, own, *_: own[
        : agreed(draft, own)
    ],
    "[keeps_all_of_the_models] you keep the model's choices after the first wrong draft token; "
    "these choices continue a wrong text. Draft tokens are accepted only up to the first wrong "
    "one.": (
        lambda draft, own, *_: list(own),
        lambda draft, own, *_: own[: agreed(draft, own) + 2],
        lambda draft, own, *_: own[: everywhere(draft, own) + 1],
        lambda draft, own, *_: [
            *(o for d, o in zip(draft, own, strict=False) if d == o),
            own[agreed(draft, own)],
        ],
        lambda draft, own, *_: [
            *(o for d, o in zip(draft, own, strict=False) if d == o),
            own[-1],
        ],
    ),
    "[keeps_the_wrong_guess] you keep the first wrong draft token; the model's own choice "
    "replaces it.": (
        lambda draft, own, *_: draft[: agreed(draft, own) + 1],
        lambda draft, own, *_: [*draft, own[-1]][: agreed(draft, own) + 1],
    ),
    "[keeps_all_guesses] you do not verify: accept draft tokens only while they equal the "
    "model's own choice.": (
        lambda draft, own, *_: list(draft),
        lambda draft, own, *_: [*draft, own[-1]],
    ),
    "[takes_the_last_choice] you take the last token of own, which follows a wrong draft token; "
    "the token after the accepted ones is own[agreed], the model's choice in the next place.": (
        lambda draft, own, *_: [*draft[: agreed(draft, own)], own[-1]]
    ),
    "[leaves_out_the_bonus] you leave out the bonus: when all draft tokens are accepted, the "
    "model's choice after the last draft token is a new token, too.": lambda draft, own, *_: (
        own[: min(agreed(draft, own) + 1, len(draft))] if draft else list(own)
    ),
    "[compares_with_is] you reject correct draft tokens with large ids: `is` compares objects, "
    "and two equal numbers above 256 are two objects. Compare with ==.": (
        lambda draft, own, *_: own[: agreed_if_small(draft, own) + 1]
    ),
    "[last_token_alone] you return only the last token; accepted draft tokens are new tokens, "
    "too.": (lambda draft, own, *_: [own[agreed(draft, own)]]),
}
COMPUTED = {
    "": lambda draft, own, n, *_: n + agreed(draft, own),
    "[counts_every_guess] you count every draft token; the K and V of a rejected draft token, "
    "and of the draft "
    "tokens after it, do not belong to the sequence.": lambda draft, own, n, *_: n + len(draft),
    "[counts_the_newest] you count the last new token, which has no K and V yet: it was chosen, "
    "but no pass has computed it.": lambda draft, own, n, *_: n + agreed(draft, own) + 1,
    "[leaves_out_the_token_before] you leave out the newest token from before the pass; the pass "
    "has also computed this token.": (lambda draft, own, n, *_: n - 1 + agreed(draft, own)),
    "[counts_no_guess] you count no accepted draft token; accepted draft tokens belong to the "
    "sequence, and their K and V are correct.": (
        lambda draft, own, n, *_: n,
        lambda draft, own, n, *_: n - 1,
    ),
    "[counts_new_tokens_alone] you count only the new tokens; the earlier tokens have K and V, "
    "too.": (
        lambda draft, own, *_: agreed(draft, own),
        lambda draft, own, *_: agreed(draft, own) + 1,
    ),
    "[counts_guesses_after_the_wrong_one] you also count draft tokens after the first wrong one "
    "that agree again; draft tokens are accepted "
    "only up to the first wrong one.": (lambda draft, own, n, *_: n + everywhere(draft, own)),
}
BACK = {
    "": from_block(lambda agreed, draft, n, size: num_blocks(n + agreed, size)),
    "[keeps_all_blocks] you keep all blocks; blocks that only rejected draft tokens needed go "
    "back to the pool.": lambda *_: [],
    "[rounds_down] you round down, and give back a block that holds tokens: a partly filled "
    "block "
    "is needed, so round up.": from_block(lambda agreed, draft, n, size: (n + agreed) // size),
    "[keeps_a_block_for_the_newest] you keep a block for the newest token, which needs no slot "
    "yet, since it has no K and V.": (
        from_block(lambda agreed, draft, n, size: num_blocks(n + agreed + 1, size)),
        from_block(lambda agreed, draft, n, size: (n + agreed) // size + 1),
    ),
    "[gives_back_right_guesses] you give back the blocks of accepted draft tokens: keep these "
    "blocks, since they hold "
    "tokens of the sequence.": (from_block(lambda agreed, draft, n, size: num_blocks(n, size))),
    "[names_the_blocks_that_stay] you return the blocks that stay; return the blocks that go "
    "back.": (lambda draft, own, n, table, size: table[: num_blocks(n + agreed(draft, own), size)]),
    "[keeps_wrong_guesses_blocks] you keep the blocks of rejected draft tokens; these tokens "
    "need no blocks.": (
        from_block(lambda agreed, draft, n, size: num_blocks(n + len(draft), size))
    ),
    "[gives_back_all] you give back all blocks where you must give back none: table[-0:] is the "
    "whole table.": (
        lambda draft, own, n, table, size: table[
            -(len(table) - num_blocks(n + agreed(draft, own), size)) :
        ]
    ),
    "[gives_back_the_first] you return the first blocks of the table; return the last blocks, in "
    "the order of the table.": (
        lambda draft, own, n, table, size: table[
            : len(table) - num_blocks(n + agreed(draft, own), size)
        ]
    ),
    "[names_places] you return places in the table; return the block ids.": (
        lambda draft, own, n, table, size: list(
            range(num_blocks(n + agreed(draft, own), size), len(table))
        )
    ),
    "[runs_sorted] you sort the blocks; keep the order of the table.": (
        lambda draft, own, n, table, size: sorted(table[num_blocks(n + agreed(draft, own), size) :])
    ),
    "[runs_backwards] you reverse the blocks; keep the order of the table.": (
        lambda draft, own, n, table, size: table[num_blocks(n + agreed(draft, own), size) :][::-1]
    ),
}


def accepted(student, arguments):
    """new_tokens, num_computed, back, once they are known to be such."""
    shown = ", ".join(f"{name}={one}" for name, one in zip(NAMES, arguments, strict=True))
    with input_shown(f"accept({shown})"):
        lent = (Lent(one) if isinstance(one, list) else one for one in arguments)
        got = student.call("accept", *lent)
    if not isinstance(got, tuple | list) or len(got) != 3:
        kind = "nothing (None)" if got is None else a_kind(got)
        kind = f"{len(got)} things" if isinstance(got, tuple | list) else kind
        raise Wrong(
            "[three_things_are_asked_for] "
            f"Return three things, new_tokens, num_computed, back; you return {kind}.",
            got=got,
        )
    new, computed, back = got
    for name, some in (("new_tokens", new), ("back", back)):
        if not isinstance(some, tuple | list) or not all(type(i) is int for i in some):
            raise Wrong(
                f"[part_is_no_list] {name} must be a list of whole numbers; you return "
                f"{a_kind(some)}.",
                got=some,
            )
    if type(computed) is not int:
        raise Wrong(
            "[count_is_no_number] num_computed must be a whole number; you return "
            f"{a_kind(computed)}.",
            got=computed,
        )
    return list(new), computed, list(back)


def part(student, index, forms, otherwise, passes=PASSES):
    """One of the three, in every pass; if one is wrong, the belief that fits them all."""
    seen = [(arguments, accepted(student, arguments)[index]) for arguments in passes.values()]
    for happened, (arguments, got) in zip(passes, seen, strict=True):
        expected = forms[""](*arguments)
        if got != expected:
            said = why(seen, lambda parts: parts[0], forms) or otherwise
            shown = ", ".join(f"{n}={a}" for n, a in zip(NAMES, arguments, strict=True))
            raise Wrong(f"If {happened}: {said} (accept({shown}))", expected=expected, got=got)


PART_SAID = (
    "[other_new_tokens] your new_tokens are wrong: new_tokens is own[: agreed + 1], where "
    "`agreed` is the number of draft tokens, from the first on, that equal the model's choice.",
    "[other_num_computed] your num_computed is wrong: it counts the earlier tokens and the "
    "accepted draft tokens.",
    "[other_blocks_back] your `back` is wrong: it holds the blocks after those that num_computed "
    "tokens fill.",
)


@pytest.mark.task("10.1", points=1.5)
def test_draft_tokens_are_accepted_up_to_the_first_wrong_one(student):
    part(student, 0, NEW, PART_SAID[0])


@pytest.mark.task("10.1", points=1)
def test_only_accepted_draft_tokens_count_as_computed(student):
    part(student, 1, COMPUTED, PART_SAID[1])


@pytest.mark.task("10.1", points=1)
def test_blocks_that_only_rejected_draft_tokens_needed_go_back(student):
    part(student, 2, BACK, PART_SAID[2])


@pytest.mark.task("10.1", points=0.5)
def test_any_pass_gives_the_right_result(student, rng):
    for _ in range(12):
        draft = [rng.randrange(3) for _ in range(rng.randint(0, 6))]
        own = [guess if rng.random() < 0.7 else 9 for guess in draft] + [rng.randrange(3)]
        size, n = rng.choice([1, 2, 4, 16]), rng.randint(1, 40)
        table = rng.sample(range(100), num_blocks(n + len(draft), size))
        arguments = draft, own, n, table, size
        got = accepted(student, arguments)
        expected = tuple(forms[""](draft, own, n, table, size) for forms in (NEW, COMPUTED, BACK))
        if got != expected:
            shown = ", ".join(f"{n}={a}" for n, a in zip(NAMES, arguments, strict=True))
            said = [s for s, a, b in zip(PART_SAID, expected, got, strict=True) if a != b]
            raise Wrong(
                f"[other_in_a_random_case] accept({shown}): {' '.join(said)}",
                expected=expected,
                got=got,
            )


# 10.2 --------------------------------------------------------------------------------------------

EXPECTED = Counted(
    "expected_tokens",
    ("acceptance_rate", "num_guesses"),
    [(0.8, 4), (0.5, 3), (0.25, 2), (0.9, 7), (0.6, 1)],
    lambda parts: parts[0],
    {
        "": lambda a, k: float(sum(a**i for i in range(k + 1))),
        "[counts_guesses_alone] you count only the draft tokens; each step also gives the "
        "model's own token.": lambda a, k: sum(a**i for i in range(1, k + 1)),
        "[counts_each_for_itself] you count each draft token independently; a draft token counts "
        "only "
        "if all before it are right: the second with probability a * a.": lambda a, k: 1 + a * k,
        "[counts_each_for_itself_without_its_own] you count each draft token independently; a "
        "draft token counts only if all before it are right, and the model's own token comes, "
        "too.": lambda a, k: a * k,
        "[one_term_too_few] you have one term too few; k draft tokens give k + 1 terms, from "
        "a**0 to a**k.": (lambda a, k: sum(a**i for i in range(k)),),
        "[one_term_too_many] you have one term too many; k draft tokens give k + 1 terms, from "
        "a**0 to a**k.": (lambda a, k: sum(a**i for i in range(k + 2)),),
        "[all_or_none] you take all draft tokens or none; right draft tokens before a wrong one "
        "are accepted.": (
            lambda a, k: 1 + k * a**k,
            lambda a, k: k * a**k,
            lambda a, k: (k + 1) * a**k,
        ),
        "[goes_on_for_ever] you return the sum for infinitely many draft tokens, 1 / (1 - a); "
        "there are only num_guesses draft tokens.": lambda a, k: 1 / (1 - a),
        "[own_token_has_to_be_right] you count the model's own token only if it is right; the "
        "model's own token always comes.": (
            lambda a, k: a * (k + 1),
            lambda a, k: sum(a**i for i in range(1, k + 2)),
        ),
        "[all_are_right] "
        "you count all draft tokens; not every draft token is right.": lambda a, k: k + 1,
        "[nearly_certain_is_certain] you treat a rate just below 1 as 1; with many draft tokens "
        "the difference matters.": tuple(
            lambda a, k, limit=limit: k + 1.0 if a > limit else sum(a**i for i in range(k + 1))
            for limit in (0.95, 0.99, 0.999)
        ),
        "[rounds_the_tokens] you round the sum; return the sum as it is.": tuple(
            lambda a, k, places=places: round(sum(a**i for i in range(k + 1)), places)
            for places in range(5)
        ),
        "[share_of_the_guesses] you return a share of the draft tokens; return tokens per step.": (
            lambda a, k: sum(a**i for i in range(k + 1)) / (k + 1),
            lambda a, k: sum(a**i for i in range(1, k + 1)) / k,
        ),
        "[chance_of_a_wrong_one] you use acceptance_rate as the probability that a draft token is "
        "wrong; it is the probability that a draft token is right.": lambda a, k: sum(
            (1 - a) ** i for i in range(k + 1)
        ),
    },
)


@pytest.mark.task("10.2", points=0.5)
def test_one_token_comes_in_every_step(student):
    EXPECTED.check(
        student,
        (0.0, 4),
        "[other_without_right_guesses] your number is wrong: no draft token is right, and the "
        "model's own token comes, so the number is 1.",
    )
    EXPECTED.check(
        student,
        (0.7, 0),
        "[other_without_guesses] your number is wrong: there are no draft tokens, and the "
        "model's own token comes, so the number is 1.",
    )


@pytest.mark.task("10.2", points=1)
def test_each_draft_token_needs_all_before_it(student):
    said = "[other_sum] your number is wrong: it should be 1 + a + a**2 + … + a**num_guesses."
    for arguments in ((0.8, 4), (0.5, 3), (0.25, 1), (0.995, 4), (0.9991, 100)):
        EXPECTED.check(student, arguments, said)


@pytest.mark.task("10.2", points=0.25)
def test_a_proposer_that_is_always_right_adds_every_draft_token(student):
    EXPECTED.check(
        student,
        (1.0, 4),
        "[other_with_all_right] your number is wrong: all four draft tokens are right, and the "
        "model's own token comes, so the number is 5.",
    )


@pytest.mark.task("10.2", points=0.25)
def test_any_rate_and_number(student, rng):
    for _ in range(8):
        rate, number = round(rng.uniform(0.05, 0.95), 3), rng.randint(1, 12)
        EXPECTED.check(
            student,
            (rate, number),
            "[other_sum_in_a_random_case] your number is wrong: it should be 1 + a + a**2 + … + "
            "a**num_guesses.",
        )


# 10.3 --------------------------------------------------------------------------------------------

GRID = 30  # values of u and of v, in the middle of equal stretches from 0 to 1
CLOSE = 1.5 / GRID  # a share that is counted on such a grid is off by less
PAIRS = {  # the model's and the draft's probabilities
    "two tokens": ([0.7, 0.3], [0.4, 0.6]),
    "three tokens, one of them too likely": ([0.5, 0.3, 0.2], [0.1, 0.2, 0.7]),
    "two tokens too likely": ([0.1, 0.15, 0.35, 0.4], [0.4, 0.3, 0.2, 0.1]),
    "a token that the model never generates": ([0.0, 0.6, 0.4], [0.5, 0.2, 0.3]),
    "the draft distribution equals the model's": ([0.2, 0.5, 0.3], [0.2, 0.5, 0.3]),
}


MIDDLES = [(i + 0.5) / GRID for i in range(GRID)]
ON_GRID = [(u, v) for u in MIDDLES for v in MIDDLES]
NEXT_TO_1 = 1 - 2**-53  # the largest number below 1
EDGES = [(u, v) for u in (0.0, 0.5, NEXT_TO_1) for v in (0.0, 0.5, NEXT_TO_1)]
SAME_P = ([0.5, 0.3, 0.2], [0.2, 0.7, 0.1])  # the p of "three tokens", another q
ALMOST_ALL = ([0.27, 0.22, 0.09, 0.42], [0.18, 0.23, 0.01, 0.58])  # scaled, the rest adds up to < 1


def drawn(student, p, q, token, numbers=ON_GRID):
    """The token that comes, for each (u, v) of `numbers`: asked again each time."""
    cases = [[Lent(p), Lent(q), token, u, v] for u, v in numbers]
    got = calls_shown(student, "accept_or_draw", cases)
    shown = f"accept_or_draw(p={p}, q={q}, token={token}, …)"
    strange = next((one for one in got if type(one) is not int or not 0 <= one < len(p)), 0)
    if strange != 0 and (type(strange) is not int or not 0 <= strange < len(p)):
        what = strange if type(strange) is int else a_kind(strange)
        raise Wrong(
            f"[token_is_no_token] {shown} returns {what}; return a token, 0 to {len(p) - 1}."
        )
    return got


DRAWN = WeakKeyDictionary()  # by student: what came on the grid, for all tests


def on_grid(student, p, q, token):
    """The token that comes, for each u and v of the grid."""
    known, case = DRAWN.setdefault(student, {}), (*p, *q, token)
    if case not in known:
        known[case] = drawn(student, p, q, token)
    return known[case]


def shares_of(student, p, q, token):
    """How often each token comes, over all u and v of the grid."""
    got = on_grid(student, p, q, token)
    return [got.count(i) / len(got) for i in range(len(p))]


def by_one_number(got):
    """What came on the grid, in two ways: by u, then by v."""
    return (
        [got[i * GRID : (i + 1) * GRID] for i in range(GRID)],
        [got[i::GRID] for i in range(GRID)],
    )


def accepted_by_one_number(got, token):
    """The share of `u` (or of `v`) that brings `token` whatever the other number is: how often it
    is accepted, also if it is drawn again after a rejection."""
    return max(
        sum(set(some) == {token} for some in stretches) / GRID for stretches in by_one_number(got)
    )


def is_near(one, other):
    return all(abs(a - b) <= CLOSE for a, b in zip(one, other, strict=True))


@pytest.mark.task("10.3", points=1.5)
def test_a_draft_token_is_accepted_as_often_as_the_ratio_says(student):
    for p, q in PAIRS.values():
        for token in range(len(p)):
            all_drawn, due = on_grid(student, p, q, token), min(1, p[token] / q[token])
            got = all_drawn.count(token) / len(all_drawn)
            if abs(got - due) <= CLOSE:
                continue
            if abs(accepted_by_one_number(all_drawn, token) - due) <= CLOSE:
                continue  # it comes again as its own replacement: the next test's matter
            said = f"A draft token is accepted with probability min(1, p / q), here {due:.2f}"
            if due == 1:
                said = (
                    "[rejects_what_the_model_wants] You reject a token that must be accepted: a "
                    "draft token is always accepted if p is at least as large as q"
                )
            elif got > 1 - CLOSE:
                said = f"[accepts_everything] {said}; you always accept it"
            elif got < CLOSE:
                said = f"[rejects_all_that_is_too_likely] {said}; you never accept it"
            elif abs(got - (1 - due)) <= CLOSE:
                said = f"[accepts_the_other_way_round] {said}; you reject it with this probability"
            else:
                said = f"[accepts_another_share] {said}; you accept it in {got:.2f} of the draws"
            raise Wrong(
                f"{said}. (p={p}, q={q}, token {token})",
                expected=f"{due:.2f} of the draws",
                got=f"{got:.2f}",
            )
    p, q = PAIRS["a token that the model never generates"]
    for u in (0.0, NEXT_TO_1):
        if drawn(student, p, q, 0, [(u, 0.5)]) == [0]:
            raise Wrong(
                "[accepts_what_never_comes] You accept a token with p = 0, which the model never "
                f"generates. u may be 0, so compare with < instead of <=. accept_or_draw(p={p}, "
                f"q={q}, token=0, u={u}, v=0.5)",
                expected="1 or 2",
                got=0,
            )


def no_token_without_a_rest(student):
    for (p, q), token in ((([0.0, 0.2, 0.8], [0.0, 0.8, 0.2]), 1), (ALMOST_ALL, 1)):
        for (u, v), got in zip(EDGES, drawn(student, p, q, token, EDGES), strict=True):
            if got != token and p[got] <= q[got]:
                raise Wrong(
                    f"[draws_what_has_no_rest] You draw token {got} as a replacement, but the rest "
                    "of this token, max(0, p - q), is 0. v may be 0 (the sum must be above v * "
                    "total, not equal to it). v may also be so close to 1 that rounding leaves no "
                    f"token: then take one whose rest is above 0. accept_or_draw(p={p}, q={q}, "
                    f"token={token}, u={u}, v={v})",
                    expected="a token with p > q",
                    got=got,
                )


@pytest.mark.task("10.3", points=1.5)
def test_a_rejected_token_is_replaced_from_the_rest(student):
    p, q = PAIRS["three tokens, one of them too likely"]
    if drawn(student, p, q, 2) != on_grid(student, p, q, 2):
        raise Wrong(
            "[draws_a_number_of_its_own] Your function returns another token when it is called "
            f"again with the same u and v. Use only these two random numbers. (p={p}, q={q}, "
            "token 2)"
        )
    for p, q in (*PAIRS.values(), SAME_P):
        for token in range(len(p)):
            replaced_from_the_rest(student, p, q, token)
    no_token_without_a_rest(student)


def replacements(student, p, q, token):
    """All that came on the grid, and how often each token came in place of `token`."""
    got = on_grid(student, p, q, token)
    others = len(got) - got.count(token)
    if others < 0.1 * len(got):
        raise Wrong(
            "[none_is_replaced] You hardly ever replace a token; a rejected token must be "
            f"replaced. (p={p}, q={q}, token {token})"
        )
    return got, [0.0 if i == token else got.count(i) / others for i in range(len(p))]


def replaced_from_the_rest(student, p, q, token):
    rejected = 1 - min(1, p[token] / q[token])
    if rejected < 0.2:
        return
    rest = [max(0.0, a - b) for a, b in zip(p, q, strict=True)]
    due = [weight / sum(rest) for weight in rest]
    from_p = [0.0 if i == token else a / (1 - p[token]) for i, a in enumerate(p)]

    def is_like(one, other):
        return all(abs(a - b) <= CLOSE / rejected for a, b in zip(one, other, strict=False))

    all_drawn, got = replacements(student, p, q, token)
    if is_like(got, due):
        return
    said = (
        "[draws_from_another_rest] You draw a replacement from another distribution: a rejected "
        "token must be replaced by a draw from max(0, p - q)"
    )
    if is_like(replacements(student, [*p, 0.0], [*q, 0.0], token)[1], due):
        said = (
            "[remembers_another_call] Your answer becomes right when we add a token of p = q = 0; "
            "so your function keeps something from an earlier call with the same p. The rest "
            "depends on q, too"
        )
    elif max(got) > 1 - CLOSE:
        said = (
            "[takes_the_likeliest] You take the largest entry of the rest; draw from the rest, "
            "with v"
        )
    elif any(all(len(set(some)) == 1 for some in way) for way in by_one_number(all_drawn)):
        said = (
            "[one_number_for_both] You use one random number for both decisions. After a "
            "rejection this number is large, so the draw is not uniform: use v for the draw"
        )
    elif is_like(got, from_p):
        said = (
            "[draws_from_the_model] You draw from p; draw from max(0, p - q): tokens that the "
            "draft already proposes often enough must not be drawn again"
        )
    raise Wrong(
        f"{said}. (p={p}, q={q}, token {token} rejected)",
        expected=[round(share, 2) for share in due],
        got=[round(share, 2) for share in got],
    )


@pytest.mark.task("10.3", points=1)
def test_over_many_draws_the_tokens_have_the_distribution_of_the_model(student, rng):
    pairs = list(PAIRS.values())
    for chance in (random.Random(3), rng):
        weights = [[chance.randint(1, 9) for _ in range(4)] for _ in "pq"]
        pairs.append([[weight / sum(some) for weight in some] for some in weights])
    for p, q in pairs:
        each = [shares_of(student, p, q, token) for token in range(len(p))]
        got = [sum(q[d] * each[d][i] for d in range(len(p))) for i in range(len(p))]
        if not is_near(got, p):
            raise Wrong(
                "[another_distribution] "
                f"p={[round(a, 2) for a in p]}, q={[round(a, 2) for a in q]}: draft tokens are "
                "drawn from q; after your function, the tokens must have the distribution p.",
                expected=[round(share, 2) for share in p],
                got=[round(share, 2) for share in got],
            )


# 10.4 --------------------------------------------------------------------------------------------

ENOUGH, GOOD = 0.75, 0.93  # of the tokens a step that the longest match brings


def guesses_of(student, token_ids, most):
    shown = f"propose({token_ids if len(token_ids) < 12 else f'{len(token_ids)} tokens'}, {most})"
    with input_shown(shown):
        got = student.call("propose", Lent(token_ids), most)
    if not isinstance(got, tuple | list):
        kind = "nothing (None)" if got is None else a_kind(got)
        raise Wrong(
            "[guess_is_no_list] "
            f"{shown} returns {kind}; return a list of token ids, [] for no draft tokens."
        )
    strange = [one for one in got if type(one) is not int]
    if strange:
        raise Wrong(
            f"[guess_is_no_number] {shown}: token ids are whole numbers; your answer holds "
            f"{a_kind(strange[0])}."
        )
    if len(got) > most:
        raise Wrong(
            "[guesses_too_many] "
            f"{shown} returns {len(got)} draft tokens, and at most {most} are allowed: tokens "
            "beyond the request's longest answer would be computed in vain.",
            expected=f"at most {most}",
            got=got,
        )
    return list(got)


@pytest.mark.task("10.4", points=1)
def test_the_draft_is_a_list_of_at_most_that_many_token_ids(student):
    for token_ids in ([5], [5, 5], [1, 2, 5, 6, 9, 2, 7, 7, 1, 2], [3, 4] * 8):
        for most in (1, 2, 4):
            guesses_of(student, token_ids, most)
    clear = [1, 2, 5, 6, 9, 2, 7, 7, 1, 2]
    got = guesses_of(student, clear, 2)
    if not got or got != [5, 6][: len(got)]:
        said = (
            "[other_guess] you propose the wrong tokens: the newest tokens, 1, 2, also came at the "
            "beginning, and 5, 6 followed them there."
        )
        if got == [2, 5]:
            said = (
                "[begins_with_the_token_found] "
                "you begin with the token that was found; propose the tokens after it."
            )
        if got == [7, 7]:
            said = (
                "[newest_token_alone] "
                "you search only for the newest token, 2, which last came before 7, 7. Search for "
                "1, 2: 5, 6 followed it."
            )
        if got == []:
            said += (
                " [finds_the_end_itself] Perhaps your search finds the newest tokens themselves, "
                "at the end of the list; nothing follows them there."
            )
        raise Wrong(f"propose({clear}, most=2): {said}", expected=[5, 6], got=got)
    within = [5, 2, 8, 9, 5, 25, 6, 7, 5, 2]
    got = guesses_of(student, within, 2)
    if got and got == [6, 7][: len(got)]:
        raise Wrong(
            "[matches_part_of_a_number] You find 5, 2 in 5, 25, as a search in a text does: 2 is "
            f"the beginning of 25. Compare whole tokens. propose({within}, most=2)",
            expected=[8, 9],
            got=got,
        )


@pytest.mark.task("10.4", points=0.5)
def test_a_new_token_gets_no_draft(student):
    for token_ids in (
        [5],
        [1, 2, 3],
        list(range(40)),
        [8, 8, 3, 8, 2, 5],
        [1, 25, 6, 7, 2],
    ):
        got = guesses_of(student, token_ids, 4)
        if not set(got) <= set(token_ids):
            shown = token_ids if len(token_ids) < 12 else "[0, 1, …, 39]"
            raise Wrong(
                "[guess_is_not_in_the_list] You propose a token that is not in token_ids. Perhaps "
                "your function keeps something from an earlier call. Use only the tokens of this "
                f"list. propose({shown}, most=4)",
                expected=[],
                got=got,
            )
        if got:
            raise Wrong(
                "[guesses_after_a_new_token] "
                f"propose({token_ids if len(token_ids) < 12 else '[0, 1, …, 39]'}, most=4): you "
                f"propose tokens, but the newest token, {token_ids[-1]}, has not appeared "
                "before, so nothing tells what follows this token. A wrong draft token is "
                "computed in vain: return [].",
                expected=[],
                got=got,
            )
    if not guesses_of(student, [3, 4] * 8, 4):
        raise Wrong(
            "[guesses_nothing] "
            "propose([3, 4, 3, 4, …], most=4) returns []: 3 has followed 4 seven times. Return [] "
            "only if the newest token has not appeared before.",
            expected=[3, 4, 3, 4],
            got=[],
        )


@pytest.mark.task("10.4", points=1.5)
def test_answers_that_quote_their_prompts_take_fewer_steps(student):
    found = tokens_a_step(lambda ids, most: guesses_of(student, ids, most), QUOTING)
    best = tokens_a_step(longest_match, QUOTING)
    if found < ENOUGH * best:
        raise Wrong(
            "[few_tokens_a_step] On answers that quote their prompts your draft tokens give "
            f"{found:.2f} tokens a step; the longest match gives {best:.2f}, and no draft tokens "
            "give 1.00. Find where the newest tokens appeared before, and propose the tokens that "
            "followed them.",
            expected=f"{ENOUGH * best:.2f} or more",
            got=f"{found:.2f}",
        )


@pytest.mark.task("10.4", points=1)
def test_the_place_with_the_longest_match_is_used(student):
    found = tokens_a_step(lambda ids, most: guesses_of(student, ids, most), QUOTING_OFTEN)
    best = tokens_a_step(longest_match, QUOTING_OFTEN)
    if found < GOOD * best:
        alone = tokens_a_step(by_newest, QUOTING_OFTEN)
        said = (
            "[match_is_too_short] Of the places where the newest token appeared before, take the "
            "place where most of the "
        )
        said += "tokens before it are the same, too; of equal places, the latest."
        if found <= 1.02 * alone:
            said = (
                "Your search is hardly better than a search for only the newest token "
                f"({alone:.2f}). " + said
            )
        raise Wrong(
            f"Where words repeat often, your draft tokens give {found:.2f} tokens a step, and "
            f"the longest match {best:.2f}. {said}",
            expected=f"{GOOD * best:.2f} or more",
            got=f"{found:.2f}",
        )
    found = tokens_a_step(lambda ids, most: guesses_of(student, ids, most), FORMS)
    best = tokens_a_step(longest_match, FORMS)
    if found < GOOD * best:
        raise Wrong(
            "[match_of_four_at_most] Where all lines of a form contain the same four or five "
            f"tokens, your draft tokens give {found:.2f} tokens a step, and the longest match "
            f"{best:.2f}. The token before these tokens decides what comes after them: compare as "
            "many tokens as are equal, also more than five.",
            expected=f"{GOOD * best:.2f} or more",
            got=f"{found:.2f}",
        )


NOW_YOURS = {
    "10.1": now_yours.accepting,
    "10.2": now_yours.worth,
    "10.3": now_yours.sampled,
    "10.4": now_yours.guesser,
}

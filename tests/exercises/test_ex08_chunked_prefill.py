"""Judges exercises 8.1 to 8.3: a planner under a budget, a cap for long prompts, and whose
positions a step computes, into which slots."""

import now_yours
import pytest
from again import stays_right
from beliefs import a_kind, input_shown, why
from budgets import (
    budgeted,
    keeps_the_order,
    looked_at,
    ours,
    served,
    stalls_nobody,
    wastes_nothing,
)
from hash_model import HashModel, alone
from incidents import goes_on_as_ours
from serving import (
    asks,
    asks_the_pool,
    plans_alike_twice,
    same_plan,
    serve,
    serves_in_an_engine,
    some_requests,
)

import minibatch as mb
from minibatch.course.judging.values import Lent
from minibatch.course.judging.verdict import Wrong
from minibatch.schedulers.admission import ReserveMaximum

WITHHELD = {
    "8.1": {
        "minibatch.schedulers.continuous": "Continuous",
        "minibatch.schedulers.prefill_first": "PrefillFirst",
        "minibatch.schedulers.budget": "Budget",
    }
}

# L comes while A, B and C write; S is right behind it. Four slots, 8 tokens a step.
WRITING = asks(("A", 3, 12), ("B", 2, 12), ("C", 3, 12))
LONG = [*WRITING, *asks(("L", 30, 3, 2.0))]
TWO_LONG = [*WRITING[:1], *asks(("L", 20, 3, 2.0), ("M", 13, 3, 2.0), ("S", 2, 3, 2.0))]


# 8.1 ---------------------------------------------------------------------------------------------


def happens(student, said, requests, **incidents):
    """Three slots and 7 tokens a step in an engine of its own, to which this happens."""
    arguments = {"max_batch_size": 3, "max_batch_tokens": 7}
    goes_on_as_ours(student, "MyBudget", arguments, ours(3, 7), said, requests, **incidents)


@pytest.mark.task("8.1", points=0.25)
def test_prompts_that_fit_are_computed_whole_if_a_slot_is_free(student):
    engine = served(student, 2, 32, asks(("A", 5, 3), ("B", 7, 3), ("C", 9, 3)), steps=1)
    rows = {row.request_id: row.num_tokens for row in engine.trace.steps[0].rows}
    if rows != {"A": 5, "B": 7}:
        raise Wrong(
            "[whole_prompts_do_not_join] Your first step is wrong: A's prompt has 5 tokens, B's "
            "7, there are two slots, and the budget is 32. Both join in the first step, each "
            "with its whole prompt.",
            expected="A: 5, B: 7",
            got=", ".join(f"{name}: {n}" for name, n in rows.items()),
        )


@pytest.mark.task("8.1", points=0.5)
def test_a_prompt_longer_than_the_budget_is_completed(student):
    """Chunks of 6: the last one smaller, of a single token, or as large as the others."""
    for length in (20, 19, 18, 6):
        served(student, 2, 6, asks(("A", length, 3)))
    served(student, 4, 4, [*WRITING, *asks(("L", 9, 3, 2.0))])  # a token a step


@pytest.mark.task("8.1", points=1.5)
def test_no_step_computes_more_than_the_budget(student):
    for requests in (LONG, asks(("A", 5, 3), ("B", 5, 3), ("C", 5, 3)), TWO_LONG):
        looked_at(student, 4, 8, requests)


@pytest.mark.task("8.1", points=1)
def test_no_decode_ever_waits_for_a_chunk(student):
    for slots, budget, requests in ((4, 8, LONG), (4, 4, LONG), (4, 8, TWO_LONG)):
        looked_at(student, slots, budget, requests, stalls_nobody)


@pytest.mark.task("8.1", points=0.75)
def test_no_token_of_the_budget_is_left_unused(student):
    for requests in (LONG, TWO_LONG):
        looked_at(student, 4, 8, requests, lambda step, it: wastes_nothing(step, 8, 4, it))


@pytest.mark.task("8.1", points=0.5)
def test_first_come_is_first_served(student):
    for requests in (TWO_LONG, asks(("L", 20, 3), ("M", 13, 3), ("S", 2, 3))):
        engine = looked_at(student, 4, 8, requests, keeps_the_order)
        came = [ask.name for ask in requests]
        joined = [n for s in engine.trace.steps for n in sorted(s.admitted, key=came.index)]
        if came != list(dict.fromkeys(joined)):
            raise Wrong(
                "[joins_in_another_order] "
                "The requests did not join in the order of their arrival. Then a request can be "
                "overtaken forever. The head of the queue joins first.",
                expected=", ".join(came),
                got=", ".join(joined),
            )


@pytest.mark.task("8.1", points=0.5)
def test_a_request_that_does_not_fit_into_the_pool_waits_and_is_not_overtaken(student):
    """Blocks of 4, answers of up to 12: A and B may need 4 each, C 7, D 4."""
    asks_the_pool(lambda slots: budgeted(student, slots, 64), 4)
    requests = asks(("A", 4, 12), ("B", 4, 12), ("C", 16, 12), ("D", 1, 2))
    options = {"max_tokens": 12, "exactly": True}
    engine = served(student, 4, 8, requests, num_blocks=12, **options)
    joined = [name for step in engine.trace.steps for name in sorted(step.admitted)]
    joined = list(dict.fromkeys(joined))
    if joined != ["A", "B", "C", "D"]:
        raise Wrong(
            "[later_one_overtakes] "
            "C did not fit into the pool, and D, which arrived later, overtook it. Let the "
            "requests behind C wait, too; otherwise a large request may wait forever.",
            expected="A, B, C, D",
            got=", ".join(joined),
        )
    two = asks(("A", 5, 12), ("B", 5, 12))  # 16 tokens are exactly 4 blocks
    engine = served(student, 4, 10, two, num_blocks=8, steps=1, **options)
    if len(engine.trace.steps[0].rows) < 2:
        raise Wrong(
            "[exact_fit_waits] A and B may need 4 blocks each, since max_num_tokens is 16. 8 "
            "blocks are free, but only A joined. Ask for max_num_tokens (prompt and longest "
            "answer), and no more."
        )
    served(student, 4, 5, LONG, num_blocks=13, **options)


@pytest.mark.task("8.1", points=0.25)
def test_after_a_failed_forward_pass_the_plan_is_the_same(student):
    """The engine may ask again without an update: nothing may be admitted twice or lost."""
    said = (
        "[plans_again_in_another_order] We called `plan` twice, and the rows of the first plan "
        "were not computed. At the second call, all sequences with rows are in self.running. Give "
        "their prompts tokens in the order of admission, which is the order of self.running."
    )
    first = asks(("A", 4, 6), ("B", 7, 2), ("C", 5, 4))
    plans_alike_twice(budgeted(student, 3, 8), first, said)
    for lengths in ((9, 4, 5), (4, 9, 5), (5, 5, 6)):
        requests = asks(*((name, n, 4) for name, n in zip("ABC", lengths, strict=True)))
        plans_alike_twice(budgeted(student, 3, 15), requests, said)
    said = (
        "[comes_back_otherwise] After a forward pass that failed, the engine puts all running "
        "sequences back into the queue. They keep their tokens, but lose all K and V. So A must "
        "compute its prompt and its answer so far again (num_uncomputed_tokens), in chunks like "
        "any prompt. max_num_tokens has not changed."
    )
    requests = [("A", 12, 9, 0.0), ("B", 9, 4, 0.0), ("C", 4, 12, 1.0)]
    happens(student, said, requests, fails=[2, 7, 8])
    happens(student, said, [("A", 5, 12, 0.0), ("B", 5, 12, 0.0)], num_blocks=8, fails=[6])
    said = (
        "[aborted_one_stays] Your plan is wrong after an abort: B is aborted in the middle of "
        "its prompt, and is no longer in self.running. B gets no row, and other sequences get "
        "B's tokens and B's slot."
    )
    happens(
        student, said, [("A", 5, 9, 0.0), ("B", 30, 4, 0.0), ("C", 9, 4, 0.0)], aborts=[(4, "B")]
    )


@pytest.mark.task("8.1", points=0.25)
def test_the_tokens_are_those_of_each_request_alone(student):
    """In a pool of 12 blocks of 2, 4 tokens a step."""
    requests = asks(
        ("A", [3, 9, 27], 6),
        ("B", [40], 3),
        ("C", [7] * 11, 4),
        ("D", [9, 9], 5),
        ("E", [60] * 5, 7),
    )
    engine = served(student, 3, 4, requests, num_blocks=12, model=HashModel(), block_size=2)
    for completion in engine.trace.completions:
        expected = alone(completion.prompt_token_ids, len(completion.token_ids))
        if completion.token_ids != expected:
            raise Wrong(
                "[other_answer_than_alone] "
                f"{completion.request_id}'s answer differs from the one it gets when it is served "
                "alone: some of its tokens were computed without keys and values, or with those "
                "of another sequence.",
                expected=expected,
                got=completion.token_ids,
            )


@pytest.mark.task("8.1", points=0.5)
def test_any_requests_are_served_as_the_rule_says(student, rng):
    said = (
        "[other_plan] "
        "Compare it with the rule: decodes, then prompts that have begun, then new requests."
    )
    for requests in (LONG, TWO_LONG):
        same_plan(serve(ours(4, 8), requests), serve(budgeted(student, 4, 8), requests), said)
        serves_in_an_engine(budgeted(student, 4, 8), ours(4, 8), requests)
    said = (
        "[need_before_it_joins] "
        "B begins with the same 12 tokens as A, and the engine finds their blocks when B joins. "
        "So read num_uncomputed_tokens after self.admit, not before."
    )
    same = list(range(12))
    both = [("A", [*same, 20, 21], 9, 0.0), ("B", [*same, 30, 31, 32], 3, 5.0)]
    happens(student, said, [*both, ("C", 6, 3, 5.0)], prefix_caching=True)
    for _ in range(3):
        requests, budget = some_requests(rng), rng.randint(3, 12)
        engines = [serve(s, requests) for s in (ours(3, budget), budgeted(student, 3, budget))]
        same_plan(*engines, said)


# 8.2 ---------------------------------------------------------------------------------------------


def first_come(needs, left):
    """What each gets, in order, all it needs; the rule of 8.3, and of 8.2's second round."""
    shares = []
    for need in needs:
        shares.append(min(need, left))
        left -= shares[-1]
    return shares


def capped(second=first_come, first=first_come, cap=lambda cap, needs: cap):
    """A rule in two rounds. second: of what is still needed and left. cap: what becomes of it."""

    def shares(needs, budget, most):
        of_first = first([min(need, cap(most, needs)) for need in needs], budget)
        rest = [need - share for need, share in zip(needs, of_first, strict=True)]
        more = second(rest, budget - sum(of_first))
        return [one + other for one, other in zip(of_first, more, strict=True)]

    return shares


def rounds_of_cap(needs, budget, cap):
    """The cap to each, again and again."""
    shares = [0] * len(needs)
    while budget > 0 and shares != needs:
        more = first_come([min(cap, n - s) for n, s in zip(needs, shares, strict=True)], budget)
        shares = [one + other for one, other in zip(shares, more, strict=True)]
        budget -= sum(more)
    return shares


def evenly_first_come(needs, left):
    """The same to each that needs more, and the remainder to the first."""
    shares, open_ = [0] * len(needs), [i for i, need in enumerate(needs) if need]
    for place, i in enumerate(sorted(open_, key=lambda i: needs[i])):
        shares[i] = min(needs[i], left // (len(open_) - place))
        left -= shares[i]
    more = first_come([n - s for n, s in zip(needs, shares, strict=True)], left)
    return [one + other for one, other in zip(shares, more, strict=True)]


def evenly_in_turn(needs, left):
    """To each its part of what is left then; nothing of it goes to those before."""
    shares = []
    for place, need in enumerate(needs):
        shares.append(min(need, left // (len(needs) - place)))
        left -= shares[-1]
    return shares


def last_come(needs, left):
    return first_come(needs[::-1], left)[::-1]


def to_one(needs, left):
    """All that is left to the first that needs more, and nothing to the next."""
    first = next((i for i, need in enumerate(needs) if need), None)
    return [min(need, left) * (i == first) for i, need in enumerate(needs)]


def unchecked(needs, left):
    """All that is left, whether it is needed or not."""
    return [left * (i == 0) for i in range(len(needs))]


def nothing(needs, left):
    return [0] * len(needs)


def by_size(sign):
    def share(needs, left):
        order = sorted(range(len(needs)), key=lambda i: sign * needs[i])
        shares = [0] * len(needs)
        for i in order:
            shares[i] = min(needs[i], left)
            left -= shares[i]
        return shares

    return share


SHARES = {
    "": capped(),
    "[no_cap] the cap is missing: in the first round give each prompt at most cap tokens, so "
    "that a short prompt "
    "behind a long prompt gets tokens, too.": lambda needs, budget, cap: first_come(needs, budget),
    "[no_second_round] you waste tokens: the tokens left after the first round must go to the same "
    "prompts, in order.": (
        capped(nothing),
        capped(nothing, cap=lambda cap, needs: cap if len(needs) > 1 else 10**9),
    ),
    "[cap_for_each_prompt_only] you check only the cap: the prompts share one budget, so a share "
    "is also at most what is left after the prompts before it.": (
        lambda needs, budget, cap: [min(need, cap) for need in needs],
        lambda needs, budget, cap: [min(need, cap, budget) for need in needs],
    ),
    "[cap_again_and_again] you repeat the first round with the cap. The cap is for the first "
    "round only: in the second round a prompt gets all it still needs before the next prompt "
    "gets a token.": (rounds_of_cap),
    "[rest_divided_evenly] you divide the rest evenly; after the first round, the first prompt "
    "gets all it still needs, then the next prompt.": (
        capped(evenly_first_come),
        capped(evenly_in_turn),
        capped(lambda needs, left: [min(need, left // len(needs)) for need in needs]),
    ),
    "[rest_from_behind] you begin the second round with the last prompt; the second round begins "
    "with the first prompt again.": (capped(last_come)),
    "[rest_to_one_prompt] you use the second round for only one prompt; the next prompt must get "
    "the tokens that the first prompt does not need.": capped(to_one),
    "[more_than_it_needs] you give a prompt all that is left; a prompt gets no more tokens than "
    "it needs.": (capped(unchecked)),
    "[by_size_not_in_order] you sort the prompts by what they need; prompts get their tokens in "
    "the order of the list.": (
        *(capped(share, share) for share in (by_size(1), by_size(-1))),
        *(capped(first=share) for share in (by_size(1), by_size(-1))),
        *(capped(second=share) for share in (by_size(1), by_size(-1))),
    ),
    "[cap_less_one] you stop one token before cap; a prompt may get exactly cap tokens in the "
    "first round.": capped(cap=lambda cap, needs: cap - 1),
    "[evenly_without_the_cap] you divide the budget evenly; the first round gives at most cap "
    "tokens to each prompt.": (lambda needs, budget, cap: evenly_first_come(needs, budget)),
}
# Needs, budget, cap. Of the first five, beliefs that differ nowhere else differ in one.
SHARED = (
    ([1300, 1000, 80], 128, 32),
    ([40, 100, 5], 100, 20),
    ([5, 90, 7], 30, 6),
    ([90, 7, 50, 60], 100, 10),
    ([30, 30, 30], 70, 10),
)


def shares_of(student, needs, budget, cap):
    """The learner's answer, once it is known to be a list of as many whole numbers."""
    shown = f"capped_shares({needs}, budget={budget}, cap={cap})"
    with input_shown(shown):
        got = student.call("capped_shares", needs=Lent(needs), budget=budget, cap=cap)
    if not isinstance(got, list | tuple):
        what = "nothing (None)" if got is None else a_kind(got)
        raise Wrong(
            f"[shares_are_no_list] {shown}: you return {what}; return a list with a share for "
            "each prompt.",
            got=got,
        )
    strange = [one for one in got if type(one) is not int]
    if strange:
        raise Wrong(
            f"[share_is_not_whole] {shown}: your list has {a_kind(strange[0])}; shares are whole "
            "numbers of tokens, int.",
            got=got,
        )
    if len(got) != len(needs):
        raise Wrong(
            f"[not_a_share_for_each] {shown}: {len(needs)} prompts need {len(needs)} shares, 0 "
            f"for a prompt that gets nothing; your list has {len(got)}.",
            expected=SHARES[""](needs, budget, cap),
            got=got,
        )
    return list(got)


def check_shares(student, *cases):
    for case in cases:
        expected, got = SHARES[""](*case), shares_of(student, *case)
        if got == expected:
            continue
        needs, budget, cap = case
        seen = [(case, got), *((c, shares_of(student, *c)) for c in SHARED)]
        said = why(seen, lambda parts: parts[0], SHARES)
        if not said and sum(got) > budget:
            said = (
                "[over_the_budget] your shares add up to more than the budget; subtract each share "
                "from what is left."
            )
        if not said and min(got) < 0:
            said = "[share_below_zero] your list has a share below 0; the smallest share is 0."
        said = said or (
            "[other_shares] your shares are wrong: first give min(need, cap, left) to each "
            "prompt, in order; then give the rest, in the same order, to the prompts that still "
            "need more."
        )
        raise Wrong(
            f"capped_shares({needs}, budget={budget}, cap={cap}): {said}",
            expected=expected,
            got=got,
        )


@pytest.mark.task("8.2", points=1)
def test_a_long_prompt_leaves_tokens_to_those_behind_it(student):
    check_shares(student, ([1300, 1000, 80], 96, 32), ([33, 32, 31], 95, 32), ([9, 9], 2, 1))


@pytest.mark.task("8.2", points=1)
def test_the_rest_goes_to_the_same_prompts_in_order(student):
    check_shares(
        student,
        ([1300], 121, 64),
        *SHARED,
        ([33, 32, 31], 96, 32),
        ([5, 6], 100, 4),
        ([5, 6], 11, 4),
    )


@pytest.mark.task("8.2", points=0.5)
def test_shares_are_never_more_than_the_budget(student):
    check_shares(student, ([50, 50, 50], 25, 10), ([50, 50, 50], 20, 10), ([50, 50], 7, 10))
    check_shares(student, ([3, 1], 0, 2), ([], 10, 4))
    cases = [([50, 50], 25, 10), ([9, 30], 25, 10), ([30, 9, 4], 25, 10)]
    stays_right(student, "capped_shares", cases, SHARES[""])


@pytest.mark.task("8.2", points=0.25)
def test_the_engine_serves_with_these_shares(student):
    def theirs(needs, budget):
        return shares_of(student, list(needs), budget, 3)

    def right(needs, budget):
        return SHARES[""](list(needs), budget, 3)

    for requests in (LONG, TWO_LONG):
        due, got = (
            serve(mb.Budget(4, 8, chunks=rule, admission=ReserveMaximum()), requests)
            for rule in (right, theirs)
        )
        same_plan(
            due,
            got,
            (
                "[other_plan_of_shares] Your capped_shares gives the prompts of this step the "
                "wrong shares."
            ),
        )


@pytest.mark.task("8.2", points=0.25)
def test_any_prompts_budget_and_cap(student, rng):
    for _ in range(20):
        needs = [rng.choice((rng.randint(1, 20), rng.randint(20, 300))) for _ in range(4)]
        check_shares(student, (needs, rng.randint(0, 2 * sum(needs)), rng.randint(1, 40)))


# 8.3 ---------------------------------------------------------------------------------------------

HANDS = ("num_prompt_tokens", "num_computed", "block_tables", "num_decodes", "max_batch_tokens")
HANDS = (*HANDS, "block_size")
# One prompt, alone and beside decodes; two; one that was found in part; three that end mid-step.
CASES = {
    "one prompt alone": ([11], [0], [[2, 0, 5]], 0, 4, 4),
    "one prompt beside three decodes": ([23], [0], [[9, 4, 7, 1, 3, 0]], 3, 8, 4),
    "one prompt whose first 6 tokens are computed": ([17], [6], [[3, 8, 1, 6, 4]], 2, 7, 4),
    "one prompt that ends with a full chunk": ([12], [0], [[6, 2, 9]], 1, 7, 4),
    "two prompts": ([5, 8], [0, 4], [[7, 2], [3, 0]], 1, 4, 4),
    "three prompts, of which one ends in the middle of a block": (
        [9, 14, 6],
        [0, 0, 3],
        [[4, 8], [1, 7], [0, 9]],
        2,
        9,
        8,
    ),
    "two prompts, in blocks of 5": ([12, 9], [3, 0], [[6, 2, 9], [4, 1, 8]], 1, 6, 5),
    "four prompts that end one after the other": (
        [7, 6, 5, 9],
        [0, 2, 0, 0],
        [[11, 3], [2, 6], [9, 0], [5, 1, 8]],
        0,
        6,
        4,
    ),
}


def evenly(needs, left):
    count = max(1, sum(need > 0 for need in needs))
    return [min(need, max(1, left // count)) for need in needs]


def one_at_a_time(needs, left):
    first = next((i for i, need in enumerate(needs) if need), None)
    return [min(need, left) if i == first else 0 for i, need in enumerate(needs)]


def whole_blocks(needs, left):
    """Cut to blocks of 4, unless that is the rest."""
    return first_come(needs, left if sum(needs) <= left else max(4, left // 4 * 4))


def walk(share=first_come, left=None, begin=None, empty=False, by_need=False):
    """The boundaries that a rule makes: of each step (i, begin, end).

    share: who gets what. left: of the budget, from it, the decodes, those done, and the step's
    number. begin: where each prompt stands at first. empty: whether chunks of no token are noted.
    by_need: whether they are noted as short ones come first.
    """

    def chunks(lengths, computed, tables, num_decodes, budget, size):
        at = [0] * len(lengths) if begin == 0 else list(computed)
        steps = []
        while any(a < n for a, n in zip(at, lengths, strict=True)) and len(steps) < 99:
            done = sum(a >= n for a, n in zip(at, lengths, strict=True))
            room = (left or (lambda b, d, f, n: b - d - f))(budget, num_decodes, done, len(steps))
            needs = [n - a for a, n in zip(at, lengths, strict=True)]
            shares = share(needs, room)
            step = [(i, at[i], at[i] + n) for i, n in enumerate(shares) if n > 0 or empty]
            step.sort(key=lambda chunk: needs[chunk[0]] if by_need else chunk[0])
            at = [a + n for a, n in zip(at, shares, strict=True)]
            steps.append(step)
        return steps

    return chunks


CHUNKS = {
    "": walk(),
    "[decodes_take_nothing] you give the whole budget to prompts; each decode takes one token of "
    "the same budget in every step.": (
        walk(left=lambda b, d, done, step: b),
        walk(left=lambda b, d, done, step: b - done),
    ),
    "[done_prompts_take_nothing] you give no token to a completed prompt; a completed prompt "
    "decodes from the "
    "next step on, and takes one token of the budget.": walk(left=lambda b, d, done, step: b - d),
    "[decodes_take_once] you let decodes take tokens only in the first step; decodes take their "
    "tokens in every step.": (
        walk(left=lambda b, d, done, step: b - done - (0 if step else d)),
        walk(left=lambda b, d, done, step: b - (0 if step else d)),
    ),
    "[begins_at_zero] you begin each prompt at 0; the first num_computed[i] positions are "
    "already computed, so prompt i continues after them.": walk(begin=0),
    "[divides_evenly] you divide the rest of the budget among the prompts; prompts get the rest "
    "in order, the first prompt all it needs.": walk(evenly),
    "[one_prompt_a_step] you compute one prompt in a step; when a prompt is complete and tokens "
    "are left, the next prompt gets them in the same step.": walk(one_at_a_time),
    "[shortest_first] you take the shortest prompt first; prompts are computed in their order.": (
        walk(by_size(1)),
        walk(by_size(1), by_need=True),
    ),
    "[notes_empty_chunks] you return empty chunks; a prompt that gets no token in a step has no "
    "chunk in this step.": walk(empty=True),
    "[cut_to_whole_blocks] "
    "you cut chunks to whole blocks; a chunk may end anywhere in a block.": walk(whole_blocks),
    "[keeps_a_token_back] "
    "you keep one token back; prompts get all tokens that decodes leave.": walk(
        left=lambda b, d, done, step: b - d - done - 1
    ),
    "[takes_more_than_its_chunk] you subtract more tokens from the budget than a chunk has; a "
    "prompt that is not complete takes only the tokens of its chunk.": walk(
        left=lambda b, d, done, step: b - d - done + 1
    ),
}


def slot(block=lambda p, chunk, tables, i, size: tables[i][p // size], offset=None):
    """The slots of one chunk, from a belief about block and offset."""
    offset = offset or (lambda p, chunk, size: p % size)

    def slots(chunk, tables, size):
        i, begin, end = chunk
        return [
            block(p, chunk, tables, i, size) * size + offset(p, chunk, size)
            for p in range(begin, end)
        ]

    return slots


SLOTS = {
    "": slot(),
    "[slots_count_from_the_chunk] you count positions from the beginning of the chunk; position "
    "p is in block p // block_size of its table, counted from the beginning of the prompt.": (
        slot(
            lambda p, chunk, tables, i, size: tables[i][(p - chunk[1]) // size],
            lambda p, chunk, size: (p - chunk[1]) % size,
        ),
        slot(lambda p, chunk, tables, i, size: tables[i][(p - chunk[1]) // size]),
        slot(offset=lambda p, chunk, size: (p - chunk[1]) % size),
    ),
    "[slots_by_bits] you shift or mask p; this is wrong if block_size is not a power of two: p // "
    "block_size and p % block_size work for any size.": (
        slot(lambda p, chunk, tables, i, size: tables[i][p >> (size.bit_length() - 1)]),
        slot(
            lambda p, chunk, tables, i, size: tables[i][p >> (size.bit_length() - 1)],
            lambda p, chunk, size: p & (size - 1),
        ),
        slot(offset=lambda p, chunk, size: p & (size - 1)),
        lambda chunk, tables, size: [
            (tables[chunk[0]][p >> (size.bit_length() - 1)] << (size.bit_length() - 1))
            + (p & (size - 1))
            for p in range(chunk[1], chunk[2])
        ],
    ),
    "[first_prompts_table] you use the table of the first prompt; each prompt has a table of its "
    "own, "
    "block_tables[i].": slot(
        lambda p, chunk, tables, i, size: tables[0][(p // size) % len(tables[0])]
    ),
    "[no_table_at_all] you return the positions themselves, as if the table named blocks 0, 1, 2 "
    "and so on; look up the block in the table, block_tables[i][p // block_size].": slot(
        lambda p, chunk, tables, i, size: p // size
    ),
    "[offset_added_to_the_block] you begin at the block's id; a block has block_size slots, and "
    "the first slot is block * block_size.": lambda chunk, tables, size: [
        tables[chunk[0]][p // size] + p % size for p in range(chunk[1], chunk[2])
    ],
    "[slot_of_the_blocks_beginning] you return the first slots of the blocks; add the offset "
    "inside the block, p % block_size.": slot(offset=lambda p, chunk, size: 0),
    "[block_in_place_of_the_slot] you return block ids; return slots, block * block_size + p % "
    "block_size.": (
        lambda chunk, tables, size: [tables[chunk[0]][p // size] for p in range(chunk[1], chunk[2])]
    ),
    "[slots_of_everything_before] you also return the slots of the positions before the chunk; "
    "only the chunk's own positions are written, from "
    "begin to end - 1.": lambda chunk, tables, size: slot()((chunk[0], 0, chunk[2]), tables, size),
}


def by_hand(student, arguments):
    """The learner's answer, once it is known to have the shape that is asked for."""
    lent = [
        Lent(map(Lent, one)) if one and isinstance(one, list) and isinstance(one[0], list) else one
        for one in arguments
    ]
    lent = [Lent(one) if isinstance(one, list) else one for one in lent]
    with input_shown(f"chunks_and_slots({told(arguments)})"):
        got = student.call("chunks_and_slots", **dict(zip(HANDS, lent, strict=True)))
    if not isinstance(got, list | tuple):
        kind = "nothing (None)" if got is None else a_kind(got)
        raise Wrong(
            f"[steps_are_no_list] You return {kind}; return a list that has a list of chunks for "
            "each step.",
            got=got,
        )
    for step in got:
        if not isinstance(step, list | tuple) or (step and type(step[0]) is int):
            itself = " that is a chunk itself" if isinstance(step, list | tuple) else ""
            raise Wrong(
                "[step_is_no_list] Each step is a list of its chunks, even if there is only one: "
                f"[(i, begin, end, slots)]. Your list holds {a_kind(step)}{itself}.",
                got=step,
            )
        for chunk in step:
            whole = isinstance(chunk, list | tuple) and len(chunk) == 4
            whole = whole and all(type(one) is int for one in chunk[:3])
            slots = chunk[3] if whole else None
            if not isinstance(slots, list | tuple) or not all(type(one) is int for one in slots):
                raise Wrong(
                    "[chunk_is_no_quadruple] A chunk is (i, begin, end, slots): three whole "
                    f"numbers, and a list of whole numbers. Your chunk is {str(chunk)[:80]}.",
                    got=chunk,
                )
    return [[(*chunk[:3], list(chunk[3])) for chunk in step] for step in got]


def bounds(answer):
    return [[chunk[:3] for chunk in step] for step in answer]


def told(arguments):
    return ", ".join(f"{name}={one}" for name, one in zip(HANDS, arguments, strict=True))


def right(arguments):
    """The whole answer."""
    tables, size = arguments[2], arguments[5]
    return [
        [(*chunk, SLOTS[""](chunk, tables, size)) for chunk in step]
        for step in CHUNKS[""](*arguments)
    ]


def fault(arguments, got, number):
    """What is wrong with step `number` of an answer that is right up to there."""
    lengths, at, _, decodes, budget, _ = arguments
    at = list(at)
    for _, (i, _, end) in ((step, chunk) for step in got[:number] for chunk in step):
        at[i] = end
    done = sum(here == length for here, length in zip(at, lengths, strict=True))
    left = budget - decodes - done
    if done == len(lengths):
        return (
            "[goes_on_when_all_is_computed] you add a step although all prompts are complete: "
            "add no further step."
        )
    if number == len(got):
        return (
            f"[ends_too_soon] you return too few steps: only {at} of {lengths} tokens of the "
            "prompts are computed so far."
        )
    for i, begin, end in got[number]:
        if not 0 <= i < len(lengths):
            return (
                f"[chunk_of_nobody] your chunk names prompt {i}, which does not exist; prompts "
                "count from 0."
            )
        if begin != at[i]:
            return (
                f"[chunk_begins_elsewhere] {at[i]} tokens of prompt {i} are already computed, so "
                f"the next chunk begins at {at[i]}; your chunk begins at {begin}."
            )
        if end > lengths[i]:
            return (
                f"[chunk_past_the_end] your chunk ends at {end}, but prompt {i} has only "
                f"{lengths[i]} tokens."
            )
        at[i] = end
    taken = sum(end - begin for _, begin, end in got[number])
    paid = f"the budget is {budget}, and decodes take {decodes + done} of it"
    if taken > left:
        return (
            f"[chunks_over_the_budget] {paid}: {left} are left for prompts, but your chunks have "
            f"{taken} tokens. Subtract each chunk from what is left."
        )
    if taken < left and at != lengths:
        return (
            f"[chunks_leave_tokens] {paid}: {left} are left for prompts, but your chunks have only "
            f"{taken} tokens. A prompt gets all it needs, or all that is left."
        )
    return (
        "[other_chunks] your chunks are wrong: prompts get tokens in order, the first prompt all "
        "it needs, then the next prompt."
    )


def check_bounds(student, names):
    answers = {name: bounds(by_hand(student, CASES[name])) for name in CASES}
    for name in names:
        expected, got = CHUNKS[""](*CASES[name]), answers[name]
        if got == expected:
            continue
        said = why([(CASES[n], answers[n]) for n in CASES], lambda parts: parts[0], CHUNKS)
        if not said and [[(i, b, e + 1) for i, b, e in step] for step in got] == expected:
            said = (
                "[end_is_the_last_position] you return the last position as end; end is the "
                "position after the chunk's last one, as in range(begin, end)."
            )
        if not said and sorted(sum(got, [])) == sorted(sum(expected, [])):
            said = (
                "[chunks_in_another_order] you return the right chunks, but in the wrong steps or "
                "in the wrong order."
            )
        number = next(
            (n for n, (a, b) in enumerate(zip(expected, got, strict=False)) if a != b),
            min(len(expected), len(got)),
        )
        said = said or fault(CASES[name], got, number)
        raise Wrong(
            f"With {name}, step {number + 1}: {said} ({told(CASES[name])})",
            expected=expected[number] if number < len(expected) else "no such step",
            got=got[number] if number < len(got) else "no such step",
        )


@pytest.mark.task("8.3", points=1)
def test_a_prompt_is_cut_to_what_decodes_leave(student):
    names = list(CASES)
    check_bounds(student, names[:4])


@pytest.mark.task("8.3", points=1.5)
def test_prompts_share_a_step_and_decode_when_they_are_done(student):
    check_bounds(student, list(CASES)[4:])


@pytest.mark.task("8.3", points=1)
def test_each_position_is_written_into_its_slot(student):
    """Of the chunks that the learner has made, so that one mistake is told once."""
    seen = []
    for arguments in CASES.values():
        tables, size = arguments[2], arguments[5]
        for step in by_hand(student, arguments):
            seen += [((chunk[:3], tables, size), chunk[3]) for chunk in step]
    for (chunk, tables, size), got in seen:
        expected = SLOTS[""](chunk, tables, size)
        if got != expected:
            i, begin, end = chunk
            said = why(seen, lambda parts: parts[0], SLOTS)
            if not said and sorted(got) == sorted(expected):
                said = (
                    "[slots_in_another_order] you return the right slots in the wrong order: list "
                    "them in the order of the positions."
                )
            raise Wrong(
                f"Prompt {i} computes positions {begin} to {end - 1}; its table is {tables[i]}, "
                f"with blocks of {size}: "
                + (
                    said
                    or (
                        "[other_slots] the slot of position p is block_tables[i][p // block_size] "
                        "* block_size + p % block_size."
                    )
                ),
                expected=expected,
                got=got,
            )


@pytest.mark.task("8.3", points=0.5)
def test_any_prompts_are_computed_as_the_engine_would(student, rng):
    for _ in range(10):
        lengths = [rng.randint(1, 30) for _ in range(rng.randint(1, 4))]
        computed = [rng.choice([0, 0, rng.randrange(length)]) for length in lengths]
        size, blocks = rng.choice([2, 4, 5, 16]), list(range(100))
        rng.shuffle(blocks)
        tables = [[blocks.pop() for _ in range(-(-length // size))] for length in lengths]
        decodes = rng.randint(0, 5)
        budget = decodes + len(lengths) + rng.randint(1, 9)
        arguments = (lengths, computed, tables, decodes, budget, size)
        got = by_hand(student, arguments)
        due = right(arguments)
        if got != due:
            said = "your chunks are right, but your slots are wrong."
            if bounds(got) != bounds(due):
                pairs = enumerate(zip(bounds(due), bounds(got), strict=False))
                number = next((n for n, (a, b) in pairs if a != b), min(len(due), len(got)))
                said = f"step {number + 1}: {fault(arguments, bounds(got), number)}"
            raise Wrong(
                f"[other_chunks_and_slots] chunks_and_slots({told(arguments)}): {said}",
                expected=due,
                got=got,
            )


NOW_YOURS = {"8.1": now_yours.under_a_budget, "8.2": now_yours.with_a_cap, "8.3": now_yours.by_hand}

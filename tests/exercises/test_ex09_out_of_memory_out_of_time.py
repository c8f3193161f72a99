"""Judges exercises 9.1 to 9.4: who gives way, who may begin, whom to refuse, who is next."""

import random
from fractions import Fraction
from functools import cache
from weakref import WeakKeyDictionary

import now_yours
import pytest
import scarcity
from beliefs import a_kind, calls_shown
from scarcity import late, life, longest_up_to_the_late, up

from minibatch.course.judging.values import Lent
from minibatch.course.judging.verdict import Wrong
from minibatch.course.judging.worker_errors import Raised


def believed(beliefs, seen):
    """The sentence of the belief that gives every answer seen, [(arguments, answer)]; or "".
    beliefs: of each sentence a rule, or a tuple of rules."""
    for sentence, belief in beliefs.items():
        for rule in belief if isinstance(belief, tuple) else (belief,):
            if len(seen) > 1 and all(rule(*arguments) == answer for arguments, answer in seen):
                return sentence
    return ""


def place_of(got, waiting, shown, of_one):
    """The answer as a place in the list, or the learner hears what it is instead."""
    if got is None:
        raise Wrong(
            f"[place_is_nothing] {shown} returns nothing (None). End your function with `return` "
            "and the place."
        )
    if isinstance(got, tuple | list) and tuple(got) in map(tuple, waiting):
        raise Wrong(
            f"[thing_in_place_of_its_place] {shown} returns {of_one} itself. Return its place in "
            "the list, 0 for the first, since two tuples may be equal.",
            expected=list(map(tuple, waiting)).index(tuple(got)),
            got=got,
        )
    if type(got) is not int:
        raise Wrong(
            f"[place_is_another_thing] {shown}: you return {a_kind(got)}; return a place in the "
            "list, a whole number.",
            expected="a whole number",
            got=got,
        )
    if -len(waiting) <= got < 0:
        raise Wrong(
            "[place_is_negative] "
            f"{shown} returns {got}, a place counted from the end. Places count from the "
            f"beginning: 0 is the first, {len(waiting) - 1} the last.",
            expected=f"0 to {len(waiting) - 1}",
            got=got,
        )
    if not 0 <= got < len(waiting):
        raise Wrong(
            "[place_is_outside] "
            f"{shown} returns {got}, and places go from 0, the first, to {len(waiting) - 1}.",
            expected=f"0 to {len(waiting) - 1}",
            got=got,
        )
    return got


# 9.1 ---------------------------------------------------------------------------------------------

VICTIMS = {
    "[preempts_the_newest] You preempt the request that arrived last. This keeps the order of "
    "arrival, but may lose much computation.": lambda c: len(c) - 1,
    "[preempts_the_oldest] You preempt the request that arrived first. This request has usually "
    "computed the most tokens, so you lose the most.": lambda c: 0,
    "[preempts_who_computed_most] You preempt the request that has computed the most tokens. This "
    "frees the most blocks, but only one block is missing, and all tokens of this request must be "
    "computed again.": lambda c: max(range(len(c)), key=lambda i: c[i][0]),
    "[preempts_the_shortest_answer] You preempt the request with the shortest answer so far. The "
    "K and V of the prompt are lost "
    "as well, and the prompt may be long.": (lambda c: min(range(len(c)), key=lambda i: c[i][1])),
    "[preempts_the_longest_answer] You preempt the request with the longest answer so far. This "
    "request has usually computed the most tokens.": (
        lambda c: max(range(len(c)), key=lambda i: c[i][1])
    ),
    "[preempts_who_has_least_left] You preempt the request with the fewest tokens left. It would "
    "have finished soon, "
    "and has computed nearly all its tokens.": lambda c: min(range(len(c)), key=lambda i: c[i][2]),
    "[preempts_who_has_most_left] You preempt the request with the most tokens left. The tokens "
    "left cost nothing now: a preempted request loses only the tokens that it has already "
    "computed.": (lambda c: max(range(len(c)), key=lambda i: c[i][2])),
}
MOMENTS = [
    [(300, 20, 90), (80, 60, 5), (120, 10, 200), (210, 130, 40)],
    [(70, 15, 3), (260, 45, 80), (90, 2, 60)],
    [(150, 150, 20), (140, 3, 9), (400, 6, 300), (155, 80, 120)],
]


def some_moments(chance):
    for _ in range(8):
        yield [
            (said + chance.randint(5, 400), said, chance.randint(1, 300))
            for said in (chance.randint(1, 200) for _ in range(chance.randint(4, 7)))
        ]


def least_computed(running):
    return min(range(len(running)), key=lambda i: running[i][0])


def choice(student, running):
    shown = (
        f"whom_to_preempt({running if len(running) < 5 else f'{len(running)} running requests'})"
    )
    try:
        got = student.call("whom_to_preempt", Lent(running))
    except Raised as error:
        error.sentence = f"{shown} fails with {error.sentence}"
        raise
    return place_of(got, running, shown, "the tuple")


@cache
def least(name):
    return scarcity.num_recomputed(getattr(scarcity, name), least_computed)


MOST = 1.08  # times what the fewest computed tokens as a rule compute again; the newest: 1.118


def wastes_little(student, name, what):
    found = scarcity.num_recomputed(
        getattr(scarcity, name), lambda running: choice(student, running)
    )
    if found > MOST * least(name):
        moments = [*MOMENTS, *some_moments(random.Random(1))]
        seen = [((moment,), choice(student, moment)) for moment in moments]
        raise Wrong(
            f"[computes_more_again] {what}, your choice makes the engine compute {found:,} tokens "
            f"again; {least(name):,} are enough. "
            + (
                believed(VICTIMS, seen)
                or (
                    "[loses_more_than_it_must] You lose more computation than necessary: a "
                    "preempted request loses all tokens that it has computed, of its prompt and of "
                    "its answer (num_computed)."
                )
            ),
            expected=f"{MOST * least(name):,.0f} or fewer",
            got=f"{found:,}",
        )


@pytest.mark.task("9.1", points=0.5)
def test_a_running_request_is_preempted(student):
    for running in ([(57, 12, 3)], [(57, 12, 3), (57, 12, 3)], *MOMENTS):
        choice(student, running)
    for running in ([(57, 12, 1)], [(57, 12, 1), (90, 30, 1)]):
        try:
            choice(student, running)
        except Raised as error:
            error.sentence = (
                "[all_are_nearly_done] "
                "A request must be preempted even if each has only one token left: "
                f"{error.sentence}"
            )
            raise


@pytest.mark.task("9.1", points=1)
def test_few_tokens_of_the_five_requests_are_computed_again(student):
    wastes_little(student, "FIVE", "With the lesson's five requests")


@pytest.mark.task("9.1", points=1)
def test_few_tokens_of_four_groups_are_computed_again(student):
    wastes_little(student, "CROWDS", "In four groups of forty requests")


@pytest.mark.task("9.1", points=0.5)
def test_long_prompts_are_not_lost_for_short_answers(student):
    wastes_little(student, "LONG_PROMPTS", "In four groups with prompts of up to 600 tokens")


# 9.2 ---------------------------------------------------------------------------------------------


def one_after_another(new, running, num_blocks, size):
    """Whether each could end if the others stood still meanwhile."""
    free = num_blocks - sum(up(n, size) for n, _ in [*running, new])
    for n, most in sorted([*running, new], key=lambda one: up(one[1], size) - up(one[0], size)):
        if up(most, size) - up(n, size) > free:
            return False
        free += up(n, size)
    return free >= 0


def step_by_step(count=lambda n, t, size: up(n + t, size), stays=lambda n, t, most: n + t <= most):
    """The right rule, or what becomes of it with other blocks, or another moment of leaving."""

    def fits(new, running, num_blocks, size):
        all_ = [*running, new]
        return all(
            sum(count(n, t, size) for n, most in all_ if stays(n, t, most)) <= num_blocks
            for t in range(max(most - n for n, most in all_) + 1)
        )

    return fits


def sum_rounded(new, running, num_blocks, size):
    all_ = [*running, new]
    return all(
        up(sum(n + t for n, most in all_ if n + t <= most), size) <= num_blocks
        for t in range(max(most - n for n, most in all_) + 1)
    )


ADMISSIONS = {
    "[lets_everybody_in] You admit every request, even if the pool then runs out of blocks: admit "
    "only requests that fit.": lambda new, run, blocks, size: True,
    "[room_for_the_prompt_only] You count only the prompt; count the blocks of the answer, too, "
    "since answers grow.": lambda new, run, blocks, size: (
        sum(up(n, size) for n, _ in [*run, new]) <= blocks
    ),
    "[promises_are_forgotten] You reserve the blocks that the new request may need, but not the "
    "blocks that running requests "
    "still need: free blocks are promised to these requests.": lambda new, run, blocks, size: (
        sum(up(n, size) for n, _ in run) + up(new[1], size) <= blocks
    ),
    "[newcomer_is_forgotten] You count only the running requests; the new request needs blocks, "
    "too.": (lambda new, run, blocks, size: sum(up(most, size) for _, most in run) <= blocks),
    "[blocks_rounded_down] You round down; round up, since a half-full block takes a whole "
    "block.": (
        lambda new, run, blocks, size: sum(most // size for _, most in [*run, new]) <= blocks
    ),
    "[sum_is_rounded] You add up tokens and round the sum. Round up for each request separately: "
    "two half-full blocks are two blocks.": sum_rounded,
    "[partial_blocks_are_free] You round down in each step; round up, since a partly filled block "
    "takes a whole block.": (step_by_step(lambda n, t, size: (n + t) // size)),
    "[grows_from_a_border] You let a request's blocks grow only every block_size steps from now: "
    "you check only every block_size-th step, or round n and t separately. But a request's last "
    "block may be nearly full now: check each step t, and round n + t up.": (
        step_by_step(lambda n, t, size: up(n, size) + t // size)
    ),
    "[leaves_a_step_too_soon] You let a request leave before the step in which it reaches "
    "max_num_tokens; the request "
    "still holds its blocks in that step.": (step_by_step(stays=lambda n, t, most: n + t < most)),
    "[looks_at_two_steps] You check two steps, the new request's first and its last. The blocks "
    "may run out "
    "in a step between them, or after them: check every step.": lambda new, run, blocks, size: all(
        sum(up(n + t, size) for n, most in [*run, new] if n + t <= most) <= blocks
        for t in (0, new[1] - new[0])
    ),
    "[others_stand_still] You let requests finish one after another, as if the other requests "
    "did not grow. But each request grows by a token in every step.": one_after_another,
}


def by_maximum_and(compare, count=up):
    return lambda new, run, blocks, size: compare(
        sum(count(most, size) for _, most in [*run, new]), blocks
    )


CAUTIOUS = {  # of those who keep somebody out for ever
    "[tokens_not_blocks] You compare tokens with blocks; a block holds block_size tokens.": (
        by_maximum_and(lambda a, b: a <= b, lambda most, size: most)
    ),
    "[wants_a_block_left_over] "
    "You ask for one block more than necessary: use <=, not <.": by_maximum_and(lambda a, b: a < b),
    "[answer_added_twice] You add the answer twice: max_num_tokens already includes the prompt and "
    "the answer.": (
        lambda new, run, blocks, size: sum(up(n + m, size) for n, m in [*run, new]) <= blocks
    ),
    "[newcomer_a_token_too_long] You count the new request one token too long: num_tokens "
    "already includes the token "
    "of the next step.": lambda new, *others: scarcity.by_peak((new[0] + 1, new[1] + 1), *others),
    "[one_block_more_in_each_step] You count one block too many in each step where tokens fill "
    "their blocks exactly: -(-(n + t) // block_size) rounds up, and (n + t) // block_size + 1 "
    "does not.": (step_by_step(lambda n, t, size: (n + t) // size + 1)),
    "[one_block_more_when_full] You count one block too many where tokens fill their blocks "
    "exactly: -(-tokens // block_size) rounds up.": (
        by_maximum_and(lambda a, b: a <= b, lambda most, size: most // size + 1)
    ),
}


def answers(student, questions):
    asked = [[new, Lent(running), blocks, size] for new, running, blocks, size in questions]
    got = calls_shown(student, "may_begin", asked)
    for question, answer in zip(questions, got, strict=True):
        if type(answer) not in (bool, int):
            new, running, blocks, size = question
            kind = "nothing (None)" if answer is None else a_kind(answer)
            raise Wrong(
                "[answer_is_no_bool] "
                f"may_begin({new}, {running}, {blocks}, {size}) returns {kind}; return True or "
                "False."
            )
    return list(map(bool, got))


def served(student, pool, told):
    """A small pool's requests, to their ends. told: what they are, in words."""
    (end,) = scarcity.serve_pools([pool], lambda questions: answers(student, questions))
    if isinstance(end, scarcity.Stuck):
        raise Wrong(f"{rule_behind(student, end)} [waits_for_ever] {told}: {end}.")


def rule_behind(student, end):
    """The sentence of the rule that gives all of the learner's answers, or what to look at."""
    pools = SMALL + scarcity.POOLS[:20]
    asked = [question for pool in pools for question in played(pool)]
    answered = list(zip(asked, answers(student, asked), strict=True))
    if isinstance(end, scarcity.NotAdmitted):
        return believed(CAUTIOUS, answered) or REFUSES_WHAT_FITS
    return believed(ADMISSIONS, answered) or NEXT_ONLY


def played(pool):
    """The questions of a pool, each answered with yes, then with no, by turns."""
    asks, answer, found = life(pool), None, []
    try:
        while len(found) < 12:
            found.append(asks.send(answer))
            answer = len(found) % 3 != 0
    except (StopIteration, scarcity.Stuck):
        pass
    return found


NEXT_ONLY = (
    "[looks_at_every_step] Your function must test every step until the last request has left. A "
    "request still holds its blocks in the step in which it reaches max_num_tokens."
)
REFUSES_WHAT_FITS = (
    "[refuses_what_fits] Your rule refuses a request that fits: no other request runs, and alone "
    "this request never needs more than num_blocks blocks."
)
ALONE = scarcity.Pool(3, 4, ((5, 8, 8),))  # 12 tokens, three blocks, all there are
TWO = scarcity.Pool(10, 1, ((2, 7, 7), (2, 7, 7)))
FOUR = scarcity.Pool(4, 4, ((3, 5, 5), (3, 5, 5), (3, 5, 5), (3, 5, 5)))
LATER = scarcity.Pool(6, 2, ((2, 7, 7), (4, 5, 5), (2, 9, 9), (2, 7, 7)))
SMALL = [ALONE, TWO, FOUR, LATER]
LONG = scarcity.Pool(44, 16, ((20, 500, 500), (20, 500, 500)))  # 33 blocks each


@pytest.mark.task("9.2", points=0.5)
def test_a_request_alone_is_always_admitted(student):
    told = "A request whose 12 tokens fill all three blocks of 4; no other request runs"
    served(student, ALONE, told)
    told = "A request whose single token fills the only block"
    served(student, scarcity.Pool(1, 1, ((1, 1, 1),)), told)


@pytest.mark.task("9.2", points=1)
def test_two_growing_requests_do_not_both_need_the_last_block(student):
    served(student, TWO, "10 blocks of one token, two requests of up to 8 tokens")
    served(student, FOUR, "4 blocks of 4 tokens, four requests of up to 7 tokens")
    served(student, LATER, "6 blocks of 2 tokens, four requests of 8 to 10 tokens")


THOUSAND = WeakKeyDictionary()  # by student: the steps of all 1,000 pools


def steps_of_a_thousand(student):
    if student not in THOUSAND:
        THOUSAND[student] = check_pools(student, scarcity.POOLS)
    return THOUSAND[student]


def check_pools(student, pools):
    """Everybody is served in each. Returns the steps of all."""
    ends = scarcity.serve_pools(pools, lambda questions: answers(student, questions))
    stuck = [(pool, end) for pool, end in zip(pools, ends, strict=True) if type(end) is not int]
    if stuck:
        pool, end = min(stuck, key=lambda one: (len(one[0].requests), one[0].num_blocks))
        asked = ", ".join(
            f"{name} {prompt} + {most}"
            for name, (prompt, _, most) in zip("ABCDEF", pool.requests, strict=False)
        )
        raise Wrong(
            f"{rule_behind(student, end)} [pools_in_which_somebody_waits] In {len(stuck)} of "
            f"{len(pools):,} pools a request waits forever. For example, with {pool.num_blocks} "
            f"blocks of {pool.block_size} and the requests {asked} (tokens of the prompt and of "
            f"the longest answer): {end}."
        )
    return sum(ends)


@pytest.mark.task("9.2", points=1.5)
def test_in_a_thousand_pools_no_request_waits_forever(student):
    steps_of_a_thousand(student)
    told = "44 blocks of 16 tokens, two requests of 20 + 500 tokens"
    served(student, LONG, told)


@pytest.mark.task("9.2", points=0.5)
def test_it_is_no_slower_than_keeping_the_maximum(student):
    found, most = steps_of_a_thousand(student), scarcity.maximum_steps()
    if found > 1.01 * most:
        raise Wrong(
            "[slots_stay_empty] "
            f"No request waits forever, but 1,000 pools take {found:,} steps; reserving the "
            f"maximum for each request takes {most:,}. Slots stay empty though there is room: "
            "admit each request that fits beside the running ones.",
            expected=f"{most:,} steps or fewer",
            got=f"{found:,} steps",
        )


@pytest.mark.task("9.2", points=1)
def test_a_request_that_has_left_by_then_needs_no_room(student):
    found, best, most = (
        steps_of_a_thousand(student),
        scarcity.peak_steps(),
        scarcity.maximum_steps(),
    )
    if found > 1.1 * best:
        said = (
            "[keeps_the_maximum] it reserves the maximum for each request. "
            if found == most
            else ""
        )
        raise Wrong(
            "[steps_are_too_many] No request waits forever: good. In total your rule takes "
            f"{found:,} steps; {said}A request that has nearly finished frees its blocks long "
            "before a new request needs all of its own: in each future step, count only the "
            "requests that may still be there.",
            expected=f"{1.1 * best:,.0f} steps or fewer",
            got=f"{found:,} steps",
        )


@pytest.mark.task("9.2", points=0.5)
def test_no_request_waits_forever_in_other_pools(student, rng):
    check_pools(student, scarcity.some_pools(rng, 200))


# 9.3 ---------------------------------------------------------------------------------------------


def until_all_are_in_time(first):
    """Refuse one more, by `first`, until all that stay are in time."""

    def refuse(waiting, now, limit):
        refused = []
        while late(waiting, refused, now, limit):
            stay = [i for i in range(len(waiting)) if i not in refused]
            refused.append(first(stay, waiting))
        return refused

    return refuse


def who_would_be_late(waiting, now, limit):
    refused, end = [], now
    for i, (arrival, cost) in enumerate(waiting):
        if end + cost > arrival + limit:
            refused.append(i)
        else:
            end += cost
    return refused


def stayed(refuse):
    def the_others(waiting, now, limit):
        gone = refuse(waiting, now, limit)
        return [i for i in range(len(waiting)) if i not in gone]

    return the_others


def from_now(waiting, now, limit):
    return longest_up_to_the_late([(now, cost) for _, cost in waiting], now, limit)


def at_the_beginning(waiting, now, limit):
    """The first token when its prompt begins, not when it is computed."""
    refused, stay, end = [], [], now
    for i, (arrival, cost) in enumerate(waiting):
        stay.append(i)
        if end > arrival + limit:
            longest = max(stay, key=lambda one: waiting[one][1])
            stay.remove(longest)
            refused.append(longest)
            end -= waiting[longest][1]
        end += cost
    return refused


def before_the_late_one(waiting, now, limit):
    """The longest of those before the late one goes; then the late one, if it is late still."""
    refused, stay, end = [], [], now
    for i, (arrival, cost) in enumerate(waiting):
        if end + cost > arrival + limit and stay:
            longest = max(stay, key=lambda one: waiting[one][1])
            stay.remove(longest)
            refused.append(longest)
            end -= waiting[longest][1]
        if end + cost > arrival + limit:
            refused.append(i)
        else:
            stay.append(i)
            end += cost
    return refused


REFUSALS = {
    "[refuses_nobody] You refuse no request, and then all requests are late.": lambda w, n, t: [],
    "[refuses_all_who_are_late] You refuse all requests that would be late in the whole queue. "
    "After one refusal, the requests "
    "behind the refused request start sooner: check again.": lambda w, n, t: late(w, (), n, t),
    "[refuses_whoever_is_late] You refuse the late request itself, which may be cheap. Refuse "
    "the most expensive "
    "request up to the late one: that saves more time for all requests behind.": who_would_be_late,
    "[late_one_is_spared] You choose only among the requests before the late one. The late "
    "request may be the most expensive: then refuse the late request.": before_the_late_one,
    "[refuses_the_newest] You refuse the newest request until all are in time. The newest "
    "requests "
    "need not be those that take most time.": (until_all_are_in_time(lambda stay, w: stay[-1])),
    "[refuses_the_oldest] You refuse the request that has waited longest; refuse the request "
    "that takes most time.": (until_all_are_in_time(lambda stay, w: stay[0])),
    "[refuses_the_longest_of_all] You refuse the longest request of the whole queue. If this "
    "request is behind all late requests, the refusal helps none of them: choose among the "
    "requests up to the first late one.": (
        until_all_are_in_time(lambda stay, w: max(stay, key=lambda i: w[i][1]))
    ),
    "[refuses_the_cheapest] You refuse the cheapest requests; refusing these saves the least "
    "time.": (until_all_are_in_time(lambda stay, w: min(stay, key=lambda i: w[i][1]))),
    "[refuses_the_hopeless_alone] You check each request alone, and refuse only requests that "
    "would be late without a queue. But a request also waits for the requests before "
    "it.": lambda w, n, t: [i for i, (a, c) in enumerate(w) if n + c > a + t],
    "[refuses_who_waited_beyond_the_limit] You refuse a request only after it has waited longer "
    "than the limit. The requests before it and its own prompt take time as well.": (
        lambda w, n, t: [i for i, (a, _) in enumerate(w) if n > a + t]
    ),
    "[limit_counts_from_now] You count the limit from now; the limit counts from a request's "
    "arrival. The requests here have already waited.": (from_now),
    "[machine_is_free_from_the_start] You begin to compute at the first arrival; the machine is "
    "free only from now_ms on.": (lambda w, n, t: longest_up_to_the_late(w, w[0][0], t)),
    "[first_token_at_the_beginning] You take the time when a prompt begins as the time of the "
    "first token; a first token comes when the prompt is complete.": at_the_beginning,
    "[exactly_in_time_is_late] You treat a first token exactly limit_ms after the arrival as "
    "late; it is in time.": lambda w, n, t: longest_up_to_the_late(w, n, t - 1),
    "[names_those_who_stay] You return the places of the requests that stay; return the places "
    "of the refused requests.": (stayed(longest_up_to_the_late)),
}
QUEUES = [
    ([(0, 60), (0, 30), (0, 30)], 0, 100),
    ([(0, 80), (0, 30), (0, 60)], 0, 100),
    ([(0, 10), (20, 80), (30, 20), (40, 10), (60, 15)], 60, 110),
    ([(0, 30), (10, 40), (20, 20), (30, 20), (90, 70)], 90, 150),
    ([(0, 20), (0, 30), (10, 90), (20, 10), (25, 80), (40, 10)], 60, 150),
    ([(0, 50), (60, 40), (70, 30), (80, 20), (150, 45)], 150, 190),
    ([(0, 40), (0, 40), (0, 41)], 0, 120),
    ([(0, 80), (0, 80), (0, 80)], 0, 100),  # alike: their places tell them apart
]


def some_queues(chance):
    for _ in range(12):
        times = sorted(chance.randint(0, 140) for _ in range(chance.randint(1, 8)))
        yield [(t, chance.choice((5, 10, 20, 50))) for t in times], 150, 90


def refusals(student, waiting, now, limit):
    shown = f"whom_to_refuse({waiting if len(waiting) < 7 else '…'}, {now}, {limit})"
    try:
        got = student.call("whom_to_refuse", Lent(waiting), now, limit)
    except Raised as error:
        error.sentence = f"{shown} fails with {error.sentence}"
        raise
    if not isinstance(got, list | tuple):
        kind = "nothing (None)" if got is None else a_kind(got)
        raise Wrong(
            "[refusal_is_no_list] "
            f"{shown} returns {kind}; return a list of places, [] if none is refused."
        )
    if waiting and any(isinstance(one, list | tuple) for one in got):
        raise Wrong(
            "[refusal_holds_tuples] "
            f"{shown} returns the tuples themselves; return their places, 0 for the first."
        )
    strange = [one for one in got if type(one) is not int or not 0 <= one < len(waiting)]
    if strange:
        raise Wrong(
            f"[refusal_is_outside] {shown}: your list has {strange[0]}; places go from 0, the "
            f"first, to {len(waiting) - 1}."
        )
    if len(set(got)) < len(got):
        raise Wrong(
            "[refuses_somebody_twice] "
            "Your list has one place twice. Two waiting requests may be equal, and .index always "
            f"finds the first of them: work with places. {shown}",
            got=got,
            expected="each place once",
        )
    return list(got)


def why_refused_so(student):
    """What belief gives the learner's answers to all queues."""
    queues = [*QUEUES, *some_queues(random.Random(3))]
    seen = [(queue, sorted(refusals(student, *queue))) for queue in queues]
    beliefs = {
        said: lambda *queue, rule=rule: sorted(rule(*queue)) for said, rule in REFUSALS.items()
    }
    return believed(beliefs, seen)


def in_words(queue):
    waiting, now, limit = queue
    return f"whom_to_refuse({waiting}, {now}, {limit})"


@pytest.mark.task("9.3", points=0.5)
def test_no_request_that_can_be_served_is_refused(student):
    for queue in (([], 5, 100), ([(0, 40)], 0, 100), ([(0, 40), (0, 40), (0, 20)], 0, 100)):
        got = refusals(student, *queue)
        if got:
            why = why_refused_so(student) or (
                "[all_are_in_time] You refuse a request although all requests are in time: "
                "refuse none."
            )
            raise Wrong(f"{why} {in_words(queue)}", expected=[], got=got)


@pytest.mark.task("9.3", points=1)
def test_all_requests_that_stay_are_in_time(student):
    for queue in QUEUES:
        got = refusals(student, *queue)
        found = late(queue[0], got, *queue[1:])
        if found:
            waiting, now, limit = queue
            end = now
            for place in range(found[0] + 1):
                end += waiting[place][1] * (place not in got)
            raise Wrong(
                f"{why_refused_so(student)} [late_one_stays] {in_words(queue)}: the request at "
                f"place {found[0]} stays, and gets its first token at {end} ms, "
                f"{end - waiting[found[0]][0]} ms after its arrival.".lstrip(),
                expected="all requests that stay in time",
                got=f"{got} refused",
            )


@pytest.mark.task("9.3", points=1)
def test_as_many_requests_stay_as_possible(student):
    for queue in QUEUES:
        got, best = refusals(student, *queue), longest_up_to_the_late(*queue)
        if len(got) > len(best):
            why = why_refused_so(student) or (
                "[refuses_another_than_the_costliest] You refuse another request than the most "
                "expensive one. Refuse the most expensive of the requests up to the late one; the "
                "late one may be refused, too."
            )
            raise Wrong(
                f"{why} [refuses_too_many] {in_words(queue)}: you refuse {len(got)} requests, "
                f"and {len(best)} refusals are enough.",
                expected=f"{len(best)} refused, such as {sorted(best)}",
                got=sorted(got),
            )


@pytest.mark.task("9.3", points=1)
def test_at_more_than_capacity_most_are_served_in_time(student):
    best = scarcity.num_in_time(scarcity.STREAM, scarcity.LIMIT_MS, longest_up_to_the_late)
    found = scarcity.num_in_time(
        scarcity.STREAM, scarcity.LIMIT_MS, lambda *queue: refusals(student, *queue)
    )
    if found < 0.97 * best:
        none = scarcity.num_in_time(scarcity.STREAM, scarcity.LIMIT_MS, lambda *queue: [])
        raise Wrong(
            "[fewer_are_in_time] 300 prompts arrive, 1.2 times what the machine can compute. With "
            f"your rule, {found} prompts get their first token in time. {best} are possible, and "
            f"without refusals only {none}.",
            expected=f"{0.97 * best:.0f} or more",
            got=f"{found}",
        )


@pytest.mark.task("9.3", points=0.5)
def test_any_queue_keeps_as_many_as_possible(student, rng):
    for chance in (random.Random(9), rng):
        for queue in some_queues(chance):
            got = refusals(student, *queue)
            if late(queue[0], got, *queue[1:]):
                raise Wrong(
                    f"[late_one_stays_in_a_random_case] {in_words(queue)}: you keep a request "
                    "that is late.",
                    got=sorted(got),
                )
            if len(got) > len(longest_up_to_the_late(*queue)):
                raise Wrong(
                    f"[refuses_too_many_in_a_random_case] {in_words(queue)}: you refuse too many "
                    "requests; fewer refusals are enough.",
                    got=sorted(got),
                )


# 9.4 ---------------------------------------------------------------------------------------------


def by_points(points, ties=lambda arrival: -arrival):
    """The place of the most points; of equals the first who came."""

    def choose(waiting, now, aging):
        return max(
            range(len(waiting)),
            key=lambda i: (points(*waiting[i], now, aging), ties(waiting[i][1])),
        )

    return choose


AGED = by_points(lambda priority, arrival, now, aging: priority * aging + now - arrival)
NEXT = {
    "[priority_alone] You use only the priority: if urgent requests keep arriving, the other "
    "requests wait forever.": by_points(lambda p, a, now, aging: p),
    "[waiting_alone] You use only the waiting time; the priority must count, too.": (
        by_points(lambda p, a, now, aging: -a)
    ),
    "[lowest_priority_first] You treat the lowest priority as the most urgent; a request with a "
    "higher number goes first.": (by_points(lambda p, a, now, aging: -p * aging + now - a)),
    "[waiting_multiplies_priority] You multiply the priority by the waiting time, so a request "
    "of priority "
    "0 gains nothing by waiting: add the two.": by_points(lambda p, a, now, aging: p * (now - a)),
    "[waiting_multiplied_by_aging] You multiply the waiting time by aging_ms; divide the "
    "waiting time by aging_ms: aging_ms milliseconds of waiting are one point.": by_points(
        lambda p, a, now, aging: p + (now - a) * aging
    ),
    "[every_millisecond_is_a_point] You count each millisecond as a whole point: divide the "
    "waiting time by aging_ms.": (by_points(lambda p, a, now, aging: p + now - a)),
    "[whole_points_only] You count whole points only; a part of aging_ms is worth that part of a "
    "point: use / instead of //.": by_points(lambda p, a, now, aging: p + (now - a) // aging),
    "[waiting_counts_less] You let a longer wait count less: add the waiting time, now_ms - "
    "arrival_ms.": by_points(lambda p, a, now, aging: p * aging - (now - a)),
    "[points_are_rounded] Your division rounds. The points of the two requests are equal, and "
    "then the "
    "earlier arrival is next: compare priority * aging_ms + waited, in whole numbers.": by_points(
        lambda p, a, now, aging: p + (now - a) / aging
    ),
    "[rounds_the_points] You round the points and lose a small difference: compare priority * "
    "aging_ms + waited, in whole numbers.": tuple(
        by_points(lambda p, a, now, aging, n=n: round(p + (now - a) / aging, n))
        for n in (1, 2, 3, 4, 6, 9)
    ),
    "[first_in_the_list_of_equals] You take the first request in the list; with equal points, "
    "the earlier arrival_ms is next.": (
        by_points(lambda p, a, now, aging: p * aging + now - a, lambda arrival: 0)
    ),
    "[newest_of_equals] You take the latest arrival; with equal points, the earlier arrival is "
    "next.": (by_points(lambda p, a, now, aging: p * aging + now - a, lambda arrival: arrival)),
    "[one_point_at_most] You make waiting worth one point at most. The points for waiting must "
    "grow "
    "without a limit; otherwise a request of higher priority is always served first.": by_points(
        lambda p, a, now, aging: p * aging + min(now - a, aging)
    ),
}
QUEUED = [
    ([(0, 0), (5, 550)], 600, 100),
    ([(0, 0), (1, 3_599_999)], 4_000_000, 3_600_000),  # the second has 1 / 3,600,000 point more
    ([(0, 0), (1, 600_001)], 700_000, 600_000),
    ([(0, 100), (5, 550)], 600, 100),
    ([(2, 0), (2, 10)], 50, 100),
    ([(1, 0), (3, 0), (2, 0)], 10, 100),
    ([(0, 0), (1, 90)], 195, 100),
    ([(0, 0), (1, 95)], 99, 100),
    ([(4, 300), (0, 0), (7, 650)], 700, 100),
    ([(9, 980), (0, 0)], 1000, 100),
    ([(9, 890), (0, 0)], 1000, 100),
    ([(3, 40), (3, 30), (3, 35)], 60, 10),
    ([(0, 20), (1, 120), (2, 210)], 230, 100),
    ([(1, 100), (0, 0)], 150, 100),
    ([(0, 0), (1, 150)], 150, 100),
    ([(3, 100), (0, 98)], 150, 100),
    ([(0, 0), (1, 100)], 150, 100),  # equal
]
EQUAL = ([(10, 1244), (6, 44)], 1596, 300)  # 11.17333… each, but not if a division rounds


def some_who_wait(chance):
    for _ in range(15):
        waiting = [
            (chance.randint(0, 9), chance.randint(0, 400)) for _ in range(chance.randint(1, 7))
        ]
        yield waiting, 400, chance.choice((7, 30, 100))


def next_place(student, waiting, now, aging):
    shown = f"who_is_next({waiting if len(waiting) < 7 else '…'}, {now}, {aging})"
    try:
        got = student.call("who_is_next", Lent(waiting), now, aging)
    except Raised as error:
        error.sentence = f"{shown} fails with {error.sentence}"
        raise
    return place_of(got, waiting, shown, "the tuple")


def points_in_words(waiting, now, aging):
    """As decimals where four digits are exact, else as fractions."""
    exact = [Fraction(p * aging + now - a, aging) for p, a in waiting]
    if all(Fraction(f"{float(points):.4g}") == points for points in exact):
        return ", ".join(f"{float(points):.4g}" for points in exact)
    return ", ".join(f"{p * aging + now - a}/{aging}" for p, a in waiting)


def is_next(student, queue, otherwise=""):
    waiting, now, aging = queue
    got, due = next_place(student, *queue), AGED(*queue)
    if waiting[got] == waiting[due]:
        return  # two of a kind
    queues = [*QUEUED, EQUAL, *some_who_wait(random.Random(2))]
    seen = [(one, next_place(student, *one)) for one in queues]
    why = believed(NEXT, seen) or otherwise
    raise Wrong(
        f"{why} [other_one_is_next] who_is_next({waiting}, {now}, {aging}): the requests now have "
        f"{points_in_words(*queue)} points.".lstrip(),
        expected=due,
        got=got,
    )


@pytest.mark.task("9.4", points=0.5)
def test_of_requests_that_arrive_together_the_most_urgent_is_next(student):
    together = [(1, 0), (3, 0), (2, 0)], 10, 100
    for queue in (together, ([(0, 7)], 7, 100), ([(0, 5), (8, 5), (3, 5)], 9, 50)):
        is_next(
            student,
            queue,
            ("[highest_goes_first] You choose the wrong request: the highest priority goes first."),
        )


@pytest.mark.task("9.4", points=1)
def test_waiting_gives_a_point_for_each_aging_interval(student):
    for queue in QUEUED:
        is_next(
            student,
            queue,
            "[most_points_go_first] You choose the wrong request: the most points go first; with "
            "equal points, the earlier arrival.",
        )


@pytest.mark.task("9.4", points=1)
def test_no_request_starves_behind_endless_urgent_ones(student):
    """One slot, which serves one in 100 ms; and every 100 ms somebody urgent comes."""
    for priority, aging in ((5, 100), (9, 30), (3, 1000), (20, 50)):
        bound = priority * aging + 2 * scarcity.SERVICE_MS
        found = scarcity.first_served(
            [(0, 0)],
            scarcity.urgent(priority, scarcity.SERVICE_MS),
            lambda queue, now, aging=aging: next_place(student, queue, now, aging),
            bound + 2000,
        )
        if found is None or found > bound:
            served = f"not even after {bound + 2000}" if found is None else f"after {found}"
            raise Wrong(
                "[never_served] "
                f"A request of priority {priority} arrives every 100 ms, and each takes 100 ms. "
                f"The request that arrived at 0 ms with priority 0 is served {served} ms. With a "
                f"point for each {aging} ms it has {priority} points after {priority * aging} ms, "
                f"so {bound} ms are enough. The points for waiting must grow without a limit.",
                expected=f"within {bound} ms",
                got="never" if found is None else f"{found} ms",
            )


@pytest.mark.task("9.4", points=0.5)
def test_any_queue_has_the_right_next_request(student, rng):
    is_next(
        student,
        EQUAL,
        (
            "[first_of_equals] You choose the wrong request: with equal points, the earlier "
            "arrival is next."
        ),
    )
    for chance in (random.Random(4), rng):
        for queue in some_who_wait(chance):
            is_next(
                student,
                queue,
                (
                    "[most_points_in_a_random_case] You choose the wrong request: the most points "
                    "go first."
                ),
            )


NOW_YOURS = {
    "9.1": now_yours.victim,
    "9.2": now_yours.admission,
    "9.3": now_yours.refusing,
    "9.4": now_yours.aging,
}

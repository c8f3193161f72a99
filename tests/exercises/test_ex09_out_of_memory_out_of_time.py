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
            "[place_is_nothing] "
            f"{shown} returns nothing (None): end it with `return` and the place."
        )
    if isinstance(got, tuple | list) and tuple(got) in map(tuple, waiting):
        raise Wrong(
            "[thing_in_place_of_its_place] "
            f"{shown} returns {of_one} itself; its place in the list is asked for, 0 for the "
            "first, since two may look alike.",
            expected=list(map(tuple, waiting)).index(tuple(got)),
            got=got,
        )
    if type(got) is not int:
        raise Wrong(
            "[place_is_another_thing] "
            f"{shown}: a place in the list is asked for, a whole number; yours is {a_kind(got)}.",
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
    "[preempts_the_newest] "
    "Yours takes who came last. That keeps the order in which people came, but what it throws away "
    "is as much as she happens to have.": lambda c: len(c) - 1,
    "[preempts_the_oldest] Yours takes who came first, and as a rule has most to lose.": lambda c: (
        0
    ),
    "[preempts_who_computed_most] "
    "Yours takes who has computed most. It frees the most, and only a block was missing; all of it "
    "has to be computed again.": lambda c: max(range(len(c)), key=lambda i: c[i][0]),
    "[preempts_the_shortest_answer] "
    "Yours takes whose answer is shortest so far. Her prompt's K and V are lost as well.": (
        lambda c: min(range(len(c)), key=lambda i: c[i][1])
    ),
    "[preempts_the_longest_answer] "
    "Yours takes whose answer is longest so far, and so most of what was computed.": (
        lambda c: max(range(len(c)), key=lambda i: c[i][1])
    ),
    "[preempts_who_has_least_left] "
    "Yours takes who has least left to say: she would soon have left by herself, and has computed "
    "nearly all.": lambda c: min(range(len(c)), key=lambda i: c[i][2]),
    "[preempts_who_has_most_left] "
    "Yours takes who has most left to say, whatever has been computed of her.": (
        lambda c: max(range(len(c)), key=lambda i: c[i][2])
    ),
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
    shown = f"whom_to_preempt({running if len(running) < 5 else f'{len(running)} who run'})"
    try:
        got = student.call("whom_to_preempt", Lent(running))
    except Raised as error:
        error.sentence = f"{shown} fails with {error.sentence}"
        raise
    return place_of(got, running, shown, "the tuple")


@cache
def least(name):
    return scarcity.num_recomputed(getattr(scarcity, name), least_computed)


def wastes_little(student, name, what, most):
    """most: times what the least computed as victim has computed again."""
    found = scarcity.num_recomputed(
        getattr(scarcity, name), lambda running: choice(student, running)
    )
    if found > most * least(name):
        moments = [*MOMENTS, *some_moments(random.Random(1))]
        seen = [((moment,), choice(student, moment)) for moment in moments]
        raise Wrong(
            "[computes_more_again] "
            f"{what} {found:,} tokens are computed again by your choice; {least(name):,} would do. "
            + (
                believed(VICTIMS, seen)
                or "[loses_more_than_it_must] "
                "What is lost is what somebody has computed: num_computed, prompt and answer."
            ),
            expected=f"{most * least(name):,.0f} or fewer",
            got=f"{found:,}",
        )


@pytest.mark.task("9.1", points=0.5)
def test_somebody_who_runs_gives_way(student):
    for running in ([(57, 12, 3)], [(57, 12, 3), (57, 12, 3)], *MOMENTS):
        choice(student, running)
    for running in ([(57, 12, 1)], [(57, 12, 1), (90, 30, 1)]):
        try:
            choice(student, running)
        except Raised as error:
            error.sentence = (
                "[all_are_nearly_done] A request has to be preempted also where each has one token "
                f"left: {error.sentence}"
            )
            raise


@pytest.mark.task("9.1", points=1)
def test_of_the_five_little_is_computed_again(student):
    wastes_little(student, "FIVE", "Of the lesson's five requests", 1.2)


@pytest.mark.task("9.1", points=1)
def test_of_four_crowds_little_is_computed_again(student):
    wastes_little(student, "CROWDS", "In four crowds of forty", 1.12)


@pytest.mark.task("9.1", points=0.5)
def test_long_prompts_are_not_thrown_away_for_short_answers(student):
    wastes_little(student, "LONG_PROMPTS", "In four crowds with prompts of up to 600 tokens", 1.2)


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
    "[lets_everybody_in] Yours lets everybody in.": lambda new, run, blocks, size: True,
    "[room_for_the_prompt_only] "
    "Yours asks for room for the prompt only, and answers grow.": lambda new, run, blocks, size: (
        sum(up(n, size) for n, _ in [*run, new]) <= blocks
    ),
    "[promises_are_forgotten] "
    "Yours keeps what the newcomer may need, but not what those who run have not taken yet: what "
    "is free now is promised to them.": lambda new, run, blocks, size: (
        sum(up(n, size) for n, _ in run) + up(new[1], size) <= blocks
    ),
    "[newcomer_is_forgotten] Yours looks at those who run alone; the newcomer needs blocks, too.": (
        lambda new, run, blocks, size: sum(up(most, size) for _, most in run) <= blocks
    ),
    "[blocks_rounded_down] Yours rounds down: a block that is half full is taken all the same.": (
        lambda new, run, blocks, size: sum(most // size for _, most in [*run, new]) <= blocks
    ),
    "[sum_is_rounded] "
    "Yours adds up tokens and rounds the sum. Each request rounds up to whole blocks by itself: "
    "two blocks that are half full are two blocks.": sum_rounded,
    "[partial_blocks_are_free] "
    "Yours rounds down in each step: a block that is partly filled is taken all the same.": (
        step_by_step(lambda n, t, size: (n + t) // size)
    ),
    "[grows_from_a_border] "
    "In yours the number of blocks grows every block_size steps from now, and not in the steps "
    "between: it looks at every block_size-th step only, or rounds n and t up apart. But a "
    "request's last block may be nearly full now: look at each step t, and round n + t up.": (
        step_by_step(lambda n, t, size: up(n, size) + t // size)
    ),
    "[leaves_a_step_too_soon] "
    "In yours a request has left when it reaches max_num_tokens; it is still there in that step.": (
        step_by_step(stays=lambda n, t, most: n + t < most)
    ),
    "[looks_at_two_steps] "
    "Yours looks at two steps, the newcomer's first and its last. The blocks may run out in a step "
    "between them, or after them: look at every step.": lambda new, run, blocks, size: all(
        sum(up(n + t, size) for n, most in [*run, new] if n + t <= most) <= blocks
        for t in (0, new[1] - new[0])
    ),
    "[others_stand_still] "
    "In yours one could end after another, if the others stood still. But all of them grow, a "
    "token in every step.": one_after_another,
}


def by_maximum_and(compare, count=up):
    return lambda new, run, blocks, size: compare(
        sum(count(most, size) for _, most in [*run, new]), blocks
    )


CAUTIOUS = {  # of those who keep somebody out for ever
    "[tokens_not_blocks] Yours counts tokens; a block holds block_size of them.": (
        by_maximum_and(lambda a, b: a <= b, lambda most, size: most)
    ),
    "[wants_a_block_left_over] Yours wants a block to be left over: <=, not <.": by_maximum_and(
        lambda a, b: a < b
    ),
    "[answer_added_twice] "
    "Yours adds the answer to the prompt once more: max_num_tokens has both.": (
        lambda new, run, blocks, size: sum(up(n + m, size) for n, m in [*run, new]) <= blocks
    ),
    "[newcomer_a_token_too_long] "
    "Yours counts the newcomer one token too long: num_tokens already has the token that the "
    "coming step computes.": lambda new, *others: scarcity.by_peak(
        (new[0] + 1, new[1] + 1), *others
    ),
    "[one_block_more_in_each_step] "
    "Yours takes a block more than it needs in each step where tokens fill their blocks exactly: "
    "-(-(n + t) // block_size) rounds up, and (n + t) // block_size + 1 does not.": (
        step_by_step(lambda n, t, size: (n + t) // size + 1)
    ),
    "[one_block_more_when_full] "
    "Yours takes a block more than it needs where tokens fill their blocks exactly: "
    "-(-tokens // block_size) rounds up.": (
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
                f"may_begin({new}, {running}, {blocks}, {size}) returns {kind}; say True or False."
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
    "[looks_at_every_step] "
    "Look at every step until the last of them has left; and who is at its max_num_tokens is "
    "still there in that step."
)
REFUSES_WHAT_FITS = (
    "[refuses_what_fits] "
    "Your rule says no to a request that fits: no other runs, and alone it never needs more than "
    "num_blocks blocks."
)
ALONE = scarcity.Pool(3, 4, ((5, 8, 8),))  # 12 tokens, three blocks, all there are
TWO = scarcity.Pool(10, 1, ((2, 7, 7), (2, 7, 7)))
FOUR = scarcity.Pool(4, 4, ((3, 5, 5), (3, 5, 5), (3, 5, 5), (3, 5, 5)))
LATER = scarcity.Pool(6, 2, ((2, 7, 7), (4, 5, 5), (2, 9, 9), (2, 7, 7)))
SMALL = [ALONE, TWO, FOUR, LATER]
LONG = scarcity.Pool(44, 16, ((20, 500, 500), (20, 500, 500)))  # 33 blocks each


@pytest.mark.task("9.2", points=0.5)
def test_alone_everybody_may_begin(student):
    told = "One whose 12 tokens fill all three blocks of 4, and nobody runs"
    served(student, ALONE, told)
    told = "One whose single token fills the only block"
    served(student, scarcity.Pool(1, 1, ((1, 1, 1),)), told)


@pytest.mark.task("9.2", points=1)
def test_two_who_grow_together_do_not_meet_at_the_last_block(student):
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
            f"{rule_behind(student, end)} [pools_in_which_somebody_waits] "
            f"In {len(stuck)} of {len(pools):,} pools somebody waits for ever. For example, with "
            f"{pool.num_blocks} blocks of {pool.block_size} and the requests {asked} (prompt and "
            f"most of an answer, tokens): {end}."
        )
    return sum(ends)


@pytest.mark.task("9.2", points=1.5)
def test_in_a_thousand_pools_nobody_waits_for_ever(student):
    steps_of_a_thousand(student)
    told = "44 blocks of 16 tokens, two requests of 20 + 500 tokens"
    served(student, LONG, told)


@pytest.mark.task("9.2", points=0.5)
def test_it_is_no_slower_than_keeping_the_maximum(student):
    found, most = steps_of_a_thousand(student), scarcity.maximum_steps()
    if found > 1.01 * most:
        raise Wrong(
            "[slots_stay_empty] "
            f"Nobody waits for ever, but 1,000 pools take {found:,} steps; keeping the maximum for "
            f"everybody takes {most:,}. Slots stay empty though there is room: let in whoever fits "
            "beside those who run.",
            expected=f"{most:,} steps or fewer",
            got=f"{found:,} steps",
        )


@pytest.mark.task("9.2", points=1)
def test_who_will_have_left_by_then_needs_no_room(student):
    found, best, most = (
        steps_of_a_thousand(student),
        scarcity.peak_steps(),
        scarcity.maximum_steps(),
    )
    if found > 1.1 * best:
        said = (
            "[keeps_the_maximum] that is keeping the maximum for everybody. "
            if found == most
            else ""
        )
        raise Wrong(
            "[steps_are_too_many] "
            f"Nobody waits for ever: good. In all it takes {found:,} steps; {said}Who has nearly "
            "ended gives its blocks back long before a newcomer needs its last ones: in each step "
            "to come, count only those who may still be there.",
            expected=f"{1.1 * best:,.0f} steps or fewer",
            got=f"{found:,} steps",
        )


@pytest.mark.task("9.2", points=0.5)
def test_nobody_waits_for_ever_in_other_pools(student, rng):
    check_pools(student, scarcity.some_pools(rng, 200))


# 9.3 ---------------------------------------------------------------------------------------------


def until_all_are_in_time(first):
    """Refuse one more, by `first`, until all who stay are in time."""

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
    "[refuses_nobody] "
    "Yours refuses nobody: then everybody is late, one after another.": lambda w, n, t: [],
    "[refuses_all_who_are_late] "
    "Yours refuses all who would be late in the whole queue. Once one of them has gone, those "
    "behind her come sooner: look again.": lambda w, n, t: late(w, (), n, t),
    "[refuses_whoever_is_late] "
    "Yours refuses whoever would be late. She may be cheap: the one who costs most, among those up "
    "to her, makes more room for all behind.": who_would_be_late,
    "[late_one_is_spared] "
    "Yours chooses among those before the late one. The late one may itself cost most of all up to "
    "there: then it alone has to go.": before_the_late_one,
    "[refuses_the_newest] "
    "Yours refuses the newest until all are in time. They need not be those who take the time.": (
        until_all_are_in_time(lambda stay, w: stay[-1])
    ),
    "[refuses_the_oldest] "
    "Yours refuses who has waited longest; what counts is who takes the time.": (
        until_all_are_in_time(lambda stay, w: stay[0])
    ),
    "[refuses_the_longest_of_all] "
    "Yours refuses the longest of the whole queue. Somebody who stands behind all who are late "
    "makes nobody sooner: choose among those up to the first who is late.": (
        until_all_are_in_time(lambda stay, w: max(stay, key=lambda i: w[i][1]))
    ),
    "[refuses_the_cheapest] Yours refuses the cheapest, who make the least room.": (
        until_all_are_in_time(lambda stay, w: min(stay, key=lambda i: w[i][1]))
    ),
    "[refuses_the_hopeless_alone] "
    "Yours refuses only those who are late whatever happens, each looked at alone; they wait for "
    "one another.": lambda w, n, t: [i for i, (a, c) in enumerate(w) if n + c > a + t],
    "[refuses_who_waited_beyond_the_limit] "
    "Yours refuses who has waited for longer than the limit already; the queue before somebody and "
    "her own prompt take time as well.": (
        lambda w, n, t: [i for i, (a, _) in enumerate(w) if n > a + t]
    ),
    "[limit_counts_from_now] "
    "The limit counts from somebody's arrival, and yours from now: those here have waited.": (
        from_now
    ),
    "[machine_is_free_from_the_start] "
    "The machine is free at now_ms, and yours begins when the first came.": (
        lambda w, n, t: longest_up_to_the_late(w, w[0][0], t)
    ),
    "[first_token_at_the_beginning] "
    "A first token comes when its prompt is computed; in yours when it begins.": at_the_beginning,
    "[exactly_in_time_is_late] "
    "Who gets her first token exactly limit_ms after her arrival is in time; yours takes her for "
    "late.": lambda w, n, t: longest_up_to_the_late(w, n, t - 1),
    "[names_those_who_stay] "
    "The places of those who are refused are asked for; yours are those who stay.": (
        stayed(longest_up_to_the_late)
    ),
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
            f"{shown} returns {kind}; a list of places is asked for, [] for nobody."
        )
    if waiting and any(isinstance(one, list | tuple) for one in got):
        raise Wrong(
            "[refusal_holds_tuples] "
            f"{shown} returns the tuples themselves; their places are asked for, 0 for the first."
        )
    strange = [one for one in got if type(one) is not int or not 0 <= one < len(waiting)]
    if strange:
        raise Wrong(
            "[refusal_is_outside] "
            f"{shown}: places go from 0, the first, to {len(waiting) - 1}; yours has {strange[0]}."
        )
    if len(set(got)) < len(got):
        raise Wrong(
            "[refuses_somebody_twice] One place is twice in your list. Two that wait may look "
            f"alike, and .index finds the first of them each time: keep places. {shown}",
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
def test_nobody_is_refused_who_can_be_served(student):
    for queue in (([], 5, 100), ([(0, 40)], 0, 100), ([(0, 40), (0, 40), (0, 20)], 0, 100)):
        got = refusals(student, *queue)
        if got:
            why = (
                why_refused_so(student)
                or "[all_are_in_time] All of them are in time: refuse nobody."
            )
            raise Wrong(f"{why} {in_words(queue)}", expected=[], got=got)


@pytest.mark.task("9.3", points=1)
def test_all_who_stay_are_in_time(student):
    for queue in QUEUES:
        got = refusals(student, *queue)
        found = late(queue[0], got, *queue[1:])
        if found:
            waiting, now, limit = queue
            end = now
            for place in range(found[0] + 1):
                end += waiting[place][1] * (place not in got)
            raise Wrong(
                f"{why_refused_so(student)} [late_one_stays] "
                f"{in_words(queue)}: place {found[0]} stays, and gets its first token at {end} ms, "
                f"{end - waiting[found[0]][0]} ms after it came.".lstrip(),
                expected="all who stay in time",
                got=f"{got} refused",
            )


@pytest.mark.task("9.3", points=1)
def test_as_many_stay_as_can(student):
    for queue in QUEUES:
        got, best = refusals(student, *queue), longest_up_to_the_late(*queue)
        if len(got) > len(best):
            why = (
                why_refused_so(student)
                or "[refuses_another_than_the_costliest] "
                "Who costs most should go, of all up to the late one and with it."
            )
            raise Wrong(
                f"{why} [refuses_too_many] "
                f"{in_words(queue)}: you refuse {len(got)}, and {len(best)} would do.",
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
            "[fewer_are_in_time] "
            f"300 prompts come, 1.2 times what the machine can compute. By your rule {found} get "
            f"their first token in time; {best} can, and {none} if nobody is refused.",
            expected=f"{0.97 * best:.0f} or more",
            got=f"{found}",
        )


@pytest.mark.task("9.3", points=0.5)
def test_any_queue_keeps_as_many_as_can_be(student, rng):
    for chance in (random.Random(9), rng):
        for queue in some_queues(chance):
            got = refusals(student, *queue)
            if late(queue[0], got, *queue[1:]):
                raise Wrong(
                    "[late_one_stays_in_a_random_case] "
                    f"{in_words(queue)}: somebody who stays is late.",
                    got=sorted(got),
                )
            if len(got) > len(longest_up_to_the_late(*queue)):
                raise Wrong(
                    "[refuses_too_many_in_a_random_case] "
                    f"{in_words(queue)}: fewer need be refused.",
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
    "[priority_alone] "
    "Yours looks at the priority alone: with urgent ones coming all the time, the others wait for "
    "ever.": by_points(lambda p, a, now, aging: p),
    "[waiting_alone] "
    "Yours looks at who has waited longest alone; a priority has to count as well.": (
        by_points(lambda p, a, now, aging: -a)
    ),
    "[lowest_priority_first] "
    "Yours takes the lowest priority for the most urgent: a higher number goes first.": (
        by_points(lambda p, a, now, aging: -p * aging + now - a)
    ),
    "[waiting_multiplies_priority] "
    "In yours waiting multiplies the priority, and who has a priority of 0 gains nothing: add the "
    "two.": by_points(lambda p, a, now, aging: p * (now - a)),
    "[waiting_multiplied_by_aging] "
    "In yours a millisecond of waiting is worth aging_ms points: divide, one point for each "
    "aging_ms.": by_points(lambda p, a, now, aging: p + (now - a) * aging),
    "[every_millisecond_is_a_point] "
    "In yours each millisecond is worth a whole point: divide what was waited by aging_ms.": (
        by_points(lambda p, a, now, aging: p + now - a)
    ),
    "[whole_points_only] "
    "Yours counts whole points only; a part of aging_ms is worth that part of a point: / instead "
    "of //.": by_points(lambda p, a, now, aging: p + (now - a) // aging),
    "[waiting_counts_less] "
    "In yours who has waited longer counts less: the time waited is now_ms - arrival_ms, and it is "
    "added.": by_points(lambda p, a, now, aging: p * aging - (now - a)),
    "[points_are_rounded] "
    "Their points are equal, and of equals who came first is next. In yours a division rounds: "
    "compare priority * aging_ms + waited, in whole numbers.": by_points(
        lambda p, a, now, aging: p + (now - a) / aging
    ),
    "[rounds_the_points] "
    "Yours rounds the points, and a small difference is lost: compare priority * aging_ms + "
    "waited, in whole numbers.": tuple(
        by_points(lambda p, a, now, aging, n=n: round(p + (now - a) / aging, n))
        for n in (1, 2, 3, 4, 6, 9)
    ),
    "[first_in_the_list_of_equals] "
    "Of equals, who came first is next, by arrival_ms; yours takes the first in the list.": (
        by_points(lambda p, a, now, aging: p * aging + now - a, lambda arrival: 0)
    ),
    "[newest_of_equals] Of equals, who came first is next; yours takes who came last.": (
        by_points(lambda p, a, now, aging: p * aging + now - a, lambda arrival: arrival)
    ),
    "[one_point_at_most] "
    "Yours makes waiting worth one point at most; it has to grow without end, or a high enough "
    "priority passes for ever.": by_points(
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
        f"{why} [other_one_is_next] "
        f"who_is_next({waiting}, {now}, {aging}): by now they have {points_in_words(*queue)} "
        "points.".lstrip(),
        expected=due,
        got=got,
    )


@pytest.mark.task("9.4", points=0.5)
def test_of_those_who_came_together_the_most_urgent_is_next(student):
    together = [(1, 0), (3, 0), (2, 0)], 10, 100
    for queue in (together, ([(0, 7)], 7, 100), ([(0, 5), (8, 5), (3, 5)], 9, 50)):
        is_next(student, queue, "[highest_goes_first] The highest goes first.")


@pytest.mark.task("9.4", points=1)
def test_waiting_counts_a_point_for_each_stretch(student):
    for queue in QUEUED:
        is_next(
            student,
            queue,
            "[most_points_go_first] The most points go first; of equals, who came first.",
        )


@pytest.mark.task("9.4", points=1)
def test_nobody_starves_behind_urgent_ones_without_end(student):
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
                f"Every 100 ms somebody comes with priority {priority}, and each takes 100 ms. Who "
                f"came at 0 ms without priority is served {served} ms; with a point for each "
                f"{aging} ms it has {priority} points after {priority * aging}, so {bound} ms are "
                "enough. Waiting has to count without end.",
                expected=f"within {bound} ms",
                got="never" if found is None else f"{found} ms",
            )


@pytest.mark.task("9.4", points=0.5)
def test_any_queue_has_its_next(student, rng):
    is_next(student, EQUAL, "[first_of_equals] Of equals, who came first is next.")
    for chance in (random.Random(4), rng):
        for queue in some_who_wait(chance):
            is_next(student, queue, "[most_points_in_a_random_case] The most points first.")


NOW_YOURS = {
    "9.1": now_yours.victim,
    "9.2": now_yours.admission,
    "9.3": now_yours.refusing,
    "9.4": now_yours.aging,
}

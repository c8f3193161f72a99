"""Judges exercises 13.1 to 13.4: a router, uncached tokens on each replica, prefill and decode
together or apart, and an autoscaler."""

import math
import statistics
from collections import Counter
from functools import cache
from weakref import WeakKeyDictionary

import now_yours
import pytest
from beliefs import a_kind, same, why
from routed import asked, hidden_streams, serve
from scaled import (
    CROWD_COMES,
    CROWD_LEAVES,
    MOST_CHANGES,
    MOST_COST,
    SAME_TRAFFIC,
    SHORT,
    TARGET,
    fewest_hours,
    hidden_days,
    live,
)

from minibatch.course.judging.remote_router import RemoteRouter
from minibatch.course.judging.values import Lent, LentDict
from minibatch.course.judging.verdict import Wrong
from minibatch.course.judging.worker_errors import Raised
from minibatch.routers import Incoming, LeastRequests, PrefixAffinity, ReplicaView

WITHHELD = {
    "13.1": {
        "minibatch.routers.view": ["ReplicaView.cached_tokens", "ReplicaView.uncached_tokens"]
    },
    "13.2": {
        "minibatch.routers.least_uncached_tokens": "LeastUncachedTokens",
        "minibatch.routers.sticky": "StickyUntilSaturated",
    },
    "13.4": {"minibatch.simulator.fleet.autoscaling": ["Autoscaler.want"]},
}


KEEPS = (
    "[keeps_something_between_calls] your answer is wrong here, but right in a first call. So your "
    "function keeps something from earlier calls: use only the arguments"
)


# 13.1 --------------------------------------------------------------------------------------------

A, B, C, D, E, X, Y = (bytes([letter]) * 4 for letter in b"abcdexy")
CACHES = {  # what happens: num_tokens, chain, cached, block_size
    "a replica has the first block, and one has two": (
        10,
        [A, B],
        {0: [B, A], 1: [A], 2: [], 5: [X, Y]},
        4,
    ),
    "a replica has evicted the second block": (
        38,
        [A, B, C, D],
        {3: [A, C, D], 4: [D, C, B, A], 7: [A, B, D]},
        8,
    ),
    "a replica has evicted the first block": (50, [A, B, C], {0: [B, C], 1: [C, X, B], 2: [A]}, 16),
    "the last token is in a full block": (
        32,
        [A, B],
        {0: [A, B], 1: [A], 2: [B], 9: [Y, B, X, A]},
        16,
    ),
    "the prompt is one full block": (16, [A], {1: [A], 2: [X]}, 16),
    "one token follows the last full block": (33, [A, B], {0: [A, B, C], 1: [A, X]}, 16),
    "the prompt is shorter than a block": (5, [], {0: [A, B], 1: []}, 16),
    "a block has one token": (4, [A, B, C, D], {0: [A, B, C, D], 1: [B, C], 2: [A, B]}, 1),
    "the prompt has one token": (1, [A], {0: [A], 8: []}, 1),
    "two replicas have other blocks than at the first call": (
        10,
        [A, B],
        {0: [X], 1: [B, A], 2: [], 5: [A]},
        4,
    ),
    "only one replica is up": (70, [A, B, C, D], {6: [D, A, B]}, 16),
}


def leading(chain, hashes, most=10**9):
    count = 0
    while count < min(most, len(chain)) and chain[count] in hashes:
        count += 1
    return count


def last_cached(chain, hashes):
    return max((i + 1 for i, each in enumerate(chain) if each in hashes), default=0)


def going_on(chain, several):
    count = 0
    for hashes in several:
        count += leading(chain[count:], hashes)
    return count


def each(form):
    return lambda num, chain, cached, size: {
        replica: form(num, chain, hashes, size) for replica, hashes in cached.items()
    }


def usable(num, size):
    return (num - 1) // size


UNCACHED = {
    "": each(lambda n, ch, h, s: n - s * leading(ch, h, usable(n, s))),
    "[counts_cached_blocks_anywhere] you count every cached block of the chain; a block counts "
    "only if all blocks before it are cached as well": (
        each(lambda n, ch, h, s: n - s * sum(one in h for one in ch[: usable(n, s)])),
        each(lambda n, ch, h, s: n - s * sum(one in h for one in ch)),
        each(lambda n, ch, h, s: max(1, n - s * sum(one in h for one in ch))),
    ),
    "[up_to_the_last_cached_block] you count up to the last cached block; stop at the first "
    "block that is not cached": (
        each(lambda n, ch, h, s: n - s * last_cached(ch[: usable(n, s)], h)),
        each(lambda n, ch, h, s: n - s * last_cached(ch, h)),
        each(lambda n, ch, h, s: max(1, n - s * last_cached(ch, h))),
    ),
    "[last_token_is_not_computed] you take the block of the last token from the cache; the last "
    "token is always computed, and here its block is full and cached": each(
        lambda n, ch, h, s: n - s * leading(ch, h)
    ),
    "[last_token_without_its_block] you compute only the last token; the last token is computed "
    "together with its whole block": (
        each(lambda n, ch, h, s: max(1, n - s * leading(ch, h))),
        each(lambda n, ch, h, s: min(n, n - s * leading(ch, h) + (n == s * leading(ch, h)))),
    ),
    "[a_block_too_many] you always compute the last full block; if the last token is not in this "
    "block, the block may come from the cache": (
        each(lambda n, ch, h, s: n - s * leading(ch, h, len(ch) - 1)),
        each(lambda n, ch, h, s: n - s * max(0, leading(ch, h, len(ch) - 1))),
    ),
    "[cached_for_uncached] "
    "you return the cached tokens; return the tokens that must be computed": each(
        lambda n, ch, h, s: s * leading(ch, h, usable(n, s))
    ),
    "[blocks_for_tokens] you return blocks; return tokens": (
        each(lambda n, ch, h, s: len(ch) - leading(ch, h, usable(n, s))),
        each(lambda n, ch, h, s: len(ch) - leading(ch, h)),
        each(lambda n, ch, h, s: -(-n // s) - leading(ch, h, usable(n, s))),
    ),
    "[rest_of_the_prompt_left_out] you leave out the tokens after the last full block; these "
    "tokens are computed, too": (
        each(lambda n, ch, h, s: s * (len(ch) - leading(ch, h, usable(n, s)))),
        each(lambda n, ch, h, s: s * (len(ch) - leading(ch, h))),
    ),
    "[rounds_up_to_blocks] you round the last block up; only the prompt's own tokens "
    "are computed": each(lambda n, ch, h, s: s * (-(-n // s) - leading(ch, h, usable(n, s)))),
    "[block_size_of_its_own] you use blocks of 16 tokens; use the argument `block_size`": each(
        lambda n, ch, h, s: n - 16 * leading(ch, h, usable(n, 16))
    ),
    "[nothing_cached_is_zero] you return 0 for a replica with nothing cached; this replica must "
    "compute the whole prompt": (
        each(lambda n, ch, h, s: n - s * leading(ch, h, usable(n, s)) if h else 0)
    ),
    "[one_token_besides] you add the last token once more; num_tokens already includes the last "
    "token": each(lambda n, ch, h, s: n - s * leading(ch, h) + 1),
    "[a_block_at_least] you compute at least a block; the rest after the last full block may be "
    "less than a block, and then only this rest is computed": each(
        lambda n, ch, h, s: max(min(s, n), n - s * leading(ch, h))
    ),
    "[a_block_more_for_all] you add a block on every replica; the last token's block must be "
    "computed again "
    "only where it is cached": each(lambda n, ch, h, s: n - s * leading(ch, h) + s * (n % s == 0)),
    "[goes_on_from_replica_to_replica] you continue where you stopped for the replica before; "
    "begin at the first block for each replica": lambda n, ch, cached, s: {
        replica: n - s * going_on(ch[: usable(n, s)], list(cached.values())[: i + 1])
        for i, replica in enumerate(cached)
    },
    "[any_replica_will_do] "
    "you take a block from any replica; each replica has its own cache": lambda n, ch, cached, s: (
        dict.fromkeys(
            cached, n - s * leading(ch, {one for h in cached.values() for one in h}, usable(n, s))
        )
    ),
    "[order_of_the_cache] you compare the hashes of a replica with the chain place by place; "
    "these hashes are in any order": each(
        lambda n, ch, h, s: (
            n
            - s
            * next(
                (i for i, (a, b) in enumerate(zip(ch[: usable(n, s)], h, strict=False)) if a != b),
                min(usable(n, s), len(h), len(ch)),
            )
        )
    ),
}


def lent_cache(cached):
    return LentDict({replica: Lent(hashes) for replica, hashes in cached.items()})


def shown_cache(arguments):
    num_tokens, chain, cached, block_size = arguments
    if len(chain) > 6:
        return f"uncached_tokens({num_tokens}, {len(chain)} hashes, …, {block_size})"
    said = {a: chr(a[0]) for a in (*chain, *(b for h in cached.values() for b in h))}
    names = ", ".join(said[one] for one in chain)
    found = {replica: [said[one] for one in hashes] for replica, hashes in cached.items()}
    return f"uncached_tokens({num_tokens}, [{names}], {found}, {block_size})".replace("'", "")


def uncached(student, arguments, told, start="If {}"):
    num_tokens, chain, cached, block_size = arguments
    start = f"{start.format(told)}, {shown_cache(arguments)}"
    try:
        got = student.call(
            "uncached_tokens", num_tokens, Lent(chain), lent_cache(cached), block_size
        )
    except Raised as error:
        error.sentence = f"{start} fails with {error.sentence}"
        raise
    if not isinstance(got, dict):
        kind = "nothing (None)" if got is None else a_kind(got)
        raise Wrong(
            f"{start}: [tokens_are_no_dictionary] return a dictionary with a number of tokens for "
            f"each replica; you return {kind}.",
            got=got,
        )
    if set(got) != set(cached):
        raise Wrong(
            f"{start}: [other_replicas] your dictionary must have an entry for each replica, under "
            "the number that the replica has in `cached`.",
            expected=list(cached),
            got=list(got),
        )
    for replica, tokens in got.items():
        if type(tokens) is not int:
            raise Wrong(
                f"{start}: [tokens_are_no_whole_number] replica {replica}: return a whole number "
                f"of tokens; you return {a_kind(tokens)}.",
                got=tokens,
            )
    return got


def judge_uncached(student, names):
    seen = [(CACHES[told], uncached(student, CACHES[told], told)) for told in CACHES]
    for told, (arguments, got) in zip(CACHES, seen, strict=True):
        expected = UNCACHED[""](*arguments)
        if told in names and got != expected:
            student.close()  # the next question starts a new worker
            if uncached(student, arguments, told) == expected:
                raise Wrong(f"If {told}: {KEEPS}.", expected=expected, got=got)
            said = why(seen, lambda parts: parts[0], UNCACHED) or (
                "[other_number_of_tokens] your number is wrong: the answer is the prompt's "
                "length minus its longest cached beginning"
            )
            raise Wrong(f"If {told}, {shown_cache(arguments)}: {said}.", expected=expected, got=got)


@pytest.mark.task("13.1", points=1)
def test_a_cached_beginning_has_no_hole(student):
    judge_uncached(student, list(CACHES)[:3])


@pytest.mark.task("13.1", points=1)
def test_the_last_token_is_always_computed(student):
    judge_uncached(student, list(CACHES)[3:])


@pytest.mark.task("13.1", points=1)
def test_any_prompt_and_any_caches(student, rng):
    for number in range(30):
        size, num_tokens = rng.choice([1, 4, 16, 256]), rng.randint(1, 600)
        if rng.random() < 0.3:
            num_tokens = size * rng.randint(1, 5)
        chain = [rng.randbytes(8) for _ in range(num_tokens // size)]
        cached = {}
        for replica in rng.sample(range(100), rng.randint(1, 5)):
            kept = chain[: rng.randint(0, len(chain))]
            kept = [one for one in kept if rng.random() < 0.97] + chain[len(chain) // 2 :][-3:]
            kept = [*dict.fromkeys([*kept, *(rng.randbytes(8) for _ in range(rng.randint(0, 3)))])]
            cached[replica] = rng.sample(kept, len(kept))
        case = num_tokens, chain, cached, size
        got, expected = uncached(student, case, number + 1, "Case {}"), UNCACHED[""](*case)
        if got != expected:
            raise Wrong(
                f"Case {number + 1}, {shown_cache(case)}: [other_in_random_caches] a number of "
                "tokens is wrong.",
                expected=expected,
                got=got,
            )


# 13.2 --------------------------------------------------------------------------------------------


def chosen(router, request, views, told):
    """The learner's choice, once it is the number of one of the replicas."""
    numbers = [view.replica for view in views]
    try:
        got = router.choose(request, views)
    except Raised as error:
        error.sentence = f"{told}: `choose` fails with {error.sentence}"
        raise
    if type(got) is int and got in numbers:
        return got
    if got is None:
        said = (
            "[choice_is_nothing] "
            "your function returned nothing (None). End it with `return` and the number of a "
            "replica"
        )
    elif isinstance(got, tuple) and any(got[:4] == tuple(view)[:4] for view in views):
        said = (
            "[view_for_its_number] you return the view itself; return the number of the view, "
            "view.replica"
        )
    elif type(got) is not int:
        said = f"[choice_is_no_number] you return {a_kind(got)}; return the number of a replica"
    elif 0 <= got < len(views):
        said = (
            f"[place_for_its_number] you return {got}, a place in the list. Some replicas may be "
            "down, so places and numbers differ: return view.replica"
        )
    else:
        said = f"[no_such_replica] you return {got}, and none of the views has this number"
    raise Wrong(f"{told}: {said}.", expected=f"one of {numbers}", got=got)


def manual(number, length, at=0.0):
    """A request of a group with a manual of some tokens, and 100 of its own."""
    return asked(at, "manual", length, number, 100).request


def view(replica, **fields):
    return ReplicaView(replica, max_running=24, block_size=256, **fields)


ASK = manual(1, 4_096)
CHAIN = ASK.prefix_hashes
BUSY = {"num_running": 8, "num_waiting": 4, "num_uncached_tokens": 20_000}


FULL = {"num_running": 24, "num_sent": 30, "num_sent_tokens": 90_000, "kv_use": 1.0}


@pytest.mark.task("13.2", points=0.5)
def test_one_of_the_given_replicas_is_chosen(student):
    router = RemoteRouter(student)
    alone = [view(3)], [view(8, **BUSY | FULL)]
    for views in alone:
        chosen(router, ASK, views, f"One replica is up, number {views[0].replica}")
    several = [view(9, **BUSY), view(2, cached=frozenset(CHAIN[:4])), view(5, num_running=1)]
    for views in (several, several[::-1], [view(n, num_running=n % 3) for n in range(70, 100)]):
        numbers = ", ".join(str(one.replica) for one in views[:3])
        chosen(router, ASK, views, f"{len(views)} replicas are up: numbers {numbers} …")
    short = Incoming(1)
    chosen(router, short, several, "A prompt of one token, without a full block")


FACTS = {  # what is told: request, views, the replicas that are right, what to say
    "Four idle replicas, and one has the manual cached": (
        ASK,
        [view(1), view(2), view(6, cached=frozenset(CHAIN)), view(7)],
        {6},
        "[leaves_the_cached_prefix] you leave the replica that has the manual's 4,096 tokens "
        "cached; each of the other replicas must compute them",
    ),
    "Three replicas with the same work, and one has the manual cached": (
        ASK,
        [view(4, **BUSY, cached=frozenset(CHAIN)), view(2, **BUSY), view(0, **BUSY)],
        {4},
        "[leaves_the_cached_prefix_under_load] you leave the only replica that has the manual "
        "cached; all replicas have the same work before this prompt",
    ),
    "Two replicas have a part of the manual": (
        ASK,
        [view(0, cached=frozenset(CHAIN[1:])), view(1, cached=frozenset(CHAIN[:6])), view(2)],
        {1},
        "[counts_blocks_without_their_beginning] your choice is wrong: the replica with 15 of "
        "the manual's blocks lacks the first block, so it can reuse none of them; the other "
        "replica has the first 6 blocks",
    ),
    "One replica has the first two blocks of the manual, and another one has it all": (
        ASK,
        [view(0, cached=frozenset(CHAIN[:2])), view(1, cached=frozenset(CHAIN)), view(2)],
        {1},
        "[any_part_is_enough] your choice is wrong: two blocks are 512 tokens, and the manual "
        "has 4,096. Count the cached tokens",
    ),
    "The replica with the manual has 120,000 tokens to compute first, and others are idle": (
        ASK,
        [
            view(3, num_running=20, num_waiting=30, num_uncached_tokens=120_000)._replace(
                cached=frozenset(CHAIN), kv_use=0.6
            ),
            view(4),
            view(5),
        ],
        {4, 5},
        "[stays_with_the_hot_replica] you choose the replica with the manual, where 120,000 tokens "
        "must be computed first; the manual has 4,096 tokens, and an idle replica computes it much "
        "sooner",
    ),
    "The manual was sent to its replica 40 times since the report, and others are idle": (
        ASK,
        [
            view(3, num_sent=40, num_sent_tokens=120_000, cached=frozenset(CHAIN)),
            view(4),
            view(5),
        ],
        {4, 5},
        "[hot_replica_since_the_report] you choose the replica to which 120,000 uncached tokens "
        "were sent since the report; the manual has only 4,096",
    ),
}
WORK = {
    "Three replicas with twelve requests each": (
        ASK,
        [
            view(0, **BUSY | {"num_uncached_tokens": 9_000}),
            view(1, **BUSY | {"num_uncached_tokens": 700}),
            view(2, **BUSY),
        ],
        {1},
        "[counts_requests] your choice is wrong: the three replicas have the same number of "
        "requests, and one replica has far fewer tokens to compute. A count of requests ignores "
        "their lengths",
    ),
    "Three replicas have reported the same": (
        ASK,
        [
            view(0, num_sent=2, num_sent_tokens=9_000),
            view(1, num_sent=2, num_sent_tokens=12_000),
            view(2, num_sent=2, num_sent_tokens=300),
        ],
        {2},
        "[ignores_tokens_sent] your choice is wrong: since the report, fewer tokens were sent to "
        "one replica than to the others. Use num_sent_tokens",
    ),
    "Two replicas have reported the same, and a prompt was sent to one": (
        ASK,
        [view(0, **BUSY, num_sent=1, num_sent_tokens=8_000), view(1, **BUSY)],
        {1},
        "[ignores_what_was_sent] your choice is wrong: the report does not include the prompt that "
        "was sent since. Use num_sent_tokens, which includes this prompt",
    ),
}


def judge_facts(student, facts):
    router = RemoteRouter(student)
    for told, (request, views, right, said) in facts.items():
        for given in (views, views[::-1]):
            got = chosen(router, request, given, told)
            if got not in right:
                student.close()  # the next question starts a new worker
                if chosen(RemoteRouter(student), request, given, told) in right:
                    raise Wrong(f"{told}: {KEEPS}.", got=f"replica {got}")
                raise Wrong(
                    f"{told}: {said}.",
                    expected=f"replica {' or '.join(map(str, sorted(right)))}",
                    got=f"replica {got}",
                )


@pytest.mark.task("13.2", points=1)
def test_a_cached_prefix_is_worth_its_tokens(student):
    judge_facts(student, FACTS)


@pytest.mark.task("13.2", points=1)
def test_work_is_counted_in_tokens_also_since_the_report(student):
    judge_facts(student, WORK)
    router, sent = RemoteRouter(student), Counter()
    for i in range(40):
        request = Incoming(1_000, (), f"user {i}")
        views = [
            view(n, num_sent=sent[n], num_sent_tokens=1_000 * sent[n]) for n in (11, 12, 13, 14)
        ]
        sent[chosen(router, request, views, f"{i} requests after the last report")] += 1
    number, most = sent.most_common(1)[0]
    if most > 20:
        raise Wrong(
            "[all_to_one_between_reports] 40 equal requests come between two reports of four idle "
            f"replicas, and you send {most} of them to replica {number}: this replica looked idle "
            "when it reported. Count what you have sent since the report.",
            expected="about 10 to each",
            got=dict(sent),
        )


NUM_REPLICAS = 6
RUNS = WeakKeyDictionary()  # of each student: of each hidden stream its requests, and the choices


@cache
def mean_ttft_of(kind):
    """Over all hidden streams, by one of the course's routers."""
    options = {"count_sent": True} if kind is LeastRequests else {}
    return statistics.mean(
        one.ttft
        for stream in hidden_streams()
        for one in serve(stream.requests(), list(range(NUM_REPLICAS)), kind(**options).choose)
    )


def served(student):
    if student not in RUNS:
        router, log, requests = RemoteRouter(student), [], []
        for stream in hidden_streams():

            def choose(request, views, stream=stream):
                got = chosen(router, request, views, f"In traffic {stream.seed!r}")
                log.append((request, views, got))
                return got

            requests += serve(stream.requests(), list(range(NUM_REPLICAS)), choose)
        RUNS[student] = requests, log
    return RUNS[student]


def before(one):
    return one.num_uncached_tokens + one.num_sent_tokens


COSTS = {  # of (request, view): who believes this takes the lowest
    "[takes_the_fewest_requests] Nearly always, you choose the replica with the fewest requests. "
    "A request is not a measure of work: one request has 100 uncached tokens, another request "
    "has 8,000": (
        lambda request, one: one.num_requests + one.num_sent,
        lambda request, one: one.num_requests,
    ),
    "[takes_the_longest_prefix] Nearly always, you choose the replica that has most of the "
    "prompt cached, "
    "however long the queue of this replica is": lambda request, one: -one.cached_tokens(request),
    "[ignores_this_prompt] Nearly always, you choose the replica where the fewest tokens wait. "
    "This prompt's own uncached tokens must be computed, too, and their number differs from "
    "replica to replica": (
        lambda request, one: before(one),
        lambda request, one: one.num_uncached_tokens,
    ),
    "[blind_since_the_report] Nearly always, you choose the best replica according to the last "
    "reports. Add the tokens that were sent since the report": (
        lambda request, one: one.num_uncached_tokens + one.uncached_tokens(request)
    ),
}


def share_by(cost, log):
    """The share of choices that such a cost explains."""
    explained = 0
    for request, views, got in log:
        costs = {one.replica: cost(request, one) for one in views}
        explained += costs[got] == min(costs.values())
    return explained / len(log)


def what_is_slow(requests, log):
    for said, costs in COSTS.items():
        for cost in costs if isinstance(costs, tuple) else (costs,):
            if share_by(cost, log) > 0.97:
                return said
    computed = sum(one.uncached for one in requests)
    by_replica = Counter()
    for one in requests:
        by_replica[one.replica] += one.uncached
    busiest = max(by_replica.values()) / computed
    if busiest > 1.6 / NUM_REPLICAS:
        return (
            f"[one_replica_has_most_of_the_work] One of {NUM_REPLICAS} replicas computes "
            f"{busiest:.0%} of all tokens; share the work better"
        )
    least = sum(one.request.num_tokens - 256 * len(one.request.prefix_hashes) for one in requests)
    return (
        f"[manuals_are_computed_again] Your replicas compute {computed / 1e6:.1f} million tokens "
        f"of prompts, but only {least / 1e6:.1f} million of these tokens can never be cached. "
        "Manuals are computed again on replicas that did not have them cached, or prompts wait "
        "behind long prompts"
    )


def sooner_than(student, kind, name, most):
    requests, log = served(student)
    other, own = mean_ttft_of(kind), statistics.mean(one.ttft for one in requests)
    if own > most * other:
        raise Wrong(
            f"With {name}, the mean TTFT of hidden traffic is {other:.2f} s, and with your router "
            f"it is {own:.2f} s. {what_is_slow(requests, log)}.",
            expected=f"{most * other:.2f} s or less",
            got=f"{own:.2f} s",
        )


@pytest.mark.task("13.2", points=1)
def test_hidden_traffic_waits_half_as_long_as_with_the_fewest_requests(student):
    sooner_than(student, LeastRequests, "LeastRequests", 0.5)


@pytest.mark.task("13.2", points=1.5)
def test_hidden_traffic_waits_less_than_with_prefix_affinity(student):
    sooner_than(student, PrefixAffinity, "PrefixAffinity", 0.75)


# 13.3 --------------------------------------------------------------------------------------------


def case(prompt, answer, together=(), apart=(), slo=(1.0, 0.05)):
    """The four dictionaries. together, apart: what is not as in the exercise's example."""
    one = {"queue": 3000, "tokens_per_s": 8000, "itl_s": 0.02, "itl_beside_prefill_s": 0.1}
    other = {"queue": 0, "tokens_per_s": 8000, "itl_s": 0.02, "kv_bytes_per_token": 125_000}
    return (
        {"prompt": prompt, "answer": answer},
        one | {"prefill_share": 0.5} | dict(together),
        other | {"gbit_per_s": 10, "latency_s": 0.4, "first_token_from": "prefill"} | dict(apart),
        {"ttft_s": slo[0], "tpot_s": slo[1]},
    )


EQUAL = {"itl_s": 0.25, "itl_beside_prefill_s": 0.5, "prefill_share": 0.0, "queue": 0}
AT_ONCE = {"itl_s": 0.25, "kv_bytes_per_token": 0, "latency_s": 0, "queue": 0}
DECISIONS = {  # what happens: case(…)
    "a prompt of 1000 tokens has an answer of 101": case(1000, 101),
    "the network is slow": case(4000, 21, {"queue": 100}, {"gbit_per_s": 0.5}),
    "the network is fast, and steps with a prefill are slow": case(
        2000, 60, {"itl_beside_prefill_s": 0.3, "prefill_share": 0.25}, {"gbit_per_s": 400}
    ),
    "the prefill replica has a long queue": case(
        500, 200, {"queue": 0}, {"queue": 40_000, "gbit_per_s": 100}
    ),
    "the two replicas prefill at different rates": case(
        6000, 50, {"tokens_per_s": 4000}, {"tokens_per_s": 16_000, "queue": 2000, "itl_s": 0.03}
    ),
    "the answer has two tokens": case(800, 2, (), {"gbit_per_s": 100, "latency_s": 0.01}),
    "no step has a prefill": case(3000, 40, {"prefill_share": 0.0, "queue": 9000}),
    "every step has a prefill": case(3000, 400, {"prefill_share": 1.0}, {"latency_s": 0}),
    "the answer has one token, and the prefill replica is free": case(1000, 1),
    "the answer has one token, and the prefill replica is busy": case(1000, 1, (), {"queue": 9000}),
    "both ways meet the SLO": case(
        100, 300, {"queue": 200}, {"queue": 800, "latency_s": 0.1}, (2.0, 0.5)
    ),
    "both ways miss the SLO": case(
        9000, 100, {"queue": 30_000}, {"queue": 20_000, "latency_s": 3}, (0.5, 0.03)
    ),
    "one way has the better TTFT, and the other one the better TPOT": case(
        1000, 11, {"prefill_share": 0.1, "queue": 5000}, {"latency_s": 1.0}, (4.0, 0.1)
    ),
    "TTFT is better apart, and TPOT decides": case(
        1000, 11, {"prefill_share": 0.1, "queue": 5000}, {"latency_s": 1.0}, (4.0, 0.06)
    ),
    "both ways take the same time": case(1024, 9, EQUAL, AT_ONCE, (1.0, 0.5)),
    "both ways have the same TPOT, which decides, and apart has the better TTFT": case(
        1024, 9, EQUAL | {"queue": 800}, AT_ONCE, (4.0, 0.125)
    ),
    "the answer has one token, and both ways take the same time": case(
        512, 1, {"queue": 1024}, {"queue": 1024}
    ),
}
LATE = {"first_token_from": "decode"}
DECISIONS_LATE = {  # the decode replica sends the first token: what else, and case(…)
    "the decode replica sends the first token": case(1000, 101, (), LATE),
    "the decode replica sends the first token over a slow network": case(
        4000, 21, {"queue": 100}, LATE | {"gbit_per_s": 0.5, "queue": 300, "tokens_per_s": 4000}
    ),
    "the decode replica sends the first token over a fast network": case(
        2000, 60, {"itl_beside_prefill_s": 0.3}, LATE | {"gbit_per_s": 400, "latency_s": 0.001}
    ),
    "the decode replica sends the first of two tokens": case(
        800, 2, (), LATE | {"gbit_per_s": 100, "latency_s": 0.01, "itl_s": 0.03}
    ),
    "the decode replica sends the only token": case(1000, 1, {"queue": 6000}, LATE),
    "both ways meet the SLO, and the decode replica sends the first token": case(
        100, 300, {"queue": 200}, LATE | {"queue": 100, "latency_s": 0.1}, (2.0, 0.5)
    ),
}


def transfer(request, apart):
    return (
        8e-9 * request["prompt"] * apart["kv_bytes_per_token"] / apart["gbit_per_s"]
        + (apart["latency_s"])
    )


def is_late(apart):
    """Whether the first token waits for the transfer."""
    return apart["first_token_from"] == "decode"


def prefill(request, way):
    return (way["queue"] + request["prompt"]) / way["tokens_per_s"]


def with_gaps(form):
    """A TPOT by `form`, None for one token."""
    return lambda request, *rest: form(request, *rest) if request["answer"] > 1 else None


def mixed(way):
    share = way["prefill_share"]
    return (1 - share) * way["itl_s"] + share * way["itl_beside_prefill_s"]


TTFT_TOGETHER = {
    "": lambda r, t, a, s: prefill(r, t),
    "[queue_left_out] you leave out the queue; the waiting prompts are computed first: take queue "
    "+ prompt": (lambda r, t, a, s: r["prompt"] / t["tokens_per_s"]),
    "[own_prompt_left_out] you leave out this prompt, which must be computed, too: take queue + "
    "prompt": (lambda r, t, a, s: t["queue"] / t["tokens_per_s"]),
    "[a_step_in_ttft] you add an ITL to TTFT; TTFT is (queue + prompt) / tokens_per_s": (
        lambda r, t, a, s: prefill(r, t) + t["itl_s"],
        lambda r, t, a, s: prefill(r, t) + mixed(t),
        lambda r, t, a, s: prefill(r, t) + t["itl_beside_prefill_s"],
    ),
    "[queue_is_seconds] you use the queue as seconds; the queue is in tokens: divide it by "
    "tokens_per_s": (lambda r, t, a, s: t["queue"] + r["prompt"] / t["tokens_per_s"]),
    "[the_other_replica_s_prefill] you use the queue or the rate of `apart`; use those of "
    "`together`": (
        lambda r, t, a, s: prefill(r, a),
        lambda r, t, a, s: (t["queue"] + r["prompt"]) / a["tokens_per_s"],
    ),
}
TTFT_APART = {
    "": lambda r, t, a, s: prefill(r, a) + (transfer(r, a) if is_late(a) else 0.0),
    "[transfer_before_the_first_token] "
    "the prefill replica computes the first token without waiting for the transfer; the transfer "
    "is between the first token and the second": (
        lambda r, t, a, s: prefill(r, a) + transfer(r, a),
        lambda r, t, a, s: prefill(r, a) + (transfer(r, a) if r["answer"] > 1 else 0),
    ),
    "[sends_for_one_token] you add the transfer to an answer of one token; this answer is complete "
    "after the prefill, and nothing is transferred": lambda r, t, a, s: (
        prefill(r, a) + (transfer(r, a) if r["answer"] == 1 else 0)
    ),
    "[latency_before_the_first_token] you add the latency to TTFT; the first token does not wait "
    "for the network": lambda r, t, a, s: prefill(r, a) + a["latency_s"],
    "[queue_apart_left_out] you leave out the prompts that wait at the prefill replica; these "
    "prompts are computed first": (lambda r, t, a, s: r["prompt"] / a["tokens_per_s"]),
    "[queue_of_the_other_way] you use the queue or the rate of `together`; use those of `apart`": (
        lambda r, t, a, s: prefill(r, t),
        lambda r, t, a, s: (t["queue"] + r["prompt"]) / a["tokens_per_s"],
        lambda r, t, a, s: (a["queue"] + r["prompt"]) / t["tokens_per_s"],
    ),
}
TPOT_TOGETHER = {
    "": with_gaps(lambda r, t, a, s: mixed(t)),
    "[slow_steps_left_out] you use only itl_s; some of the steps contain a prefill": (
        with_gaps(lambda r, t, a, s: t["itl_s"])
    ),
    "[every_step_is_slow] you take itl_beside_prefill_s for every step; only a share of the steps, "
    "prefill_share, has a prefill": with_gaps(lambda r, t, a, s: t["itl_beside_prefill_s"]),
    "[slow_steps_are_added] you add the time of a step with a prefill; such a step takes "
    "itl_beside_prefill_s in all, and the share of the other steps is only 1 - prefill_share": (
        with_gaps(lambda r, t, a, s: t["itl_s"] + t["prefill_share"] * t["itl_beside_prefill_s"])
    ),
    "[shares_exchanged] you use prefill_share for the steps without a prefill; prefill_share is "
    "the share of steps with a prefill": with_gaps(
        lambda r, t, a, s: (
            t["prefill_share"] * t["itl_s"] + (1 - t["prefill_share"]) * t["itl_beside_prefill_s"]
        )
    ),
    "[mean_of_two_itls] you take the two kinds of steps as equally frequent; prefill_share says "
    "how frequent they are": with_gaps(
        lambda r, t, a, s: (t["itl_s"] + t["itl_beside_prefill_s"]) / 2
    ),
    "[one_token_has_tpot] you give a TPOT to an answer of one token, which has no TPOT: return "
    "None": (
        lambda r, t, a, s: mixed(t),
        lambda r, t, a, s: mixed(t) if r["answer"] > 1 else 0.0,
    ),
}
TPOT_APART = {
    "": with_gaps(
        lambda r, t, a, s: a["itl_s"] + (0.0 if is_late(a) else transfer(r, a) / (r["answer"] - 1))
    ),
    "[bytes_for_bits] you use the bandwidth as bytes; the bandwidth is in bits, and K and V are in "
    "bytes: 8 bits are a byte": (
        with_gaps(
            lambda r, t, a, s: (
                a["itl_s"]
                + ((transfer(r, a) - a["latency_s"]) / 8 + a["latency_s"]) / (r["answer"] - 1)
            )
        )
    ),
    "[transfer_left_out] you leave out the transfer, which is between the first token and the "
    "second": with_gaps(lambda r, t, a, s: a["itl_s"]),
    "[latency_left_out] you leave out the latency, which belongs to the transfer": with_gaps(
        lambda r, t, a, s: a["itl_s"] + (transfer(r, a) - a["latency_s"]) / (r["answer"] - 1)
    ),
    "[latency_there_and_back] you add the latency twice; there is one transfer, in one "
    "direction, so add the latency once": (
        with_gaps(
            lambda r, t, a, s: a["itl_s"] + (transfer(r, a) + a["latency_s"]) / (r["answer"] - 1)
        )
    ),
    "[latency_for_each_token] you add the latency to each gap, or for each token of the prompt; "
    "there is one transfer, so add the latency once": (
        with_gaps(
            lambda r, t, a, s: (
                a["itl_s"] + a["latency_s"] + (transfer(r, a) - a["latency_s"]) / (r["answer"] - 1)
            )
        ),
        with_gaps(
            lambda r, t, a, s: (
                a["itl_s"]
                + (transfer(r, a) + (r["prompt"] - 1) * a["latency_s"]) / (r["answer"] - 1)
            )
        ),
    ),
    "[transfer_in_each_gap] you add the transfer to each gap; there is one transfer, and TPOT is "
    "the mean over "
    "all gaps: divide it by answer - 1": with_gaps(lambda r, t, a, s: a["itl_s"] + transfer(r, a)),
    "[divides_by_the_answer] you divide by n; n tokens have n - 1 gaps between them": (
        with_gaps(lambda r, t, a, s: a["itl_s"] + transfer(r, a) / r["answer"])
    ),
    "[one_gap_less] you replace one gap by the transfer; add the transfer to the gaps. All gaps "
    "together take (answer - 1) * itl_s + transfer": with_gaps(
        lambda r, t, a, s: ((r["answer"] - 2) * a["itl_s"] + transfer(r, a)) / (r["answer"] - 1)
    ),
    "[transfer_overlaps] you hide the first step behind the transfer; nothing overlaps the "
    "transfer": (
        with_gaps(
            lambda r, t, a, s: (
                ((r["answer"] - 2) * a["itl_s"] + max(a["itl_s"], transfer(r, a)))
                / (r["answer"] - 1)
            )
        )
    ),
    "[sends_the_answer_too] you count the answer's tokens as well; only K and V of the prompt "
    "are sent": (
        with_gaps(
            lambda r, t, a, s: (
                a["itl_s"]
                + transfer(r | {"prompt": r["prompt"] + r["answer"]}, a) / (r["answer"] - 1)
            )
        ),
        with_gaps(
            lambda r, t, a, s: (
                a["itl_s"] + transfer(r | {"prompt": r["prompt"] + 1}, a) / (r["answer"] - 1)
            )
        ),
    ),
    "[sends_the_queue_too] you count the queue as well; only K and V of this prompt are sent": (
        with_gaps(
            lambda r, t, a, s: (
                a["itl_s"]
                + transfer(r | {"prompt": r["prompt"] + a["queue"]}, a) / (r["answer"] - 1)
            )
        )
    ),
    "[prefills_beside_decode] you count steps with a prefill; with a split, no step of the decode "
    "replica has a prefill: use itl_s alone": (
        with_gaps(lambda r, t, a, s: mixed(t) + transfer(r, a) / (r["answer"] - 1)),
        with_gaps(lambda r, t, a, s: t["itl_s"] + transfer(r, a) / (r["answer"] - 1)),
    ),
    "[binary_giga] you take 2^30 bits; 10^9 bits are a Gbit": with_gaps(
        lambda r, t, a, s: (
            a["itl_s"]
            + ((transfer(r, a) - a["latency_s"]) * 10**9 / 2**30 + a["latency_s"])
            / (r["answer"] - 1)
        )
    ),
    "[one_token_has_tpot_apart] you give a TPOT to an answer of one token, which has no TPOT and "
    "no transfer: return None": (
        lambda r, t, a, s: (
            a["itl_s"] + transfer(r, a) / (r["answer"] - 1) if r["answer"] > 1 else 0.0
        ),
        lambda r, t, a, s: a["itl_s"] + transfer(r, a) / max(1, r["answer"] - 1),
        lambda r, t, a, s: (
            a["itl_s"] + transfer(r, a) / (r["answer"] - 1) if r["answer"] > 1 else a["itl_s"]
        ),
    ),
}
TTFT_LATE = {
    "": TTFT_APART[""],
    "[first_token_does_not_wait] you leave out the transfer; here the decode replica sends the "
    "first token, so TTFT is the prefill plus the transfer": lambda r, t, a, s: prefill(r, a),
    "[only_token_does_not_wait] you leave out the transfer for an answer of one token; the decode "
    "replica sends this token, too, so the token waits for the transfer": lambda r, t, a, s: (
        prefill(r, a) + (transfer(r, a) * (r["answer"] > 1))
    ),
    "[only_latency_waits] you add only the latency; the first token waits for all of K and V": (
        lambda r, t, a, s: prefill(r, a) + a["latency_s"]
    ),
    "[only_bytes_wait] you leave the latency out of TTFT; TTFT includes the transfer, and the "
    "latency is a part of the transfer": (
        lambda r, t, a, s: prefill(r, a) + transfer(r, a) - a["latency_s"]
    ),
    "[first_step_waits_too] you add an ITL to TTFT; the first token comes with K and V, and "
    "needs "
    "no step of the decode replica": lambda r, t, a, s: prefill(r, a) + transfer(r, a) + a["itl_s"],
    "[transfer_alone_is_ttft] you count only the transfer; the prefill comes before the "
    "transfer: add both": (lambda r, t, a, s: transfer(r, a)),
}
TPOT_LATE = {
    "": TPOT_APART[""],
    "[transfer_counted_twice] you count the transfer in TPOT, too; here the transfer is before "
    "the first token and TTFT includes it, so TPOT is itl_s": with_gaps(
        lambda r, t, a, s: a["itl_s"] + transfer(r, a) / (r["answer"] - 1)
    ),
    "[late_prefills_beside_decode] you count steps with a prefill; no step of the decode replica "
    "has a prefill: use itl_s of `apart`": (
        with_gaps(lambda r, t, a, s: mixed(t)),
        with_gaps(lambda r, t, a, s: t["itl_s"]),
    ),
    "[only_token_has_tpot] you give a TPOT to an answer of one token, which has no TPOT: return "
    "None": (
        lambda r, t, a, s: a["itl_s"] if r["answer"] > 1 else 0.0,
        lambda r, t, a, s: a["itl_s"],
    ),
}
PARTS = {  # what is judged: where it is in the answer, and the beliefs
    "TTFT together": ("together", 0, TTFT_TOGETHER),
    "TPOT together": ("together", 1, TPOT_TOGETHER),
    "TTFT apart": ("apart", 0, TTFT_APART),
    "TPOT apart": ("apart", 1, TPOT_APART),
}
PARTS_LATE = {"TTFT apart": ("apart", 0, TTFT_LATE), "TPOT apart": ("apart", 1, TPOT_LATE)}


def times(case):
    """(TTFT, TPOT) together, and apart."""
    return [tuple(PARTS[f"{name} {way}"][2][""](*case) for name in ("TTFT", "TPOT"))
            for way in ("together", "apart")]  # fmt: skip


def shares(pair, slo):
    """Of TTFT's limit, and of TPOT's."""
    return pair[0] / slo["ttft_s"], (pair[1] or 0.0) / slo["tpot_s"]


def by(rule):
    """A decision by a rule of the four shares: together's, and apart's."""
    return lambda *case: rule(*(shares(pair, case[3]) for pair in times(case)))


SPLIT = {
    "": by(lambda t, a: max(a) < max(t)),
    "[tie_splits] if both ways use the same share of the SLO, you split; do not split in "
    "this case": by(lambda t, a: max(a) <= max(t)),
    "[ttft_alone_decides] you compare only TTFT; the larger of the two shares of the SLO decides": (
        by(lambda t, a: a[0] < t[0]),
        by(lambda t, a: a[0] <= t[0]),
    ),
    "[tpot_alone_decides] you compare only TPOT; the larger of the two shares of the SLO "
    "decides": by(lambda t, a: a[1] < t[1]),
    "[splits_if_apart_meets] you split whenever `apart` meets the SLO; `together` may use a "
    "smaller share of the SLO": by(lambda t, a: max(a) <= 1),
    "[splits_only_if_together_misses] you split only if `together` misses the SLO and `apart` "
    "meets it; if both meet it, or both miss it, choose the better way": by(
        lambda t, a: max(a) <= 1 < max(t)
    ),
    "[splits_if_together_misses] you split whenever `together` misses the SLO; `apart` may miss it "
    "by more": by(lambda t, a: max(t) > 1),
    "[both_must_be_better] you split only if both times are better; the larger of the two shares "
    "decides": by(lambda t, a: a[0] < t[0] and a[1] < t[1]),
    "[either_is_enough] you split if one of the times is better; the larger of the two shares "
    "decides": by(lambda t, a: a[0] < t[0] or a[1] < t[1]),
    "[adds_the_shares] you add the two shares, or take their mean; the larger share decides": by(
        lambda t, a: sum(a) < sum(t)
    ),
    "[smaller_share_decides] you compare the smaller share of each way; the larger share is "
    "closer to a miss, so compare the larger share": by(lambda t, a: min(a) < min(t)),
    "[decides_the_other_way] You return True where `together` is better; True means that you "
    "split": by(lambda t, a: max(a) >= max(t)),
    "[ttft_if_both_are_alike] if both ways meet the SLO, or both ways miss the SLO, you compare "
    "only TTFT. In these cases, too, take the larger "
    "of the two shares of each way, and compare these two numbers": by(
        lambda t, a: (max(a) <= 1, -a[0]) > (max(t) <= 1, -t[0])
    ),
    "[no_tpot_has_a_share] you use a share of TPOT where there is no TPOT; then only the share of "
    "TTFT decides": lambda *case: (
        (case[0]["answer"] > 1 or times(case)[1][0] > case[3]["ttft_s"]) and SPLIT[""](*case)
    ),
    "[one_token_never_splits] you never split an answer of one token; such an answer is split like "
    "any other, if its TTFT is better with a split": lambda *case: (
        case[0]["answer"] > 1 and SPLIT[""](*case)
    ),
    "[seconds_without_slo] you compare seconds; divide each time by its own limit": (
        lambda *case: max(filter(None, times(case)[1])) < max(filter(None, times(case)[0])),
        lambda *case: sum(filter(None, times(case)[1])) < sum(filter(None, times(case)[0])),
    ),
    "[whole_answer_decides] you compare the time of the whole answer; the larger of the two "
    "shares of the SLO decides": lambda *case: (lambda e2e: e2e[1] < e2e[0])(
        [ttft + (tpot or 0.0) * (case[0]["answer"] - 1) for ttft, tpot in times(case)]
    ),
}


def shown_case(given):
    return "split_or_not({}, {}, {}, {})".format(*given)


def decided(student, given, told, start="If {}"):
    """The learner's answer: {"split": …, "together": […], "apart": […]}."""
    start = f"{start.format(told)}, {shown_case(given)}"
    try:
        got = student.call("split_or_not", *map(LentDict, given))
    except Raised as error:
        error.sentence = f"{start} fails with {error.sentence}"
        raise
    if not isinstance(got, dict) or set(got) != {"split", "together", "apart"}:
        kind = "nothing (None)" if got is None else a_kind(got)
        raise Wrong(
            f"{start}: [decision_is_no_dictionary] return a dictionary with `split`, `together` "
            f"and `apart`; you return {list(got) if isinstance(got, dict) else kind}.",
        )
    for way in ("together", "apart"):
        pair = got[way]
        if not isinstance(pair, list | tuple) or len(pair) != 2:
            raise Wrong(
                f"{start}: [times_are_no_pair] `{way}` must be a pair, (TTFT, TPOT).", got=pair
            )
        for name, value in zip(("TTFT", "TPOT"), pair, strict=True):
            if value is not None and (type(value) not in (int, float) or math.isnan(value)):
                raise Wrong(
                    f"{start}: [time_is_no_number] {name} in `{way}` must be a number of seconds, "
                    f"or None; you return {a_kind(value)}.",
                    got=value,
                )
    if type(got["split"]) is not bool:
        raise Wrong(
            f"{start}: [split_is_no_bool] `split` must be True or False; you return "
            f"{a_kind(got['split'])}.",
            got=got["split"],
        )
    return got


def answers(student, cases):
    return [(given, decided(student, given, told)) for told, given in cases.items()]


def judge_times(student, cases, parts):
    seen = answers(student, cases)
    for name, (way, place, beliefs) in parts.items():
        pairs = [(given, got[way][place]) for given, got in seen]
        for told, (given, got) in zip(cases, pairs, strict=True):
            expected = beliefs[""](*given)
            if not close(expected, got):
                said = why(pairs, lambda parts: parts[0], beliefs) or (
                    "[other_time] the time is wrong"
                )
                raise Wrong(
                    f"If {told}, {shown_case(given)}: {name}: {said}.",
                    expected="None" if expected is None else f"{expected:.6g} s",
                    got="None" if got is None else f"{got:.6g} s",
                )


def close(expected, got):
    if expected is None or got is None:
        return expected is got
    return same(float(expected), got)


@pytest.mark.task("13.3", points=0.5)
def test_ttft_is_the_queue_and_the_prompt(student):
    judge_times(student, DECISIONS, {name: PARTS[name] for name in ("TTFT together", "TTFT apart")})


@pytest.mark.task("13.3", points=1)
def test_tpot_has_the_slow_steps_or_the_transfer(student):
    judge_times(student, DECISIONS, {name: PARTS[name] for name in ("TPOT together", "TPOT apart")})


@pytest.mark.task("13.3", points=0.5)
def test_a_first_token_from_the_decode_replica_waits_for_the_transfer(student):
    judge_times(student, DECISIONS_LATE, PARTS_LATE)


@pytest.mark.task("13.3", points=1)
def test_the_larger_share_of_the_slo_decides(student):
    cases = DECISIONS | DECISIONS_LATE
    seen = [(given, got["split"]) for given, got in answers(student, cases)]
    for told, (given, got) in zip(cases, seen, strict=True):
        if got != SPLIT[""](*given):
            said = why(seen, lambda parts: parts[0], SPLIT) or (
                "[other_decision] your decision is wrong: split if the larger share of the SLO is "
                "smaller in `apart` than in `together`"
            )
            used = [max(shares(pair, given[3])) for pair in times(given)]
            raise Wrong(
                f"If {told}, {shown_case(given)}: `together` uses {used[0]:.3g} of the SLO, "
                f"`apart` uses {used[1]:.3g}: {said}.",
                expected=not got,
                got=got,
            )


@pytest.mark.task("13.3", points=0.5)
def test_no_bandwidth_is_refused(student):
    for bandwidth, answer in ((0, 101), (-5, 101), (0.0, 1)):
        given = case(1000, answer, (), {"gbit_per_s": bandwidth})
        start = f"{shown_case(given)}: "
        try:
            got = student.call("split_or_not", *map(LentDict, given))
        except Raised as error:
            if error.exception == "ValueError":
                continue
            error.sentence = (
                f"{start}[other_exception] a bandwidth of {bandwidth} is a mistake of the "
                f"caller: raise ValueError. Your function fails with {error.sentence}"
            )
            raise
        raise Wrong(
            f"{start}[takes_no_bandwidth] a bandwidth of {bandwidth} is a mistake of the caller, "
            "even if nothing is transferred: raise ValueError.",
            expected="ValueError",
            got=got,
        )


@pytest.mark.task("13.3", points=0.5)
def test_any_request_and_any_two_ways(student, rng):
    for number in range(30):
        given = case(
            rng.randint(1, 30_000),
            rng.choice([1, 2, 5, 50, 700]),
            {
                "queue": rng.choice([0, 100, 9_000, 60_000]),
                "tokens_per_s": rng.choice([900, 8_000, 25_000.5]),
                "itl_s": rng.uniform(0.005, 0.05),
                "itl_beside_prefill_s": rng.uniform(0.05, 0.4),
                "prefill_share": rng.choice([0, 1, rng.random()]),
            },
            {
                "queue": rng.choice([0, 100, 9_000, 60_000]),
                "tokens_per_s": rng.choice([900, 8_000, 25_000.5]),
                "itl_s": rng.uniform(0.005, 0.05),
                "kv_bytes_per_token": rng.choice([0, 4_096, 131_072, 320 * 1024]),
                "gbit_per_s": rng.choice([0.5, 10, 100, 3200]),
                "latency_s": rng.choice([0, 0.0005, 0.3]),
                "first_token_from": rng.choice(["prefill", "decode"]),
            },
            (rng.uniform(0.2, 5), rng.uniform(0.01, 0.2)),
        )
        got = decided(student, given, number + 1, "Case {}")
        right = times(given)
        used = [max(shares(pair, given[3])) for pair in right]
        sure = abs(used[0] - used[1]) > 1e-6 * used[0]
        if not all(
            close(*both)
            for way, pair in zip(("together", "apart"), right, strict=True)
            for both in zip(pair, got[way], strict=True)
        ) or (sure and got["split"] != (used[1] < used[0])):
            raise Wrong(
                f"Case {number + 1}, {shown_case(given)}: [other_in_a_random_case] a time or the "
                "decision is wrong.",
                expected={"split": used[1] < used[0], "together": right[0], "apart": right[1]},
                got=got,
            )


# 13.4 --------------------------------------------------------------------------------------------

MINUTES_10 = 20  # calls


def asked_for(student, arguments, told=""):
    """How many replicas the learner's function wants."""
    least, most = arguments[5:7]
    recent = arguments[3]
    values = recent if len(set(recent)) > 1 or len(recent) < 2 else f"[{recent[0]}] * {len(recent)}"
    shown = f"{told}desired({', '.join(map(str, [*arguments[:3], values, *arguments[4:]]))})"
    try:
        got = student.call("desired", *arguments[:3], Lent(recent), *arguments[4:])
    except Raised as error:
        error.sentence = f"{shown} fails with {error.sentence}"
        raise
    if type(got) is not int:
        kind = "nothing (None)" if got is None else a_kind(got)
        raise Wrong(
            f"{shown}: [replicas_are_no_whole_number] return a whole number of replicas; you "
            f"return {kind}.",
            got=got,
        )
    if not least <= got <= most:
        raise Wrong(
            f"{shown}: [outside_the_bounds] the answer must be between min_replicas, {least}, "
            f"and max_replicas, {most}, whatever is needed.",
            expected=f"{least} to {most}",
            got=got,
        )
    return got


@pytest.mark.task("13.4", points=0.5)
def test_the_bounds_hold(student):
    for ready, starting, ongoing, least, most in (
        (3, 0, [0] * 20, 2, 40),
        (1, 0, [0], 1, 1),
        (0, 1, [5], 1, 40),
        (6, 2, [900] * 20, 1, 12),
        (12, 0, [900] * 20, 1, 12),
        (4, 0, [0] * 20, 4, 4),
        (2, 0, [20] * 20, 5, 9),
    ):
        asked_for(student, (7200, ready, starting, ongoing, None, least, most, TARGET))


@pytest.mark.task("13.4", points=1)
def test_replicas_that_start_are_counted(student):
    told = "At the target for ten minutes, with replicas that start: "
    for ready, starting, target in ((4, 6, 8), (14, 3, 5), (2, 10, 16), (0, 4, 10), (9, 1, 8)):
        need = ready + starting
        rest = [need * target] * MINUTES_10, 7140, 1, 40, target
        got = asked_for(student, (7200, ready, starting, *rest), told)
        if abs(got - need) <= 1:
            continue
        said = (
            "[other_total] you change the number of replicas; these replicas are exactly at the "
            "target, so nothing must change: return the total number"
        )
        if abs(asked_for(student, (7200, need, 0, *rest)) - need) <= 1:
            said = (
                f"[orders_again_what_starts] {starting} ordered replicas are starting. You do "
                "not count these replicas, so you order them again at each call until they serve"
            )
        elif target != TARGET:
            said = (
                f"[target_of_its_own] your number is wrong: here one replica should have {target} "
                "requests: use the argument `target`"
            )
        elif got <= 1:
            said = "[more_for_the_total] you return the difference; return the total number"
        raise Wrong(f"{told}{said}.", expected=need, got=got)


def lived(student, day):
    return live(day, lambda *arguments: asked_for(student, arguments, f"On {day.name!r}: "))


def in_numbers(served, day):
    return (
        f"attainment {served.attainment:.1%}, cost {served.replica_hours:.0f} replica-hours, which "
        f"is {served.replica_hours / fewest_hours(day):.2f} times the reference, and "
        f"{served.num_changes:,} changes, {served.num_turns:,} of them in the other direction than "
        "the change before"
    )


@pytest.mark.task("13.4", points=1)
def test_noise_does_not_make_it_flap(student):
    served, most = lived(student, SAME_TRAFFIC), 15
    if served.num_changes > most:
        turns = served.num_turns > served.num_changes / 3
        raise Wrong(
            "For three hours the traffic is constant apart from noise, and you change the number "
            f"of replicas {served.num_changes} times. "
            + (
                "[follows_the_noise] Your function follows single values up and down. Go up only "
                "if at least two values need it, and down only if no value of the last ten "
                "minutes needs the current number"
                if turns
                else (
                    "[never_settles] Your function keeps changing the number in one direction: "
                    "compare the number that is needed with ready + starting, and stop when they "
                    "are equal"
                )
            )
            + f" ({in_numbers(served, SAME_TRAFFIC)}).",
            expected=f"{most} changes or fewer",
            got=served.num_changes,
        )
    if served.attainment < SHORT:
        raise Wrong(
            "For three hours the traffic is constant apart from noise: [too_few_for_the_noise] you "
            "order too few replicas. Noise above the mean needs some reserve, and `target` "
            f"includes this reserve ({in_numbers(served, SAME_TRAFFIC)}).",
            expected=f"{SHORT:.0%} or more",
            got=f"{served.attainment:.1%}",
        )


@pytest.mark.task("13.4", points=0.75)
def test_a_crowd_is_served(student):
    served = lived(student, CROWD_COMES)
    if served.attainment < 0.94:
        first = next((c for c in served.calls if c[0] > 1800 and c[4] > 9), (5400,))
        raise Wrong(
            "Within three minutes the traffic doubles: [too_late_for_the_crowd] you are late: "
            f"you order the first replicas {(first[0] - 1800) / 60:.1f} minutes after the "
            "beginning, or too few at a time. A replica needs two more minutes to start "
            f"({in_numbers(served, CROWD_COMES)}).",
            expected="94 % or more",
            got=f"{served.attainment:.1%}",
        )


@pytest.mark.task("13.4", points=0.75)
def test_replicas_stop_when_the_crowd_has_left(student):
    served = lived(student, CROWD_LEAVES)
    if served.replica_hours > 1.4 * fewest_hours(CROWD_LEAVES):
        raise Wrong(
            "[keeps_what_nobody_needs] Within three minutes the traffic falls to a quarter. Two "
            f"hours later you still have {served.calls[-1][1] + served.calls[-1][2]} replicas, but "
            "only 5 are needed. When the traffic of the last ten minutes needs fewer replicas than "
            "you have, reduce to the number that it needs "
            f"({in_numbers(served, CROWD_LEAVES)}).",
            expected=f"{1.4 * fewest_hours(CROWD_LEAVES):.0f} replica-hours or fewer",
            got=f"{served.replica_hours:.0f}",
        )


@pytest.mark.task("13.4", points=1)
def test_two_hidden_days_are_served_for_little_money(student):
    for day in hidden_days():
        served = lived(student, day)
        numbers = f"({in_numbers(served, day)})."
        if served.attainment < SHORT:
            raise Wrong(
                f"A hidden day: [too_few_on_a_day] too many requests wait {numbers}",
                expected=f"{SHORT:.0%} or more",
                got=f"{served.attainment:.1%}",
            )
        if served.replica_hours > MOST_COST * fewest_hours(day):
            raise Wrong(
                "A hidden day: [too_dear_on_a_day] your number of replicas costs too much "
                f"{numbers}",
                expected=f"{MOST_COST * fewest_hours(day):.0f} replica-hours or fewer",
                got=f"{served.replica_hours:.0f}",
            )
        if served.num_changes > MOST_CHANGES:
            raise Wrong(
                "A hidden day: [too_many_changes_on_a_day] you change the number of replicas too "
                f"often {numbers}",
                expected=f"{MOST_CHANGES} changes or fewer",
                got=served.num_changes,
            )


NOW_YOURS = {
    "13.1": now_yours.uncached_manual,
    "13.2": now_yours.routed_crowd,
    "13.3": now_yours.longest_to_split,
    "13.4": now_yours.scaled_day,
}

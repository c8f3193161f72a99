"""What a budget policy is made of: each part alone, worked out by hand. Blocks hold 4 tokens."""

import pytest
from by_hand import ByHand
from hypothesis import given
from hypothesis import strategies as st
from random_schedules import Reckless

import minibatch as mb
from minibatch.schedulers import admission, chunks, orders, victims
from minibatch.schedulers.base import Scheduler


def engine_of(policy, num_blocks=100, block_size=4, **options):
    options = {"num_blocks": num_blocks, "block_size": block_size, **options}
    return mb.Engine(mb.PretendModel(), policy, clock=mb.VirtualClock(0.025), **options)


def asked(num_prompt_tokens=3, max_tokens=4, **options):
    return mb.Request([0] * num_prompt_tokens, max_tokens=max_tokens, **options)


# The two pages --------------------------------------------------------------------------------

STEP_BY_STEP = {
    "decodes first, then who has begun, then a newcomer": (
        lambda: mb.Budget(3, 4),
        {"A": (6, 3), "B": (5, 2), "C": (2, 1)},
        [
            [("A", 4, 0)],
            [("A", 2, 0), ("B", 2, 0)],
            [("A", 1, 0), ("B", 3, 0)],
            [("A", 1, 0), ("B", 1, 0), ("C", 2, 0)],
            [],
        ],
    ),
    "equal progress lets the short one through": (
        lambda: mb.Budget(3, 4, chunks=chunks.equal_progress),
        {"A": (9, 1), "B": (4, 2)},
        [
            [("A", 2, 0), ("B", 2, 0)],
            [("A", 2, 0), ("B", 2, 0)],
            [("B", 1, 0), ("A", 3, 0)],
            [("A", 2, 0)],
        ],
    ),
    "prompts first, whole, and everybody waits": (
        lambda: mb.PrefillFirst(2),
        {"A": (3, 3), "B": (9, 2), "C": (5, 2)},
        [
            [("A", 3, 0), ("B", 9, 0)],
            [("A", 1, 0), ("B", 1, 0)],
            [("C", 5, 0)],
            [("A", 1, 0), ("C", 1, 0)],
        ],
    ),
}


@pytest.mark.parametrize(
    ("make", "requests", "steps"),
    STEP_BY_STEP.values(),
    ids=[name.replace(" ", "-") for name in STEP_BY_STEP],
)
def test_step_by_step(make, requests, steps):
    hand = ByHand(make())
    for name, (prompt, answer) in requests.items():
        hand.add(name, prompt, answer)
    assert hand.steps(len(steps)) == steps


def test_a_budget_below_the_batch_size_is_refused_with_both_numbers():
    with pytest.raises(ValueError, match="max_batch_tokens is 7; with max_batch_size 8"):
        mb.Budget(8, 7)


@given(st.lists(st.integers(1, 40), min_size=1, max_size=6), st.integers(0, 60))
def test_shares_spend_the_budget_and_no_more_than_is_needed(needs, budget):
    for share in (chunks.first_come_first_served, chunks.equal_progress):
        shares = share(needs, budget)
        assert sum(shares) == min(budget, sum(needs))
        assert all(0 <= n <= need for n, need in zip(shares, needs, strict=True))
    unsated = [n for n, need in zip(shares, needs, strict=True) if n < need]
    assert max(unsated, default=0) - min(unsated, default=0) <= len(needs)
    assert max(shares) - min(unsated, default=max(shares)) <= len(needs)


# Who gives way --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("victim", "gone"),
    [
        (victims.newest, "C"),
        (victims.oldest, "A"),
        (victims.least_computed, "B"),
        (victims.most_computed, "C"),
        (victims.lowest_priority, "B"),
    ],
)
def test_a_victim(victim, gone):
    hand = ByHand(mb.Budget(3))
    for name, prompt in (("A", 5), ("B", 2), ("C", 9)):
        hand.add(name, prompt)
    hand.step()
    object.__setattr__(hand.sequences["B"].request, "priority", -1)
    assert victim(list(hand.scheduler.running)).request_id == gone


def test_of_the_same_priority_the_newest_gives_way():
    hand = ByHand(mb.Budget(3))
    for name in "ABC":
        hand.add(name, 2)
    hand.step()
    assert victims.lowest_priority(list(hand.scheduler.running)).request_id == "C"


def test_room_that_a_victim_makes_is_for_those_who_run():
    engine = engine_of(mb.Budget(2, 64, order=orders.ShortestPrompt()), num_blocks=5)
    done = engine.run(
        [
            asked(7, 6, request_id="A"),
            asked(7, 6, request_id="B"),
            asked(2, 2, request_id="C", arrival_time=0.03),
        ]
    )
    (step,) = (step for step in engine.trace.steps if step.preempted)
    assert (step.preempted, step.admitted) == (("B",), ())
    assert done[2].first_scheduled_time == pytest.approx(step.start_time + 0.025)


def test_a_random_victim_is_the_same_again():
    picks = [[victims.Random(3)(["A", "B", "C"]) for _ in range(9)] for _ in range(2)]
    assert picks[0] == picks[1]


def two_that_need_80_of_100_blocks():
    """Prompts of 80 blocks, in chunks: when both have 50, the pool is dry."""
    policy = mb.Budget(
        2,
        16,
        chunks=chunks.equal_progress,
        admission=Reckless(),
        victim=victims.most_computed,
    )
    engine = engine_of(policy)
    for name in "AB":
        engine.add(asked(4 * 80 - 9, 10, request_id=name))
    return engine


def test_without_the_guard_two_preempt_one_another_for_ever(monkeypatch):
    def anyone(self, candidates):
        victim = self.choose_victim(candidates)
        self.preempt(victim)
        return victim

    monkeypatch.setattr(Scheduler, "preempt_one", anyone)
    engine = two_that_need_80_of_100_blocks()
    for _ in range(3_000):
        engine.step()
    assert engine.trace.summary()["output_tokens"] == 0
    assert engine.trace.summary()["num_preemptions"] > 100


def test_with_the_guard_both_are_served():
    engine = two_that_need_80_of_100_blocks()
    while engine.has_work:
        engine.step()
    assert engine.trace.summary()["output_tokens"] == 20
    assert engine.trace.num_steps < 300


def test_what_is_computed_again_is_counted():
    engine = engine_of(mb.Budget(2, 64), num_blocks=5)
    engine.run([asked(7, 6, request_id="A"), asked(7, 6, request_id="B")])
    again = [again for step in engine.trace.steps for again in step.recomputed]
    preempted = [name for step in engine.trace.steps for name in step.preempted]
    assert preempted == ["B"]
    assert again == [("B", 8)]  # both had 8 tokens in 2 blocks each; A took the fifth
    assert engine.trace.summary()["recomputed_tokens"] == 8


# Who may begin --------------------------------------------------------------------------------


def running_at_first(part, num_blocks=20):
    hand = ByHand(mb.Budget(8, 999, admission=part), num_blocks)
    for i in range(8):
        hand.add(f"r{i}", num_prompt_tokens=8, max_tokens=17)  # 2 blocks, 6 at the most
    hand.step()
    return len(hand.running)


def test_what_is_promised_decides_how_many_begin():
    assert running_at_first(admission.ReserveMaximum()) == 3  # 6 blocks each
    assert running_at_first(admission.Optimistic(ratio=0.5)) == 5  # 16 tokens: 4 blocks each
    assert running_at_first(admission.Watermark(share=0.25)) == 7  # 5 stay free
    assert running_at_first(admission.PromptOnly()) == 8
    assert running_at_first(admission.Watermark(share=0.01), num_blocks=16) == 7  # one block is


def test_alone_anybody_may_begin_whatever_should_stay_free():
    engine = engine_of(mb.Budget(2, 64, admission=admission.Watermark(0.9)), num_blocks=10)
    assert len(engine.run([asked(30, 4), asked(30, 4)])) == 2
    assert max(len(step.rows) for step in engine.trace.steps) == 1


def test_after_a_preemption_the_ratio_is_what_those_who_run_have_shown():
    hand = ByHand(mb.Budget(2, 64))
    for name in "AB":
        hand.add(name, num_prompt_tokens=4, max_tokens=20)
    hand.steps(3)  # three tokens each
    part = admission.Optimistic(ratio=0.5, least=0.1, num_steps=4, ahead=2)
    part.learn(hand.scheduler, preempted=False)
    assert part.ratio == pytest.approx(0.4)
    part.learn(hand.scheduler, preempted=True)
    assert part.ratio == pytest.approx((3 + 2 + 3 + 2) / 40)
    part.ahead = 99
    part.learn(hand.scheduler, preempted=True)
    assert part.ratio == 1


def test_a_ratio_falls_while_all_goes_well_and_jumps_when_somebody_gives_way():
    part = admission.Optimistic(ratio=0.7, least=0.1, num_steps=6, ahead=0)
    engine = engine_of(mb.Budget(4, 64, admission=part), num_blocks=9)
    ratios = []
    engine.on_step(lambda step: ratios.append(part.ratio))
    engine.run([asked(4, 16) for _ in range(4)])
    pairs = list(zip(ratios, ratios[1:], strict=False))
    assert any(b < a for a, b in pairs)
    assert any(b > a for a, b in pairs)
    assert min(ratios) >= 0.1
    assert engine.trace.summary()["num_preemptions"] > 0


# Who is next ----------------------------------------------------------------------------------


def first_words(order, *requests, slots=1):
    engine = engine_of(mb.Budget(slots, 64, order=order), prefix_caching=True)
    done = engine.run(requests)
    return "".join(c.request_id for c in sorted(done, key=lambda c: c.first_token_time))


def test_orders():
    few = [
        asked(9, 2, request_id="A", priority=0),
        asked(3, 2, request_id="B", priority=1),
        asked(6, 2, request_id="C", priority=2),
    ]
    assert first_words(orders.FirstCome(), *few) == "ABC"
    assert first_words(orders.Priority(), *few) == "CBA"
    assert first_words(orders.ShortestPrompt(), *few) == "BCA"
    assert first_words(orders.LongestCachedPrefix(), *few) == "ACB"  # C finds a block of A's


def test_a_priority_starves_and_one_that_ages_does_not():
    def last_word_of_low(order):
        urgent = [
            asked(2, 4, request_id=f"u{i}", priority=5, arrival_time=0.1 * i) for i in range(40)
        ]
        engine = engine_of(mb.Budget(1, 64, order=order))
        done = engine.run([*urgent, asked(2, 4, request_id="low", arrival_time=0.01)])
        return done[-1].first_scheduled_time

    assert last_word_of_low(orders.Priority()) == pytest.approx(4.0)
    assert last_word_of_low(orders.Priority(aging=0.1)) < 0.7  # 5 points are 0.5 s


def test_a_client_with_many_requests_does_not_keep_others_waiting():
    many = [asked(2, 4, request_id=f"x{i}", client="x") for i in range(6)]
    one = asked(2, 4, request_id="y", client="y")
    place = first_words(orders.FairShare(), *many, one).index("y")
    assert place == len("x0")  # right after the first of them
    assert first_words(orders.FirstCome(), *many, one).endswith("y")


def test_a_pause_saves_up_no_claim():
    order = orders.FairShare()
    order.computed.update(x=100, z=40)
    hand = ByHand(mb.Budget(1, order=order))
    for client in "xzy":
        hand.add(client)
        object.__setattr__(hand.sequences[client].request, "client", client)
    order.arrived(hand.sequences["y"], hand.scheduler)
    assert order.computed["y"] == 0  # it is among those who are here
    hand.scheduler.waiting.pop()
    order.arrived(hand.sequences["y"], hand.scheduler)
    assert order.computed["y"] == 40


# How long the queue may get -------------------------------------------------------------------


def test_a_full_queue_refuses_at_the_door_with_the_numbers():
    engine = engine_of(mb.Budget(1, 64, limits=mb.QueueLimits(max_waiting=1)))
    engine.add(asked(request_id="A"))
    with pytest.raises(mb.QueueFull, match=r"'B' is refused: 1 requests wait; max_waiting is 1\."):
        engine.add(asked(request_id="B"))
    engine.step()  # A runs now
    engine.add(asked(request_id="B"))
    assert [c.finish_reason for c in engine.trace.completions] == []


def test_tokens_that_wait_are_limited_too():
    engine = engine_of(mb.Budget(1, 64, limits=mb.QueueLimits(max_waiting_tokens=10)))
    engine.add(asked(8, request_id="A"))
    says = r"8 tokens wait, and the request has 3; max_waiting_tokens is 10"
    with pytest.raises(mb.QueueFull, match=says):
        engine.add(asked(3, request_id="B"))
    engine.add(asked(2, request_id="C"))


def test_who_comes_later_to_a_full_queue_ends_as_refused():
    engine = engine_of(mb.Budget(1, 64, limits=mb.QueueLimits(max_waiting=1)))
    done = engine.run([asked(2, 9, arrival_time=0.01 * i, request_id=f"r{i}") for i in range(5)])
    assert [c.finish_reason for c in done] == ["length", "length", *["refused"] * 3]
    assert done[-1].finish_time == pytest.approx(0.05)  # when the step ended in which it came
    summary = engine.trace.summary()
    assert (summary["num_requests"], summary["num_refused"]) == (2, 3)
    assert engine.trace.num_steps == 18


def test_who_has_waited_past_its_deadline_is_given_up_and_nobody_who_runs():
    engine = engine_of(mb.Budget(1, 64))
    done = engine.run([asked(2, 9, deadline=0.1, request_id=name) for name in "AB"])
    assert [c.finish_reason for c in done] == ["length", "deadline"]
    assert (done[1].token_ids, done[1].first_scheduled_time) == ([], None)
    assert engine.trace.summary()["num_deadline"] == 1


def test_a_step_with_nobody_left_answers_none():
    engine = engine_of(mb.Budget(1, 64))
    engine.add(asked(deadline=0.0))
    assert engine.step() is None
    assert not engine.has_work
    with pytest.raises(RuntimeError, match="nothing to do"):
        engine.step()


@pytest.mark.parametrize("number", [-1, 1.5])
def test_a_limit_that_is_none_is_refused(number):
    with pytest.raises((ValueError, TypeError), match=f"max_waiting is {number}"):
        mb.QueueLimits(max_waiting=number)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: admission.Watermark(1.0), r"share is 1\.0; give 0 or more, and less than 1"),
        (lambda: admission.Optimistic(ratio=0.1, least=0.2), r"ratio is 0\.1, least is 0\.2"),
        (lambda: orders.Priority(aging=0.0), r"aging is 0\.0; give seconds above 0"),
    ],
)
def test_a_part_that_cannot_work_is_refused_with_the_numbers(make, says):
    with pytest.raises(ValueError, match=says):
        make()

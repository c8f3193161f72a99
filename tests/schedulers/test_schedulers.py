"""The four policies, without a model: who runs in each step, worked out by hand.

Rows are written (name, tokens, padding tokens). Blocks hold 4 tokens.
"""

import policies
import pytest
from by_hand import ByHand, shape
from hypothesis import given
from hypothesis import strategies as st

import minibatch as mb

every_policy = policies.every_policy(max_batch_size=2, max_batch_tokens=2, max_wait=0.0)


# Every policy ---------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [mb.Static, mb.Dynamic, mb.Continuous])
def test_a_batch_of_less_than_one_is_refused(make):
    with pytest.raises(ValueError, match="max_batch_size is 0; it must be 1 or more"):
        make(max_batch_size=0)


@every_policy
def test_a_scheduler_serves_one_engine_only(make):
    scheduler = make()
    ByHand(scheduler)
    with pytest.raises(RuntimeError, match="already serves an engine; make a new one"):
        ByHand(scheduler)


@every_policy
def test_a_plan_of_nobody_is_empty(make):
    plan = ByHand(make()).plan()
    assert plan.rows == []
    assert plan.wake_at is None


@every_policy
def test_all_finish_in_order_of_arrival_and_give_every_block_back(make):
    hand = ByHand(make())
    for name in "ABCDE":
        hand.add(name, num_prompt_tokens=5, max_tokens=3)
    seen = []
    while not all(sequence.is_finished for sequence in hand.sequences.values()):
        seen += [name for name, _, _ in hand.step() if name not in seen]
    assert seen == list("ABCDE")
    assert hand.pool.num_free == hand.pool.num_blocks
    assert hand.running == hand.waiting == []


@every_policy
def test_a_plan_whose_pass_failed_is_planned_again_the_same_and_takes_no_block_twice(make):
    hand = ByHand(make(), num_blocks=6)
    for name in "ABC":
        hand.add(name, num_prompt_tokens=5, max_tokens=6)
    while not all(sequence.is_finished for sequence in hand.sequences.values()):
        first = shape(hand.plan())
        free = hand.pool.num_free
        hand.check()
        assert shape(hand.plan()) == first  # as if the forward pass had raised
        assert hand.pool.num_free == free
        assert hand.step() == first
    assert hand.pool.num_free == 6


@every_policy
def test_planning_moves_no_token_and_no_counter(make):
    hand = ByHand(make())
    sequence = hand.add("A", num_prompt_tokens=5)
    for _ in range(3):
        hand.plan()
        assert sequence.token_ids == [5] * 5
        assert sequence.num_computed_tokens == 0
        assert sequence.token_times == []


@every_policy
def test_a_waiting_request_can_be_aborted(make):
    hand = ByHand(make())
    for name in "ABCD":
        hand.add(name)
    hand.step()
    assert "D" in hand.waiting
    hand.scheduler.abort(hand.sequences["D"])
    assert "D" not in hand.waiting + hand.running
    hand.check()


@every_policy
def test_a_running_request_can_be_aborted_and_gives_its_blocks_back(make):
    hand = ByHand(make())
    sequence = hand.add("A", num_prompt_tokens=9)
    hand.step()
    assert sequence.block_table
    hand.scheduler.abort(sequence)
    assert hand.running == []
    assert hand.pool.num_free == hand.pool.num_blocks
    hand.check()


@every_policy
def test_a_request_can_be_aborted_between_a_failed_pass_and_the_next_plan(make):
    hand = ByHand(make())
    hand.add("A")
    hand.add("B")
    hand.plan()
    hand.scheduler.abort(hand.sequences["A"])
    hand.check()
    assert [name for name, _, _ in shape(hand.plan())] == ["B"]


@every_policy
def test_being_scheduled_is_timed_once(make):
    hand = ByHand(make())
    sequence = hand.add("A")
    hand.clock.sleep(1.0)
    hand.plan()
    hand.clock.sleep(1.0)
    hand.plan()
    assert sequence.first_scheduled_time == 1.0


# Step by step ---------------------------------------------------------------------------------

STEP_BY_STEP = {  # policy; each request's prompt and answer, in tokens; the rows of each step
    "sequential runs one request to its end before the next": (
        lambda: mb.Sequential(),
        {"A": (3, 2), "B": (5, 3)},
        [
            [("A", 3, 0)],
            [("A", 1, 0)],
            [("B", 5, 0)],
            [("B", 1, 0)],
            [("B", 1, 0)],
        ],
    ),
    "static pads prompts to the longest, and finished slots to the end": (
        lambda: mb.Static(max_batch_size=3),
        {"A": (2, 1), "B": (5, 4), "C": (3, 2)},
        [
            [("A", 2, 3), ("B", 5, 0), ("C", 3, 2)],
            [("A", 0, 1), ("B", 1, 0), ("C", 1, 0)],
            [("A", 0, 1), ("B", 1, 0), ("C", 0, 1)],
            [("A", 0, 1), ("B", 1, 0), ("C", 0, 1)],
        ],
    ),
    "static admits no one until the batch has ended": (
        lambda: mb.Static(max_batch_size=2),
        {"A": (2, 1), "B": (2, 3), "C": (4, 1)},
        [
            [("A", 2, 0), ("B", 2, 0)],
            [("A", 0, 1), ("B", 1, 0)],
            [("A", 0, 1), ("B", 1, 0)],
            [("C", 4, 0)],
        ],
    ),
    "continuous fills a slot in the step after it came free": (
        lambda: mb.Continuous(max_batch_size=2),
        {"A": (2, 1), "B": (3, 4), "C": (4, 2), "D": (5, 1)},
        [
            [("A", 2, 0), ("B", 3, 0)],
            [("B", 1, 0), ("C", 4, 0)],
            [("B", 1, 0), ("C", 1, 0)],
            [("B", 1, 0), ("D", 5, 0)],
            [],
        ],
    ),
    "continuous computes a long prompt in chunks under its token limit": (
        lambda: mb.Continuous(max_batch_size=2, max_batch_tokens=4),
        {"A": (10, 2), "B": (5, 2)},
        [
            [("A", 4, 0)],
            [("A", 4, 0)],
            [("A", 2, 0), ("B", 2, 0)],
            [("A", 1, 0), ("B", 3, 0)],
            [("B", 1, 0)],
            [],
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


# Sequential -----------------------------------------------------------------------------------


def test_sequential_reserves_the_longest_answer_at_once():
    hand = ByHand(mb.Sequential())
    sequence = hand.add("A", num_prompt_tokens=3, max_tokens=11)
    hand.plan()
    assert len(sequence.block_table) == 4  # ceil(13 / 4): the last token is never stored


# Static ---------------------------------------------------------------------------------------


def test_static_starts_with_who_is_there_and_lets_latecomers_wait():
    hand = ByHand(mb.Static(max_batch_size=4))
    hand.add("A", max_tokens=2)
    hand.step()
    hand.add("B", max_tokens=2)
    assert hand.step() == [("A", 1, 0)]
    assert hand.step() == [("B", 3, 0)]


def test_static_holds_every_members_blocks_to_the_end_of_the_batch():
    hand = ByHand(mb.Static(max_batch_size=2), num_blocks=8)
    hand.add("A", num_prompt_tokens=3, max_tokens=1)  # 1 block
    hand.add("B", num_prompt_tokens=6, max_tokens=4)  # 3 blocks
    free = []
    while not hand.sequences["B"].is_finished:
        hand.step()
        free.append(hand.pool.num_free)
    assert free == [4, 4, 4, 8]


def test_static_batches_no_more_than_the_pool_holds():
    hand = ByHand(mb.Static(max_batch_size=4), num_blocks=5)
    for name in "ABC":
        hand.add(name, num_prompt_tokens=3, max_tokens=5)  # 2 blocks each
    assert [name for name, _, _ in hand.step()] == ["A", "B"]
    hand.steps(4)
    assert hand.step() == [("C", 3, 0)]


def test_aborting_the_last_unfinished_member_ends_a_static_batch():
    hand = ByHand(mb.Static(max_batch_size=2))
    hand.add("A", max_tokens=1)
    hand.add("B", max_tokens=9)
    hand.add("C", max_tokens=1)
    hand.step()
    hand.scheduler.abort(hand.sequences["B"])
    hand.sequences["B"].abort_time = 0.0
    hand.check()
    assert hand.running == []
    assert hand.pool.num_free == hand.pool.num_blocks
    assert hand.step() == [("C", 3, 0)]


# Dynamic --------------------------------------------------------------------------------------


def test_dynamic_waits_for_company_until_the_oldest_has_waited_its_window():
    hand = ByHand(mb.Dynamic(max_batch_size=3, max_wait=0.05))
    hand.clock.sleep(1.0)
    hand.add("A")
    plan = hand.plan()
    assert plan.rows == []
    assert plan.wake_at == 1.05
    hand.clock.sleep(0.03)
    hand.add("B")
    assert hand.plan().wake_at == 1.05  # the oldest decides, not the newest
    hand.clock.sleep(0.03)
    assert [name for name, _, _ in shape(hand.plan())] == ["A", "B"]


def test_dynamic_starts_at_once_when_full():
    hand = ByHand(mb.Dynamic(max_batch_size=2, max_wait=60.0))
    hand.add("A")
    hand.add("B")
    assert [name for name, _, _ in shape(hand.plan())] == ["A", "B"]


def test_dynamic_starts_exactly_at_its_deadline():
    hand = ByHand(mb.Dynamic(max_batch_size=2, max_wait=0.5))
    hand.add("A")
    hand.clock.sleep(hand.plan().wake_at)
    assert shape(hand.plan()) == [("A", 3, 0)]


def test_dynamic_opens_no_window_while_a_batch_runs():
    hand = ByHand(mb.Dynamic(max_batch_size=2, max_wait=0.01))
    hand.add("A", max_tokens=3)
    hand.add("B", max_tokens=3)
    hand.step()
    hand.add("C")
    plan = hand.plan()
    assert shape(plan) == [("A", 1, 0), ("B", 1, 0)]
    assert plan.wake_at is None


def test_a_window_that_passed_while_a_batch_ran_is_not_waited_again():
    hand = ByHand(mb.Dynamic(max_batch_size=2, max_wait=0.03))
    hand.add("A", max_tokens=3)
    hand.add("B", max_tokens=3)
    hand.step()
    hand.add("C")  # at 0.025 s; the batch ends at 0.075 s
    hand.steps(2)
    assert shape(hand.plan()) == [("C", 3, 0)]


def test_dynamic_runs_a_batch_as_static_does():
    hands = [ByHand(mb.Static(3)), ByHand(mb.Dynamic(3, max_wait=0.0))]
    for hand in hands:
        for name, prompt, answer in (("A", 2, 1), ("B", 5, 4), ("C", 3, 2), ("D", 1, 2)):
            hand.add(name, prompt, answer)
    assert hands[0].steps(6) == hands[1].steps(6)


@pytest.mark.parametrize("max_wait", [-0.1, float("nan"), float("inf")])
def test_a_window_without_end_is_refused(max_wait):
    with pytest.raises(ValueError, match=f"max_wait is {max_wait}"):
        mb.Dynamic(max_wait=max_wait)


# Continuous -----------------------------------------------------------------------------------


def test_continuous_takes_a_block_only_when_a_token_needs_it():
    hand = ByHand(mb.Continuous(max_batch_size=1))
    sequence = hand.add("A", num_prompt_tokens=3, max_tokens=7)
    blocks = []
    while not sequence.is_finished:
        hand.plan()
        blocks.append(len(sequence.block_table))
        hand.step()
    # tokens in the cache after each step: 3 4 5 6 7 8 9
    assert blocks == [1, 1, 2, 2, 2, 2, 3]


def test_a_prompt_computed_in_chunks_has_all_its_blocks_from_the_start():
    hand = ByHand(mb.Continuous(max_batch_size=1, max_batch_tokens=4))
    sequence = hand.add("A", num_prompt_tokens=10)
    assert hand.step() == [("A", 4, 0)]
    assert len(sequence.block_table) == 3


@given(
    order=st.permutations("ABCD"),
    prompts=st.lists(st.integers(1, 12), min_size=4, max_size=4),
    budget=st.integers(4, 9),
    steps=st.integers(0, 6),
)
def test_decodes_come_first_in_whatever_order_they_run(order, prompts, budget, steps):
    hand = ByHand(mb.Continuous(max_batch_size=4, max_batch_tokens=budget))
    for name, length in zip("ABCD", prompts, strict=True):
        hand.add(name, num_prompt_tokens=length, max_tokens=20)
    hand.steps(steps)
    hand.scheduler.running.sort(key=lambda s: order.index(s.request_id))
    decoding = {s.request_id for s in hand.scheduler.running if s.num_uncomputed_tokens == 1}
    rows = hand.step()
    names = [name for name, *_ in rows]
    assert set(names[: len(decoding)]) == decoding
    assert all(tokens > 0 for _, tokens, _ in rows)
    assert sum(tokens for _, tokens, _ in rows) <= budget


def test_somebody_in_the_midst_of_the_queue_may_be_admitted():
    hand = ByHand(mb.Continuous(max_batch_size=4))
    sequences = {name: hand.add(name) for name in "ABC"}
    admitted = hand.scheduler.admit(0.5, sequences["B"].num_tokens, sequences["B"])
    assert (admitted.request_id, hand.waiting, hand.running) == ("B", ["A", "C"], ["B"])
    assert (admitted.first_scheduled_time, len(admitted.block_table)) == (0.5, 1)


class Cached(mb.Continuous):
    """Finds the first tokens of a prompt computed already, as a prefix cache will."""

    def __init__(self, num_cached, **options):
        super().__init__(**options)
        self.num_cached = num_cached

    def admit(self, now, num_tokens, sequence=None):
        sequence = super().admit(now, num_tokens, sequence)
        sequence.num_computed_tokens = min(self.num_cached, sequence.num_tokens - 1)
        return sequence


@pytest.mark.parametrize("budget", [None, 4])
def test_a_row_is_sized_after_admission_has_looked_for_what_is_computed(budget):
    hand = ByHand(Cached(7, max_batch_size=2, max_batch_tokens=budget))
    hand.add("A", num_prompt_tokens=10)
    assert hand.step() == [("A", 3, 0)]
    assert hand.step() == [("A", 1, 0)]


def test_another_victim_may_be_chosen():
    class Oldest(mb.Continuous):
        def choose_victim(self, candidates):
            return min(candidates, key=self.running.index)

    hand = ByHand(Oldest(max_batch_size=3), num_blocks=3, block_size=2)
    for name in "ABC":
        hand.add(name, num_prompt_tokens=2, max_tokens=2)
    assert [name for name, *_ in hand.step()] == ["A", "B", "C"]
    assert "A" not in [name for name, *_ in hand.step()]
    assert hand.sequences["A"].num_preemptions == 1


def test_two_holders_of_a_block_and_a_row_that_would_write_into_it():
    class Reserving(mb.Continuous):
        """Asks for no blocks once a request runs."""

        def grow(self, sequence, num_tokens):
            if sequence not in self.running:
                super().grow(sequence, num_tokens + 8)

    hand = ByHand(Reserving(max_batch_size=2))
    a, b = hand.add("A", num_prompt_tokens=4), hand.add("B", num_prompt_tokens=6)
    hand.step()  # A has filled a block of 4 tokens, B one and a half
    hand.pool.share([a.block_table[0], b.block_table[0]])
    hand.plan()  # both write behind what others read
    hand.pool.share([b.block_table[1]])
    with pytest.raises(
        ValueError, match=r"'B' would write into block 4, which 2 sequences hold; a sequence"
    ):
        hand.plan()


def test_decodes_never_stall_behind_a_chunked_prompt():
    hand = ByHand(mb.Continuous(max_batch_size=3, max_batch_tokens=3))
    hand.add("A", num_prompt_tokens=1, max_tokens=20)
    hand.add("B", num_prompt_tokens=1, max_tokens=20)
    hand.step()
    hand.add("C", num_prompt_tokens=4, max_tokens=2)
    assert hand.steps(4) == [[("A", 1, 0), ("B", 1, 0), ("C", 1, 0)]] * 4


def test_a_token_limit_below_the_batch_size_is_refused_with_both_numbers():
    with pytest.raises(ValueError, match="max_batch_tokens is 7; with max_batch_size 8"):
        mb.Continuous(max_batch_size=8, max_batch_tokens=7)
    with pytest.raises(ValueError, match="max_batch_tokens is 0"):
        mb.Continuous(max_batch_size=1, max_batch_tokens=0)


def test_continuous_waits_for_room_and_keeps_the_order_of_the_queue():
    hand = ByHand(mb.Continuous(max_batch_size=3), num_blocks=3)
    hand.add("A", num_prompt_tokens=5, max_tokens=2)  # 2 blocks
    hand.add("B", num_prompt_tokens=6, max_tokens=1)  # 2 blocks: must wait
    hand.add("C", num_prompt_tokens=2, max_tokens=1)  # 1 block, but not before B
    assert hand.steps(3) == [[("A", 5, 0)], [("A", 1, 0)], [("B", 6, 0), ("C", 2, 0)]]


def test_continuous_preempts_the_newest_and_admits_no_one_in_that_step():
    hand = ByHand(mb.Continuous(max_batch_size=3), num_blocks=4)
    hand.add("A", num_prompt_tokens=4, max_tokens=6)
    hand.add("B", num_prompt_tokens=4, max_tokens=3)
    hand.add("C", num_prompt_tokens=5, max_tokens=2)  # two blocks: A, B and C fill all four
    hand.add("D", num_prompt_tokens=1, max_tokens=1)
    assert hand.step() == [("A", 4, 0), ("B", 4, 0), ("C", 5, 0)]
    # A and B each need a second block. C gives its two back; D would fit a slot, yet must wait.
    assert hand.step() == [("A", 1, 0), ("B", 1, 0)]
    assert hand.waiting == ["C", "D"]
    c = hand.sequences["C"]
    assert (c.num_computed_tokens, c.block_table, c.num_preemptions) == (0, [], 1)
    assert c.num_output_tokens == 1  # its tokens stay
    # C cannot come back before B has left; then it computes its 5 + 1 tokens anew.
    assert hand.step() == [("A", 1, 0), ("B", 1, 0)]
    assert hand.step() == [("A", 1, 0), ("C", 6, 0)]
    assert c.is_finished
    assert hand.step() == [("A", 1, 0), ("D", 1, 0)]


def test_room_made_by_preemption_is_given_to_no_one_in_that_step():
    hand = ByHand(mb.Continuous(max_batch_size=3), num_blocks=4)
    hand.add("A", num_prompt_tokens=4, max_tokens=9)
    hand.add("B", num_prompt_tokens=9, max_tokens=2)  # three blocks
    hand.step()
    hand.add("C", num_prompt_tokens=1, max_tokens=1)
    assert hand.step() == [("A", 1, 0)]  # needs one block, B gave three
    assert hand.pool.num_free == 2
    assert hand.waiting == ["B", "C"]


def test_the_newest_gives_way_itself_if_it_is_the_one_that_must_grow():
    hand = ByHand(mb.Continuous(max_batch_size=2), num_blocks=3)
    hand.add("A", num_prompt_tokens=5, max_tokens=3)  # two blocks, room for 8
    hand.add("B", num_prompt_tokens=4, max_tokens=4)  # one block, full at once
    assert hand.step() == [("A", 5, 0), ("B", 4, 0)]
    assert hand.step() == [("A", 1, 0)]
    assert hand.waiting == ["B"]


def test_a_preempted_sequence_keeps_its_place_before_those_who_never_ran():
    hand = ByHand(mb.Continuous(max_batch_size=2), num_blocks=3)
    for name in "ABCD":
        hand.add(name, num_prompt_tokens=4, max_tokens=4)
    hand.steps(2)
    assert hand.waiting == ["B", "C", "D"]


def test_a_preempted_request_that_waits_can_be_aborted():
    hand = ByHand(mb.Continuous(max_batch_size=2), num_blocks=3)
    hand.add("A", num_prompt_tokens=4, max_tokens=4)
    hand.add("B", num_prompt_tokens=4, max_tokens=4)
    hand.steps(2)
    assert hand.waiting == ["B"]
    hand.scheduler.abort(hand.sequences["B"])
    hand.check()
    assert hand.waiting == []


def test_a_request_alone_may_fill_the_whole_pool():
    hand = ByHand(mb.Continuous(max_batch_size=2), num_blocks=3)
    for name in "AB":
        hand.add(name, num_prompt_tokens=8, max_tokens=4)  # 12 tokens: all three blocks
    rows = [hand.step() for _ in range(8)]
    assert rows == [[("A", 8, 0)], *[[("A", 1, 0)]] * 3, [("B", 8, 0)], *[[("B", 1, 0)]] * 3]


@given(
    sizes=st.lists(st.tuples(st.integers(1, 20), st.integers(1, 10)), min_size=1, max_size=12),
    max_batch_size=st.integers(1, 5),
    extra_tokens=st.one_of(st.none(), st.integers(0, 8)),
    spare_blocks=st.integers(0, 6),
    block_size=st.sampled_from([1, 2, 3, 7, 32]),
)
def test_continuous_serves_everyone_within_its_limits(
    sizes, max_batch_size, extra_tokens, spare_blocks, block_size
):
    limit = None if extra_tokens is None else max_batch_size + extra_tokens
    needed = max(-(-(prompt + answer) // block_size) for prompt, answer in sizes)
    hand = ByHand(mb.Continuous(max_batch_size, limit), needed + spare_blocks, block_size)
    for i, (prompt, answer) in enumerate(sizes):
        hand.add(str(i), prompt, answer)
    for _ in range(5000):
        if all(sequence.is_finished for sequence in hand.sequences.values()):
            break
        rows = hand.step()
        assert 1 <= len(rows) <= max_batch_size
        assert all(n >= 1 and padding == 0 for _, n, padding in rows)
        assert limit is None or sum(n for _, n, _ in rows) <= limit
    for sequence, (_, answer) in zip(hand.sequences.values(), sizes, strict=True):
        assert sequence.num_output_tokens == answer
    assert hand.pool.num_free == hand.pool.num_blocks


@given(
    sizes=st.lists(st.tuples(st.integers(1, 20), st.integers(1, 10)), min_size=1, max_size=12),
    max_batch_size=st.integers(1, 5),
)
def test_every_static_row_of_a_step_is_as_long_as_the_others(sizes, max_batch_size):
    hand = ByHand(mb.Static(max_batch_size), num_blocks=200)
    for i, (prompt, answer) in enumerate(sizes):
        hand.add(str(i), prompt, answer)
    num_steps = 0
    while hand.running or hand.waiting:
        rows = hand.step()
        num_steps += 1
        assert len({n + padding for _, n, padding in rows}) == 1
    batches = [sizes[i : i + max_batch_size] for i in range(0, len(sizes), max_batch_size)]
    assert num_steps == sum(max(answer for _, answer in batch) for batch in batches)

"""A cost model: a few numbers in place of a machine, found from steps that were timed."""

import pytest
from by_hand import make_sequence
from hypothesis import given
from hypothesis import strategies as st

import minibatch as mb
from minibatch.simulator.cost import CostModel

KNOWN = CostModel(0.005, 0.0002, 0.00018, 4e-10, 6144, "made up", 1e-7)


def prefill(num_tokens, num_padding_tokens=0):
    return mb.Row(make_sequence(num_prompt_tokens=num_tokens), num_tokens, num_padding_tokens)


def decode(context, num_padding_tokens=0):
    sequence = make_sequence(num_prompt_tokens=context)
    sequence.token_ids.append(7)
    sequence.num_computed_tokens = context
    return mb.Row(sequence, 1 - num_padding_tokens, num_padding_tokens)


PLANS = [
    mb.StepPlan(rows)
    for rows in (
        [decode(10)],
        [decode(1000)],
        [decode(10)] * 8,
        [decode(500)] * 8,
        [prefill(20)],
        [prefill(600)],
        [prefill(300), decode(700)],
        [prefill(1300)],
    )
]


def test_a_step_costs_what_is_in_it():
    assert KNOWN(mb.StepPlan([decode(99)])) == pytest.approx(0.0052 + 100 * 6144 * 4e-10)
    both = KNOWN(mb.StepPlan([decode(99), prefill(50)]))
    pairs = 50 * 51 // 2
    assert both == pytest.approx(0.0054 + 50 * 0.00018 + 150 * 6144 * 4e-10 + pairs * 1e-7)


def test_a_prompt_in_two_chunks_attends_to_as_much_and_reads_the_first_one_again():
    whole, first, second = prefill(100), prefill(100), prefill(100)
    first.num_tokens = 60
    second.sequence.num_computed_tokens = 60
    chunks = [first, mb.Row(second.sequence, 40)]
    apart = sum(KNOWN(mb.StepPlan([row])) for row in chunks)
    assert apart - KNOWN(mb.StepPlan([whole])) == pytest.approx(0.0052 + 60 * 6144 * 4e-10)


def test_a_prompt_alone_costs_what_its_step_does():
    assert KNOWN.prompt(300) == KNOWN(mb.StepPlan([prefill(300)]))


def test_padding_costs_what_it_computes():
    padded = KNOWN(mb.StepPlan([prefill(50, num_padding_tokens=10)]))
    more = 10 * (0.00018 + 50 * 1e-7)
    assert padded - KNOWN(mb.StepPlan([prefill(50)])) == pytest.approx(more)
    finished = KNOWN(mb.StepPlan([decode(100, num_padding_tokens=1)]))
    assert finished == pytest.approx(0.0052 + 100 * 6144 * 4e-10)


def test_costs_are_found_from_what_steps_took():
    found = CostModel.fit(PLANS, [KNOWN(plan) for plan in PLANS], 6144, "made up")
    for name in ("step", "row", "prompt_token", "kv_byte", "pair"):
        name = f"seconds_per_{name}"
        assert getattr(found, name) == pytest.approx(getattr(KNOWN, name), rel=1e-6)


@given(st.lists(st.floats(1e-4, 1), min_size=len(PLANS), max_size=len(PLANS)))
def test_nothing_costs_less_than_nothing_whatever_was_measured(seconds):
    found = CostModel.fit(PLANS, seconds, 6144, "noise")
    assert min(found.seconds_per_step, found.seconds_per_row) >= 0
    assert min(found.seconds_per_prompt_token, found.seconds_per_kv_byte) >= 0


def test_a_clock_with_costs_makes_a_long_prompt_take_long():
    def duration(num_tokens):
        clock = mb.VirtualClock(step_time=KNOWN)
        engine = mb.Engine(mb.PretendModel(), mb.Continuous(1), num_blocks=100, clock=clock)
        engine.run([mb.Request([0] * num_tokens, max_tokens=1)])
        return engine.trace.summary()["duration_s"]

    alone = 1299 * (0.00018 + 6144 * 4e-10)
    assert duration(1300) - duration(1) == pytest.approx(alone + (1300 * 1301 // 2 - 1) * 1e-7)

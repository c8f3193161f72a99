"""Anyscale's benchmark, with its settings: the 23× and what it is made of."""

from dataclasses import replace
from math import prod

import numpy as np
import pytest

import minibatch as mb
from minibatch.simulator import anyscale
from minibatch.simulator.anyscale import FASTER_TRANSFORMER, NAIVE, VLLM


@pytest.mark.parametrize(("cap", "mean"), [(32, 15.6), (128, 53.5), (512, 118.4), (1536, 128)])
def test_an_answer_above_the_cap_is_drawn_again_and_not_clipped(cap, mean):
    """The mean of a truncated exponential: 128 − cap / (e^(cap / 128) − 1)."""
    lengths = np.concatenate([anyscale.requests(cap, seed).output for seed in range(20)])
    assert lengths.mean() == pytest.approx(mean, rel=0.02)
    assert lengths.min() == 1
    assert lengths.max() <= cap
    assert (lengths == cap).mean() < 0.03


def test_the_naive_server_runs_every_answer_to_the_longest_of_all():
    """One batch stands for all 250: the same time as all of them simulated."""
    traffic = anyscale.requests(1536, 0)
    padded = replace(traffic, output=np.full(1000, traffic.output.max()))
    all_of_them = mb.simulate(mb.Static(4), padded, anyscale.MACHINE)
    assert anyscale.seconds(NAIVE) == pytest.approx(all_of_them.makespan_s)


def test_fastertransformer_runs_them_to_the_longest_of_their_batch():
    traffic = anyscale.requests(1536, 0)
    run = mb.simulate(mb.Static(4), traffic, anyscale.MACHINE)
    assert anyscale.seconds(FASTER_TRANSFORMER) == run.makespan_s
    assert run.num_steps == traffic.output.reshape(-1, 4).max(axis=1).sum()


def test_the_factors_of_every_order_have_the_same_product_and_other_sizes():
    orders = anyscale.orders()
    assert len(orders) == 6
    for factors in orders.values():
        assert prod(factors.values()) == pytest.approx(anyscale.speedup(VLLM))
    sizes = {s: [factors[s] for factors in orders.values()] for s in anyscale.SWITCHES}
    assert min(sizes["own_length"]) == pytest.approx(4.0, abs=0.1)
    assert max(sizes["own_length"]) == pytest.approx(10.2, abs=0.2)
    assert min(sizes["continuous"]) == pytest.approx(1.0, abs=0.01)
    assert max(sizes["continuous"]) == pytest.approx(2.8, abs=0.1)
    assert min(sizes["paged"]) == pytest.approx(1.8, abs=0.1)
    assert max(sizes["paged"]) == pytest.approx(2.9, abs=0.1)


def test_the_speedup_hangs_on_the_longest_of_a_thousand_answers():
    longest = [anyscale.requests(1536, seed).output.max() for seed in range(5)]
    speedups = [anyscale.speedup(VLLM, seed=seed) for seed in range(5)]
    assert np.corrcoef(longest, speedups)[0, 1] > 0.95
    assert min(speedups) == pytest.approx(15.9, abs=0.2)
    assert max(speedups) == pytest.approx(23.8, abs=0.2)


def test_tokens_a_second_count_the_prompts_too():
    """Of 643 tokens a request, 512 are prompt."""
    assert anyscale.tokens_per_second(NAIVE) == pytest.approx(98, abs=1)
    answers = anyscale.requests(1536, 0).output.sum() / anyscale.seconds(NAIVE)
    assert answers == pytest.approx(20, abs=1)


def test_an_equal_efficiency_cancels_out_of_the_ratio():
    slow = anyscale.speedup(VLLM, machine=anyscale.MACHINE.at(0.6))
    assert slow == pytest.approx(anyscale.speedup(VLLM))


def test_tgi_reserves_lengths_that_it_is_told_and_taking_blocks_as_needed_is_close():
    """The same, small, by the engine's policy that reserves the longest answer."""
    traffic = anyscale.requests(1536, 0)
    first = mb.Traffic(
        *(column[:40] for column in (traffic.arrival, traffic.prompt, traffic.output))
    )
    taken, reserved = (
        mb.simulate(policy, first, anyscale.MACHINE, num_blocks=8100 // 16)
        for policy in (
            mb.Continuous(256),
            mb.Budget(256, 8192, admission=mb.schedulers.admission.ReserveMaximum()),
        )
    )
    assert taken.makespan_s == pytest.approx(reserved.makespan_s, rel=0.1)

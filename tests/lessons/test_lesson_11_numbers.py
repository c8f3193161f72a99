"""Lesson 11 says that one policy gives both a higher throughput and a shorter tail."""

import numpy as np

import minibatch as mb
from minibatch import presets, traffic


def test_continuous_batching_serves_more_within_a_limit_on_the_p99():
    h100 = presets.Preset(presets.LLAMA_3_8B, presets.H100_80)
    real = traffic.AZURE_CONVERSATION.scaled(1 / 8)
    full = mb.simulate(mb.Continuous(8), traffic.all_at_once(1_200, real), h100)
    crowd = traffic.poisson(0.8 * 1_200 / full.makespan_s, 1_200, real, seed=0)
    static, continuous = (mb.simulate(p(8), crowd, h100) for p in (mb.Static, mb.Continuous))
    assert continuous.makespan_s < static.makespan_s
    assert np.quantile(continuous.ttft, 0.99) < np.quantile(static.ttft, 0.99) / 5

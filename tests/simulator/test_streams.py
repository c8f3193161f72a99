"""Many streams at once give what the engine gives step by step."""

from statistics import fmean

import pytest

import minibatch as mb


class Newest(mb.Dynamic):
    """Its window begins anew with each arrival, but ends with the oldest's."""

    def deadline(self):
        newest = self.waiting[-1].arrival_time + 0.25
        return min(newest, super().deadline())


POLICIES = {
    "Static": lambda: mb.Static(8),
    "Dynamic": lambda: mb.Dynamic(8, max_wait=1.0),
    "another rule": lambda: Newest(4, max_wait=2.0),
}


@pytest.mark.parametrize("make", POLICIES.values(), ids=POLICIES)
@pytest.mark.parametrize("streams", [mb.streams.poisson, mb.streams.bursts])
def test_a_batch_in_one_tick_departs_as_if_every_step_were_taken(streams, make):
    (stream,) = streams(0.8, count=1, n=30)
    (outcome,) = mb.streams.outcomes(make, [stream], warm_up=10)

    engine = mb.Engine(mb.PretendModel(), make(), clock=mb.VirtualClock(mb.streams.STEP_TIME))
    done = engine.run(stream)
    assert outcome.ttft_s == pytest.approx(fmean(c.ttft for c in done[10:]))
    assert outcome.ttft_p99_s == pytest.approx(max(c.ttft for c in done[10:]))  # of 20
    busy = len(engine.trace.steps) * mb.streams.STEP_TIME
    assert outcome.machine_s == pytest.approx(busy / 30)


def test_streams_have_the_load_that_was_asked_for():
    for streams in (mb.streams.poisson(0.5, count=20), mb.streams.bursts(0.5, count=20)):
        times = [stream[-1].arrival_time for stream in streams]
        assert 120 / fmean(times) == pytest.approx(0.5 * mb.streams.CAPACITY, rel=0.1)


def test_the_capacity_is_what_full_batches_of_the_eight_agents_serve():
    engine = mb.Engine(mb.PretendModel(), mb.Static(8), clock=mb.VirtualClock(0.025))
    engine.run(mb.workload.agents(mb.PretendModel(), n=16, prompt_scale=0.01))
    assert 16 / engine.trace.summary()["duration_s"] == pytest.approx(mb.streams.CAPACITY)


def test_a_step_that_takes_longer_with_more_rows_delays_first_tokens():
    streams = mb.streams.bursts(0.3, count=1, within=0.0, n=12)
    (outcome,) = mb.streams.outcomes(
        lambda: mb.Static(8), streams, warm_up=0, step_time=lambda rows: rows / 1000
    )
    assert outcome.ttft_s == pytest.approx(0.006)

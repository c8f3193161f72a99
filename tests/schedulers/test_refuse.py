"""A policy refuses a request that waits: the engine ends it, and its user hears of it."""

import pytest

import minibatch as mb


class RefusesLong(mb.Continuous):
    def plan(self, now):
        for sequence in [s for s in self.waiting if s.num_prompt_tokens > 10]:
            self.refuse(sequence)
        return super().plan(now)


def engine(policy, **options):
    return mb.Engine(mb.PretendModel(), policy, clock=mb.VirtualClock(1.0), **options)


def request(name, prompt, arrival=0.0):
    return mb.Request([0] * prompt, max_tokens=3, request_id=name, arrival_time=arrival)


@pytest.mark.parametrize("overlap", [False, True])
def test_a_refused_request_ends_and_the_others_are_served(overlap):
    served = engine(RefusesLong(2), overlap=overlap)
    completions = served.run([request("A", 4), request("B", 40), request("C", 4, 1.5)])
    assert [c.finish_reason for c in completions] == ["length", "refused", "length"]
    assert completions[1].finish_time == 0.0
    assert completions[1].token_ids == []
    assert not served.has_work
    served.check_invariants()


@pytest.mark.parametrize("overlap", [False, True])
def test_a_run_in_which_all_are_refused_ends(overlap):
    served = engine(RefusesLong(2), overlap=overlap)
    completions = served.run([request("A", 40), request("B", 40, 5.0)])
    assert [(c.finish_reason, c.finish_time) for c in completions] == [
        ("refused", 0.0),
        ("refused", 5.0),
    ]


def test_only_a_request_that_waits_and_was_never_admitted_can_be_refused():
    policy = mb.Continuous(2)
    served = engine(policy)
    served.add(request("A", 4))
    served.step()
    sequence = served.sequence("A")
    with pytest.raises(ValueError, match="cannot be refused"):
        policy.refuse(sequence)
    policy.preempt(sequence)
    with pytest.raises(ValueError, match="a preempted request was admitted before"):
        policy.refuse(sequence)


def test_a_plan_that_fails_after_a_refusal_loses_nothing():
    class Fails(RefusesLong):
        fails = True

        def plan(self, now):
            plan = super().plan(now)
            if self.fails:
                self.fails = False
                raise OSError("once")
            return plan

    served = engine(Fails(2))
    served.add(request("A", 4))
    served.add(request("B", 40))
    with pytest.raises(OSError, match="once"):
        served.step()
    while served.has_work:
        served.step()
    reasons = {c.request_id: c.finish_reason for c in served.trace.completions}
    assert reasons == {"A": "length", "B": "refused"}
    served.check_invariants()

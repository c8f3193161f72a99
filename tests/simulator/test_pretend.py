"""The pretend model stands in for a real one wherever only the policy is in question."""

import pytest

import minibatch as mb


def test_a_pretend_model_takes_the_steps_that_a_real_one_takes(tiny_model):
    def steps(model, policy):
        lengths = (3, 9, 1, 5, 7)
        requests = [
            mb.Request([0] * n, max_tokens=n, ignore_eos=True, request_id=str(n)) for n in lengths
        ]
        engine = mb.Engine(model, policy, clock=mb.VirtualClock())
        engine.run(requests)
        engine.check_invariants()
        return [
            [(row.request_id, row.slot, row.kind, row.num_tokens) for row in step.rows]
            for step in engine.trace.steps
        ]

    for policy in (mb.Static, mb.Continuous):
        assert steps(mb.PretendModel(), policy(2)) == steps(tiny_model, policy(2))


def test_a_pretend_model_reads_no_text():
    engine = mb.Engine(mb.PretendModel(), mb.Continuous(2))
    with pytest.raises(ValueError, match="give prompts as lists of token ids"):
        engine.run([mb.Request("hello")])

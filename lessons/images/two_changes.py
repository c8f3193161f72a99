"""The picture in the fold of lesson 02 that has the answer, drawn by draw.py: what two changes
of the methods of `Static` do."""

from matplotlib.figure import Figure

import minibatch as mb


class LeaveAtOnce(mb.Static):
    """The first change: a finished request leaves at once."""

    def retire(self, finished: list[mb.Sequence]) -> None:
        for sequence in finished:
            self.release(sequence)


class JoinToo(LeaveAtOnce):
    """Both changes: a waiting request also joins as soon as a slot is free."""

    def plan(self, now: float) -> mb.StepPlan:
        self.form_batch(now)
        return mb.StepPlan(self.padded_rows())


def two_changes() -> Figure:
    """Twelve agents on eight slots under both policies, as the lesson draws them."""
    traces = {}
    policies = {"the first change": LeaveAtOnce, "both changes": JoinToo}
    for name, policy in policies.items():
        engine = mb.Engine(mb.PretendModel(), policy(8), clock=mb.VirtualClock(step_time=0.025))
        engine.run(mb.workload.agents(mb.PretendModel(), n=12, prompt_scale=0.1))
        traces[name] = engine.trace
    return mb.plots.timeline(traces, highlight=("A", "A2"))

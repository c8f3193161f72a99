"""Every prompt that can be admitted is computed at once, whole; all decodes wait for it.

For comparison: it shows the hitch that a token budget avoids.
"""

from ..core.plan import Row, StepPlan
from .continuous import Continuous


class PrefillFirst(Continuous):
    """A step is either prompts or decodes, and prompts go first. (vLLM until chunked prefill, 2024;
    Orca mixes both in a step, but with whole prompts)"""

    def __init__(self, max_batch_size: int = 8) -> None:
        super().__init__(max_batch_size)  # and no budget: prompts are computed whole

    def plan(self, now: float) -> StepPlan:
        while self.can_admit():
            self.admit(now, self.waiting[0].num_tokens)
        prompts = [s for s in self.running if s.num_uncomputed_tokens > 1]
        if prompts:
            return StepPlan([Row(s, s.num_uncomputed_tokens) for s in prompts])
        return super().plan(now)  # no other request can be admitted

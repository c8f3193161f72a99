"""Takes blocks for the prompt, and more as it goes, until there are none.

caught by: test_a_request_that_does_not_fit_into_the_pool_waits_and_is_not_overtaken
code: pool_runs_dry
"""

import minibatch as mb


class MyContinuous(MyContinuous):  # noqa: F821
    def plan(self, now):
        for sequence in self.running:
            self.grow(sequence, sequence.num_uncomputed_tokens)
        while (
            self.waiting
            and len(self.running) < self.max_batch_size
            and self.can_grow(self.waiting[0], self.waiting[0].num_uncomputed_tokens)
        ):
            self.admit(now, self.waiting[0].num_uncomputed_tokens)
        return mb.StepPlan([mb.Row(s, s.num_uncomputed_tokens) for s in self.running])

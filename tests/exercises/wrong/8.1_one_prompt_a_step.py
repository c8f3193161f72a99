"""When a prompt is done, what is left of the step lies idle.

caught by: test_prompts_that_fit_are_computed_whole_if_a_slot_is_free
code: whole_prompts_do_not_join
"""

import minibatch as mb


class MyBudget(MyBudget):  # noqa: F821
    def plan(self, now):
        rows = [mb.Row(s, 1) for s in self.running if s.num_uncomputed_tokens == 1]
        left = self.max_batch_tokens - len(rows)
        begun = [s for s in self.running if s.num_uncomputed_tokens > 1]
        if begun and left > 0:
            num_tokens = min(begun[0].num_uncomputed_tokens, left)
            return mb.StepPlan([*rows, mb.Row(begun[0], num_tokens)])
        if left > 0 and self.waiting and len(self.running) < self.max_batch_size:
            longest = self.waiting[0].max_num_tokens
            if not self.can_grow(self.waiting[0], longest):
                return mb.StepPlan(rows)
            sequence = self.admit(now, longest)
            num_tokens = min(sequence.num_uncomputed_tokens, left)
            rows.append(mb.Row(sequence, num_tokens))
            left -= num_tokens
        return mb.StepPlan(rows)

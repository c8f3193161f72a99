"""Divides what is left among all prompts that have begun.

caught by: test_first_come_is_first_served
code: prompt_out_of_order
"""

import minibatch as mb


class MyBudget(MyBudget):  # noqa: F821
    def plan(self, now):
        rows = [mb.Row(s, 1) for s in self.running if s.num_uncomputed_tokens == 1]
        left = self.max_batch_tokens - len(rows)
        prompts = [s for s in self.running if s.num_uncomputed_tokens > 1]
        while len(prompts) < left and self.waiting and len(self.running) < self.max_batch_size:
            longest = self.waiting[0].max_num_tokens
            if not self.can_grow(self.waiting[0], longest):
                break
            prompts.append(self.admit(now, longest))
        prompts.sort(key=lambda s: s.num_uncomputed_tokens)
        for place, sequence in enumerate(prompts):
            num_tokens = min(sequence.num_uncomputed_tokens, left // (len(prompts) - place))
            left -= num_tokens
            if num_tokens:
                rows.append(mb.Row(sequence, num_tokens))
        return mb.StepPlan(rows)

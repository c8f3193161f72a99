"""Notes what it has planned, and plans the rest the next time.

caught by: test_after_a_failed_forward_pass_the_plan_is_the_same
code: plans_differ_when_asked_twice
"""

import minibatch as mb


class MyBudget(MyBudget):  # noqa: F821
    def planned(self, sequence):
        self.upto = getattr(self, "upto", {})
        return self.upto.get(sequence.request_id, 0)

    def plan(self, now):
        rows = [mb.Row(s, 1) for s in self.running if s.num_output_tokens]
        left = self.max_batch_tokens - len(rows)
        begun = [s for s in self.running if self.planned(s) < s.num_prompt_tokens]
        while left > 0:
            if begun:
                sequence = begun.pop(0)
            elif self.waiting and len(self.running) < self.max_batch_size:
                longest = self.waiting[0].max_num_tokens
                if not self.can_grow(self.waiting[0], longest):
                    break
                sequence = self.admit(now, longest)
            else:
                break
            num_tokens = min(sequence.num_prompt_tokens - self.planned(sequence), left)
            self.upto[sequence.request_id] = self.planned(sequence) + num_tokens
            rows.append(mb.Row(sequence, num_tokens))
            left -= num_tokens
        return mb.StepPlan(rows)

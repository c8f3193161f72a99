"""Makes a row when somebody joins, and uses it for good.

caught by: test_several_may_join_in_the_same_step
code: row_of_an_earlier_step
"""

import minibatch as mb


class MyContinuous(MyContinuous):  # noqa: F821
    def plan(self, now):
        self.kept = getattr(self, "kept", {})
        rows = [
            self.kept.get(s.request_id) or mb.Row(s, s.num_uncomputed_tokens) for s in self.running
        ]
        while self.waiting and len(self.running) < self.max_batch_size:
            n = self.waiting[0].max_num_tokens
            if not self.can_grow(self.waiting[0], n):
                break
            s = self.admit(now, n)
            self.kept[s.request_id] = mb.Row(s, s.num_uncomputed_tokens)
            rows.append(self.kept[s.request_id])
        return mb.StepPlan(rows)

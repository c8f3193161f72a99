"""Takes blocks on demand and preempts the newest (the shipped Continuous).

caught by: test_who_does_not_fit_into_the_pool_waits_and_is_not_overtaken
says: for its longest possible answer
"""

import minibatch as mb


class MyContinuous(mb.Scheduler):
    update = MyContinuous.update  # noqa: F821 (the solved file's)

    def plan(self, now):
        rows = []
        for s in list(self.running):
            if s not in self.running:
                continue
            while not self.can_grow(s, s.num_uncomputed_tokens):
                victim = self.running[-1]
                self.preempt(victim)
                rows = [row for row in rows if row.sequence is not victim]
                if victim is s:
                    break
            else:
                self.grow(s, s.num_uncomputed_tokens)
                rows.append(mb.Row(s, s.num_uncomputed_tokens))
        while self.waiting and len(self.running) < self.max_batch_size:
            s = self.waiting[0]
            if not self.can_grow(s, s.num_uncomputed_tokens):
                break
            self.admit(now, s.num_tokens)
            rows.append(mb.Row(s, s.num_uncomputed_tokens))
        return mb.StepPlan(rows)

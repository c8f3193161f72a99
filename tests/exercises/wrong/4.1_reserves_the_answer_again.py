"""Takes blocks for what is uncomputed and max_tokens more: after a failed pass the answer so far is
in both.

caught by: test_a_sequence_that_joins_computes_what_is_not_computed_yet
code: reserves_the_answer_again
"""

import minibatch as mb


class MyContinuous(MyContinuous):  # noqa: F821
    def plan(self, now):
        rows = [mb.Row(s, s.num_uncomputed_tokens) for s in self.running]
        while self.waiting and len(self.running) < self.max_batch_size:
            head = self.waiting[0]
            longest = head.num_uncomputed_tokens + head.request.max_tokens - 1
            if not self.can_grow(head, longest):
                break
            sequence = self.admit(now, longest)
            rows.append(mb.Row(sequence, sequence.num_uncomputed_tokens))
        return mb.StepPlan(rows)

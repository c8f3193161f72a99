"""Gives the budget to prompts, and to decodes what is left of it.

caught by: test_no_decode_ever_waits_for_a_chunk
code: chunk_stalls_a_decode
"""

import minibatch as mb


class MyBudget(MyBudget):  # noqa: F821
    def plan(self, now):
        rows, left = [], self.max_batch_tokens
        for sequence in self.running:
            if sequence.num_uncomputed_tokens > 1 and left > 0:
                num_tokens = min(sequence.num_uncomputed_tokens, left)
                rows.append(mb.Row(sequence, num_tokens))
                left -= num_tokens
        while left > 0 and self.waiting and len(self.running) < self.max_batch_size:
            longest = self.waiting[0].max_num_tokens
            if not self.can_grow(self.waiting[0], longest):
                break
            sequence = self.admit(now, longest)
            num_tokens = min(sequence.num_uncomputed_tokens, left)
            rows.append(mb.Row(sequence, num_tokens))
            left -= num_tokens
        for sequence in self.running:
            if sequence.num_uncomputed_tokens == 1 and sequence.num_output_tokens and left > 0:
                rows.append(mb.Row(sequence, 1))
                left -= 1
        planned = [row.sequence for row in rows]
        for sequence in self.running:
            if sequence.num_uncomputed_tokens == 1 and sequence not in planned and left > 0:
                rows.append(mb.Row(sequence, 1))
                left -= 1
        return mb.StepPlan(rows)

"""Takes blocks as they are needed, and sends the newest back to the queue when there are none."""

import minibatch as mb


class MyContinuous(MyContinuous):  # noqa: F821
    def plan(self, now):
        planned = []
        for sequence in list(self.running):
            while sequence in self.running and not self.can_grow(
                sequence, sequence.num_uncomputed_tokens
            ):
                newest = self.running[-1]
                self.release(newest)
                newest.num_computed_tokens = 0
                self.waiting.appendleft(newest)
            if sequence in self.running:
                self.grow(sequence, sequence.num_uncomputed_tokens)
                planned.append(sequence)
        planned = [s for s in planned if s in self.running]
        while self.waiting and len(self.running) < self.max_batch_size:
            head = self.waiting[0]
            if not self.can_grow(head, head.num_uncomputed_tokens):
                break
            planned.append(self.admit(now, head.num_uncomputed_tokens))
        return mb.StepPlan([mb.Row(s, s.num_uncomputed_tokens) for s in planned])

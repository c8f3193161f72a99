"""Takes blocks as they are needed; when there are none the newest goes back to the queue."""

import minibatch as mb


class MyBudget(MyBudget):  # noqa: F821
    def plan(self, now):
        shares, left = {}, self.max_batch_tokens
        num_waiting = len(self.waiting)
        for sequence in sorted(self.running, key=lambda s: s.num_uncomputed_tokens > 1):
            num_tokens = min(sequence.num_uncomputed_tokens, left)
            if (
                sequence in self.running
                and num_tokens
                and self.make_room(sequence, num_tokens, shares)
            ):
                self.grow(sequence, num_tokens)
                shares[sequence] = num_tokens
                left = self.max_batch_tokens - sum(shares.values())
        while left and self.waiting and num_waiting >= len(self.waiting):
            head = self.waiting[0]
            if len(self.running) == self.max_batch_size or not self.can_grow(head, head.num_tokens):
                break
            self.admit(now, head.num_tokens)
            shares[head] = min(head.num_uncomputed_tokens, left)
            left -= shares[head]
        return mb.StepPlan([mb.Row(s, n) for s, n in shares.items()])

    def make_room(self, sequence, num_tokens, shares):
        while sequence in self.running and not self.can_grow(sequence, num_tokens):
            newest = self.running[-1]
            self.preempt(newest)
            shares.pop(newest, None)
        return sequence in self.running

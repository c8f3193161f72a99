"""An honest policy for the tests: little work first, few steps for documents, refusals at once."""

import minibatch as mb
from minibatch.schedulers import orders


class LittleFirst(orders.Order):
    def rank(self, sequence, scheduler, now):
        is_late = not sequence.num_output_tokens and now > sequence.arrival_time + 1.0
        return is_late, sequence.num_uncomputed_tokens


class Honest(mb.Budget):
    def plan(self, now):
        for sequence in list(self.waiting):
            if sequence.first_scheduled_time is None and self.too_late(sequence, now):
                self.refuse(sequence)
        return super().plan(now)

    def too_late(self, sequence, now):
        if now > sequence.arrival_time + 0.25 or len(self.running) < self.max_batch_size:
            return False
        mine = self.order.rank(sequence, self, now)
        ahead = [s for s in self.waiting if self.order.rank(s, self, now) < mine]
        tokens = sum(s.num_uncomputed_tokens + 200 for s in ahead) + sequence.num_uncomputed_tokens
        return tokens / 2_500 > 0.9


def make_policy(max_batch_size, max_batch_tokens):
    return Honest(max_batch_size, max_batch_tokens, order=LittleFirst())

"""0.25 for each request, and no work."""

import minibatch as mb


class Refuse(mb.Continuous):
    def plan(self, now):
        for sequence in list(self.waiting):
            self.refuse(sequence)
        return super().plan(now)


def make_policy(max_batch_size, max_batch_tokens):
    return Refuse(max_batch_size, max_batch_tokens)

"""Plans for as long as it is allowed to, and longer."""

import minibatch as mb


class Thinker(mb.Continuous):
    def plan(self, now):
        while True:
            pass


def make_policy(max_batch_size, max_batch_tokens):
    return Thinker(max_batch_size, max_batch_tokens)

"""A request that is late already is worth nothing, so it waits for all others."""

import minibatch as mb
from minibatch.schedulers import orders


class StarveTheLate(orders.Order):
    def rank(self, sequence, scheduler, now):
        return now - sequence.arrival_time > 1.0  # True comes after False


def make_policy(max_batch_size, max_batch_tokens):
    return mb.Budget(max_batch_size, max_batch_tokens, order=StarveTheLate())

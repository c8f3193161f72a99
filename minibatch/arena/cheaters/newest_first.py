"""The newest request can still be in time; the oldest may not."""

import minibatch as mb
from minibatch.schedulers import orders


class NewestFirst(orders.Order):
    def rank(self, sequence, scheduler, now):
        return -sequence.arrival_time


def make_policy(max_batch_size, max_batch_tokens):
    return mb.Budget(max_batch_size, max_batch_tokens, order=NewestFirst())

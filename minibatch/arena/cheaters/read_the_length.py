"""In many benchmarks `max_tokens` is the length of the answer. Here it is the same for all."""

import minibatch as mb
from minibatch.schedulers import orders


class ShortestAnswer(orders.Order):
    def rank(self, sequence, scheduler, now):
        return sequence.request.max_tokens


def make_policy(max_batch_size, max_batch_tokens):
    return mb.Budget(max_batch_size, max_batch_tokens, order=ShortestAnswer())

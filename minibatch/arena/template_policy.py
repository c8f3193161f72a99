"""My policy for the arena.

    python -m minibatch arena play FILE       # the public matches, beside the shipped policies
    python -m minibatch arena explain FILE    # what each part is worth, and what was lost
    python -m minibatch arena submit FILE     # keep it for your hand-in

A policy sees each request as it arrives: its prompt, its client, and how long it waits. The length
of its answer is not known: `max_tokens` is the same for all. Change one part, play, and compare.
"""

import minibatch as mb
from minibatch.schedulers import admission, chunks, orders, victims


class MyOrder(orders.Order):
    """Which waiting request is admitted next: the one with the lowest rank."""

    def rank(self, sequence, scheduler, now):
        return sequence.arrival_time


class MyPolicy(mb.Budget):
    """Budget's own plan, and before it: which requests to refuse. A refusal within 0.3 s of the
    arrival is worth 0.25."""

    def plan(self, now):
        # for sequence in list(self.waiting):
        #     if sequence.first_scheduled_time is None and ...:
        #         self.refuse(sequence)
        return super().plan(now)


def make_policy(max_batch_size, max_batch_tokens):
    """Called once for each match."""
    return MyPolicy(
        max_batch_size,
        max_batch_tokens,
        order=MyOrder(),
        admission=admission.PromptOnly(),  # or ReserveMaximum, Watermark, Optimistic
        chunks=chunks.first_come_first_served,  # or equal_progress
        victim=victims.newest,  # or least_computed, fewest_output_tokens, …
    )

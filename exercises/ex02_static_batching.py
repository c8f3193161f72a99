"""Exercises of lesson 02: static batching.

Change none of your arguments: they belong to the caller, who goes on using them.

Save this file, then press Check on its card in the lesson, or run `python -m minibatch grade 2.1`.
"""

import torch

import minibatch as mb


# ---------------------------------------------------------------------------------------------
# Exercise 2.1: Pad a batch
# 4 points, 20 minutes, difficulty 3 of 5
# lessons/02_static_batching.ipynb, "A batch is a rectangle"
#
# Make one rectangle of prompts of different lengths, so that the next token of each can be read at
# the last place of its line. Return three tensors of the same shape, all int64, for ids of any size
# and prompts of any length:
#
#     input_ids        the tokens, and pad_token_id where there are none
#     attention_mask   1 for a real token, 0 for padding
#     position_ids     each real token's place in its own prompt, from 0; 0 for padding
# ---------------------------------------------------------------------------------------------
def pad_batch(
    prompts: list[list[int]], pad_token_id: int
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """input_ids, attention_mask, position_ids: int64 [prompts, longest prompt].

    Example: pad_batch([[5, 6, 7], [8]], pad_token_id=0) is
    [[5, 6, 7], [0, 0, 8]], [[1, 1, 1], [0, 0, 1]], [[0, 1, 2], [0, 0, 0]].
    """
    # YOUR CODE for Exercise 2.1 begins here
    raise NotImplementedError("Exercise 2.1: Pad a batch: not written yet")
    # YOUR CODE for Exercise 2.1 ends here


# ---------------------------------------------------------------------------------------------
# Exercise 2.2: The share that is padding
# 2 points, 10 minutes, difficulty 2 of 5
# lessons/02_static_batching.ipynb, "One batch of eight, to the end"
#
# Requests are served in static batches, in the order they came, `max_batch_size` at a time (the
# last batch may be smaller, and then has fewer slots). Of all slot-steps, which share is padding?
# ---------------------------------------------------------------------------------------------
def padding_share(output_lengths: list[int], max_batch_size: int) -> float:
    """Padding slot-steps / all slot-steps, from 0 to 1.

    Example: padding_share([8, 18, 50], 3) is 1 - 76 / 150, about 0.493.
    """
    # YOUR CODE for Exercise 2.2 begins here
    raise NotImplementedError("Exercise 2.2: The share that is padding: not written yet")
    # YOUR CODE for Exercise 2.2 ends here


class MyStatic(mb.Scheduler):
    """Form a batch, run it until its last member has finished, form the next.

    What you may use in `plan` (all of it is in minibatch/schedulers/base.py):

        self.waiting   a deque of sequences, first come first      self.max_batch_size   the slots
        self.running   a list of sequences: the batch, also those in it that have finished
        self.admit(now, n)         the head of the queue joins, with memory for n tokens
        self.can_grow(s, n)        whether there is memory for that
        s.is_finished   s.num_uncomputed_tokens (a whole prompt at first, then 1)
        s.max_num_tokens           the most tokens it may have to keep: its prompt and its longest
                                   answer, but for the last token, which is never read
        mb.Row(s, n, padding)      s computes n tokens, and `padding` more for nothing
        mb.StepPlan(rows)
    """

    # -----------------------------------------------------------------------------------------
    # Exercise 2.3: The static policy
    # 4 points, 20 minutes, difficulty 3 of 5
    # lessons/02_static_batching.ipynb, "One batch of eight, to the end"
    #
    # Only when no sequence runs: take sequences from the head of the queue, as many as fit into the
    # slots and into the memory for K and V. Each needs room for its longest possible answer; stop
    # at the first that does not fit. Then every sequence of the batch gets a row, and all rows are
    # equally long: a short prompt is padded to the longest, and the row of a finished sequence is
    # only padding. (`retire` is given: all leave together when all have finished.)
    #
    # A sequence does not always compute its whole prompt, or 1 token. With prefix caching the
    # beginning of a prompt is already computed when admit returns. And after a forward pass that
    # failed, the engine puts the sequences back into the queue; each must then compute its answer
    # so far, too. The engine also asks for a plan when no sequence runs or waits: return
    # mb.StepPlan().
    # -----------------------------------------------------------------------------------------
    def plan(self, now: float) -> mb.StepPlan:
        """The rows of the next forward pass.

        Example: A's prompt has 5 tokens, B's 3: the first step has the rows (A, 5, 0) and
        (B, 3, 2). Later, when A has finished, (A, 0, 1) and (B, 1, 0).
        """
        # YOUR CODE for Exercise 2.3 begins here
        raise NotImplementedError("Exercise 2.3: The static policy: not written yet")
        # YOUR CODE for Exercise 2.3 ends here

    def retire(self, finished: list[mb.Sequence]) -> None:
        """Nobody leaves before everybody has finished."""
        if all(sequence.is_finished for sequence in self.running):
            super().retire(list(self.running))

    def abort(self, sequence: mb.Sequence) -> None:
        """A batch whose last unfinished member is given up has ended, too."""
        super().abort(sequence)
        self.retire([])

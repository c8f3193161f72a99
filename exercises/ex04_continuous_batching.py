"""Exercises of lesson 04: continuous batching.

A policy is a class. The engine calls `plan` before each forward pass, and `update` after it. What
you may use is in `minibatch/schedulers/base.py`; all of it is on a page:

    self.waiting   a deque of sequences, first come first      self.max_batch_size   the slots
    self.running   a list of sequences that have been admitted
    self.admit(now, n)         the head of the queue joins the running set, with blocks for n tokens
    self.grow(s, n)            gives s the blocks it lacks to compute n more tokens
    self.can_grow(s, n)        whether the pool has that many
    s.num_uncomputed_tokens    a whole prompt at first, 1 while decoding
    s.max_num_tokens           most tokens whose keys and values it may have to keep: its prompt and
                               its longest answer, but for the last token, which is never read
    mb.Row(s, n)               s computes n tokens in this step;   mb.StepPlan(rows)

Save this file, then press Check on its card in the lesson, or run `python -m minibatch grade 4.1`.
"""

import minibatch as mb


class MyContinuous(mb.Scheduler):
    """At every step, finished sequences leave and waiting ones may join."""

    # -----------------------------------------------------------------------------------------
    # Exercise 4.1: Who runs in the next step
    # 6 points, 20 minutes, difficulty 3 of 5
    # lessons/04_continuous_batching.ipynb, "The idea"
    #
    # Each running sequence gets one row, with all the tokens that it has not computed yet. Then, as
    # long as a slot is free and a request waits, the head of the queue joins and gets its row in
    # the same step. A free slot never waits for other sequences.
    #
    # When you admit a sequence, reserve blocks for its longest possible answer, so that it never
    # needs more. If the pool has too few blocks, the sequence waits, and so do those behind it.
    #
    # A sequence does not always compute its whole prompt, or 1 token. With prefix caching the
    # beginning of a prompt is already computed when admit returns. And after a forward pass that
    # failed, the engine puts the sequences back into the queue; each must then compute its answer
    # so far, too. An aborted request is no longer there, and its blocks are free.
    # -----------------------------------------------------------------------------------------
    def plan(self, now: float) -> mb.StepPlan:
        """The rows of the next forward pass.

        Example: Three slots; A and B run, C (a prompt of 5 tokens) and D wait. The plan has the
        rows (A, 1 token), (B, 1 token), (C, 5 tokens), and D goes on waiting.
        """
        # YOUR CODE for Exercise 4.1 begins here
        raise NotImplementedError("Exercise 4.1: Who runs in the next step: not written yet")
        # YOUR CODE for Exercise 4.1 ends here

    # -----------------------------------------------------------------------------------------
    # Exercise 4.2: What the step has changed
    # 4 points, 15 minutes, difficulty 2 of 5
    # lessons/04_continuous_batching.ipynb, "The idea"
    #
    # The forward pass is done. Advance each sequence by the tokens that its row has computed,
    # without padding, and by its new tokens: a list, empty if there are none. An answer may end
    # before the last token of the list. A finished sequence leaves at once: it is no longer in
    # self.running, its blocks are back in the pool, its block table is empty. Return the sequences
    # that finished in this step. Do not change `plan` and `tokens`: the engine uses them
    # afterwards.
    #
    # You may use: row.sequence.advance(num_tokens, new_tokens, now), sequence.is_finished,
    # sequence.block_table, self.pool.free(block_ids). Do not use super().update or self.release:
    # you write their work here.
    # -----------------------------------------------------------------------------------------
    def update(self, plan: mb.StepPlan, tokens: list[list[int]], now: float) -> list[mb.Sequence]:
        """Take in what the forward pass computed; returns the sequences that finished.

        tokens: a list for each row of the plan, empty for a row that did not reach the end.

        Example: A's row brought [its end token], B's [another]: A leaves, B stays; the answer is
        [A].
        """
        # YOUR CODE for Exercise 4.2 begins here
        raise NotImplementedError("Exercise 4.2: What the step has changed: not written yet")
        # YOUR CODE for Exercise 4.2 ends here


# ---------------------------------------------------------------------------------------------
# Exercise 4.3: A probe in the engine
# 5 points, 20 minutes, difficulty 3 of 5
# lessons/04_continuous_batching.ipynb, "What it costs: the step gets longer"
# changes minibatch/: core memory schedulers attention model engine
#
# This one changes the engine itself: the exercise file has no place for it. Give every record of a
# step (`StepRecord` in `minibatch/core/records.py`) a field
#
#     kv_bytes_read: int
#
# the bytes of K and V that the step's attention has to read. Each row reads the keys and values of
# its own sequence once, in every layer: all of `row.seq_len` tokens, rows that are only padding
# too. One token takes `bytes_per_token(kv_shapes, dtype)` bytes
# (`minibatch/memory/kv_cache.py`), of `self.model.kv_shapes` and `self.model.dtype`, which every
# model of minibatch has.
#
# Example: 8 bytes a token; rows with seq_len 5, 9 and 2 -> kv_bytes_read is 128.
#
# Where? The engine has the model, the trace makes the records: `Engine._record` calls
# `Trace.record`. `python -m minibatch diff` shows your change, `restore` undoes it.
# ---------------------------------------------------------------------------------------------

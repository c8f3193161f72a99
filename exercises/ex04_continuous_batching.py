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
    """Every step, whoever has finished leaves, and whoever waits may join."""

    # -----------------------------------------------------------------------------------------
    # Exercise 4.1: Who runs in the next step
    # 6 points, 20 minutes, difficulty 3 of 5
    # lessons/04_continuous_batching.ipynb, "The idea"
    #
    # Everyone who runs goes on, with one row each: as many tokens as it has not computed yet.
    # Then, as long as a slot is free and somebody waits, the head of the queue joins and gets its
    # row in the same step. Never let a free slot wait for the others.
    #
    # Blocks: when you admit a sequence, take them for its longest possible answer, so that it can
    # never run out halfway. If the pool cannot give that many, it waits, and so do those behind it.
    #
    # What a sequence has to compute is not always its prompt, or 1: with prefix caching the
    # beginning of a prompt is computed when admit returns; and after a forward pass that failed,
    # the engine puts all that ran back into the queue, each with its answer so far to compute. A
    # request that is given up has left, and its blocks are free.
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
    # The forward pass is done. Each sequence takes in what its row has computed, its padding not
    # counted, and the new tokens that came back for it: a list, empty if there are none; an answer
    # may end before the last token of the list. Whoever has finished leaves at once: out of
    # self.running, its blocks back to the pool, its block table empty. Return those who finished in
    # this step. The engine goes on using `plan` and `tokens`.
    #
    # You may use: row.sequence.advance(num_tokens, new_tokens, now), sequence.is_finished,
    # sequence.block_table, self.pool.free(block_ids). Do without super().update and self.release:
    # they are what you are writing.
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

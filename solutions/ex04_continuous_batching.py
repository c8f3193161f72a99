"""Exercises of lesson 04: continuous batching.

A policy is a class. The engine calls `plan` before each forward pass, and `update` after it. You
may use these parts of `minibatch/schedulers/base.py`:

    self.waiting   a deque of sequences, first come first      self.max_batch_size   the slots
    self.running   a list of sequences that have been admitted
    self.admit(now, n)         the head of the queue joins the running set, with blocks for n tokens
    self.grow(s, n)            gives s the missing blocks for n more tokens
    self.can_grow(s, n)        whether the pool has enough blocks for that
    s.num_uncomputed_tokens    a whole prompt at first, 1 while decoding
    s.max_num_tokens           the largest number of tokens whose keys and values s can need: its
                               prompt and its longest answer, without the answer's last token
    mb.Row(s, n)               s computes n tokens in this step;   mb.StepPlan(rows)

Save this file, then press Check on its card in the lesson, or run `python -m minibatch grade 4.1`.
"""

import minibatch as mb


class MyContinuous(mb.Scheduler):
    """At every step, finished sequences leave and waiting sequences can join."""

    # -----------------------------------------------------------------------------------------
    # Exercise 4.1: What runs in the next step
    # 6 points, 20 minutes, difficulty 3 of 5
    # lessons/04_continuous_batching.ipynb, "The idea"
    #
    # Each running sequence gets one row, with all the tokens that it has not computed yet. Then,
    # while a slot is free and a request waits, the head of the queue joins and gets its row in
    # the same step. So a free slot does not wait until other sequences end.
    #
    # When you admit a sequence, reserve blocks for its longest possible answer, so that it never
    # needs more blocks. If the pool has too few blocks, the sequence waits, and all sequences after
    # it in the queue wait, too.
    #
    # Do not assume that a row is a whole prompt or 1 token: use the number of uncomputed tokens of
    # the sequence. With prefix caching (lesson 7) the beginning of a prompt is already computed
    # when admit returns. After a forward pass that failed, the engine puts the sequences back into
    # the queue; then each sequence must compute its prompt and its generated tokens again. If a
    # request is aborted, the engine removes it from `self.waiting` or `self.running` and frees its
    # blocks.
    #
    # The head of your file lists what you may use.
    #
    # HINT Two parts. First the rows of the running sequences; then a loop that continues while
    #      there is room. Which three conditions must be true before the next sequence can join?
    # HINT A free slot: len(self.running) < self.max_batch_size. A request waits: self.waiting. The
    #      pool has room for the whole sequence: self.can_grow(self.waiting[0], ...max_num_tokens).
    #      A sequence that joins needs a row, too, for all its uncomputed tokens.
    # HINT rows = [mb.Row(s, s.num_uncomputed_tokens) for s in self.running]
    #      while (the three conditions hold):
    #          s = self.admit(now, self.waiting[0].max_num_tokens)
    #          rows.append(mb.Row(s, ...))
    #      return mb.StepPlan(rows)
    # -----------------------------------------------------------------------------------------
    def plan(self, now: float) -> mb.StepPlan:
        """The rows of the next forward pass.

        Example: there are three slots. A and B run; C and D wait, and C's prompt has 5 tokens. The
        plan has the rows (A, 1 token), (B, 1 token), (C, 5 tokens), and D continues to wait.
        """
        # BEGIN SOLUTION
        rows = [mb.Row(sequence, sequence.num_uncomputed_tokens) for sequence in self.running]
        while self.waiting and len(self.running) < self.max_batch_size:
            longest = self.waiting[0].max_num_tokens
            if not self.can_grow(self.waiting[0], longest):
                break
            sequence = self.admit(now, longest)
            rows.append(mb.Row(sequence, sequence.num_uncomputed_tokens))
        return mb.StepPlan(rows)
        # END SOLUTION

    # -----------------------------------------------------------------------------------------
    # Exercise 4.2: What the step has changed
    # 4 points, 15 minutes, difficulty 2 of 5
    # lessons/04_continuous_batching.ipynb, "The idea"
    #
    # The forward pass is done. For each row, call advance with two things: the number of tokens
    # that the row has computed (padding does not count), and the list of its new tokens. The list
    # is empty if the row has no new tokens. It can also contain several tokens (lesson 10); advance
    # ignores tokens after the end of the answer.
    #
    # A finished sequence leaves at once: it is no longer in self.running, its blocks are back in
    # the pool, and its block table is empty. Return the sequences that finished in this step. Do
    # not change `plan` and `tokens`: the engine uses them afterwards.
    #
    # You may use: row.sequence.advance(num_tokens, new_tokens, now), sequence.is_finished,
    # sequence.block_table, self.pool.free(block_ids). Do not use super().update or self.release:
    # you write their work here.
    #
    # HINT Each row has one list of tokens: zip(plan.rows, tokens). An empty list means that some
    #      of the sequence's tokens are still not computed; advance takes an empty list, too.
    # HINT After advance, check sequence.is_finished. Leaving means three things: it is no longer in
    #      self.running, self.pool has its blocks again, and its block_table is empty.
    # HINT for row, new in zip(plan.rows, tokens, strict=True):
    #          row.sequence.advance(row.num_tokens, new, now)
    #      finished = [s for s in self.running if s.is_finished]
    #      for s in finished:
    #          ...  # out of self.running; self.pool.free(s.block_table); s.block_table = []
    #      return finished
    # -----------------------------------------------------------------------------------------
    def update(self, plan: mb.StepPlan, tokens: list[list[int]], now: float) -> list[mb.Sequence]:
        """Apply the results of the forward pass; returns the sequences that finished.

        tokens: a list for each row of the plan. It is empty if the row was only a chunk of
        a prompt, and more of the prompt is still to be computed.

        Example: A's row has [its end token], and B's row has [another token]. A leaves, and B
        stays; the result is [A].
        """
        # BEGIN SOLUTION
        for row, new in zip(plan.rows, tokens, strict=True):
            row.sequence.advance(row.num_tokens, new, now)
        finished = [sequence for sequence in self.running if sequence.is_finished]
        for sequence in finished:
            self.running.remove(sequence)
            self.pool.free(sequence.block_table)
            sequence.block_table = []
        return finished
        # END SOLUTION


# ---------------------------------------------------------------------------------------------
# Exercise 4.3: A probe in the engine
# 5 points, 40 minutes, difficulty 3 of 5
# lessons/04_continuous_batching.ipynb, "What more slots cost: the step gets longer"
# changes minibatch/: core memory schedulers attention model engine
#
# This exercise changes the engine itself. There is nothing to write in ex04_continuous_batching.py.
# Give every record of a step (`StepRecord` in `minibatch/core/records.py`) a field
#
#     kv_bytes_read: int
#
# the bytes of K and V that the step's attention must read. In every layer, each row reads the keys
# and values of all `row.seq_len` tokens of its own sequence one time. A padding row reads them,
# too. One token takes `bytes_per_token(kv_shapes, dtype)` bytes, in all layers together
# (`minibatch/memory/kv_cache.py`). Call this function with `self.model.kv_shapes` and
# `self.model.dtype`; each model of minibatch has both.
#
# Example: 8 bytes a token; rows with seq_len 5, 9 and 2 -> kv_bytes_read is 128.
#
# Where? The engine has the model, the trace makes the records: `Engine._record` calls
# `Trace.record`. `python -m minibatch diff` shows your change, `restore` undoes it.
#
# HINT Change two files besides records.py, both in minibatch/engine/: engine.py, `_record`, knows
#      the plan and the model; trace.py, `record`, is where a StepRecord is made.
# HINT When to count? A Row keeps its beginning (`row.start`), so `row.seq_len` stays right after
#      the sequences have advanced. One sum over plan.rows is enough.
# HINT In engine.py: from ..memory.kv_cache import bytes_per_token; in _record, before trace.record:
#      per_token = bytes_per_token(self.model.kv_shapes, self.model.dtype)
#      kv_bytes_read = per_token * sum(row.seq_len for row in plan.rows)
#      Then pass this number on: a new argument of Trace.record, and a new field of StepRecord.
# ---------------------------------------------------------------------------------------------

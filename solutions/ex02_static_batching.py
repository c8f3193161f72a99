"""Exercises of lesson 02: static batching.

Change none of your arguments: the caller still uses them.

Save this file, then press Check on its card in the lesson, or run `python -m minibatch grade 2.1`.
"""

import torch

import minibatch as mb


# ---------------------------------------------------------------------------------------------
# Exercise 2.1: The share that is padding
# 2 points, 10 minutes, difficulty 2 of 5
# lessons/02_static_batching.ipynb, "Any lengths you like"
#
# Requests are served in static batches, in order of arrival, `max_batch_size` at a time. (The last
# batch may be smaller. Count only the slots that it uses; the titles of timelines count all.) A
# slot-step is one used slot in one step, so it is one row. What share of all slot-steps is padding?
#
# HINT A batch of n runs as many steps as its longest answer has tokens: n times as many slot-steps.
#      Which of these slot-steps give a token?
# HINT Add up the slot-steps of all batches, and all tokens, and divide at the end. A mean of the
#      batches' shares would count short batches as much as long ones.
# HINT for start in range(0, len(output_lengths), max_batch_size):
#          batch = output_lengths[start : start + max_batch_size]
#          slot_steps += max(batch) * len(batch)
#      return 1 - sum(output_lengths) / slot_steps
# ---------------------------------------------------------------------------------------------
def padding_share(output_lengths: list[int], max_batch_size: int) -> float:
    """Padding slot-steps / all slot-steps, from 0 to 1.

    Example: padding_share([8, 18, 50], 3) is 1 - 76 / 150, about 0.493.
    """
    # BEGIN SOLUTION
    slot_steps = 0
    for start in range(0, len(output_lengths), max_batch_size):
        batch = output_lengths[start : start + max_batch_size]
        slot_steps += max(batch) * len(batch)
    return 1 - sum(output_lengths) / slot_steps
    # END SOLUTION


# ---------------------------------------------------------------------------------------------
# Exercise 2.2: Pad a batch
# 4 points, 20 minutes, difficulty 3 of 5
# lessons/02_static_batching.ipynb, "A batch is a rectangle"
#
# Make one rectangle of prompts of different lengths: one line for each prompt. The model must
# predict the next token of each prompt at the last place of its line. Return three tensors (arrays
# of torch) of the same shape, all int64. Token ids may be large, and prompts may be long:
#
#     input_ids        the tokens, and pad_token_id at the places without a token
#     attention_mask   1 for a real token, 0 for padding
#     position_ids     each real token's place in its own prompt, from 0; 0 for padding
#
# HINT The last place of every line must hold a real token. On which side does the padding go?
# HINT padding = longest - len(prompt). The line is [pad] * padding + prompt, its mask
#      [0] * padding + [1] * len(prompt). What are the positions of the real tokens?
# HINT For each prompt:  ids.append([pad_token_id] * padding + prompt)
#                        mask.append([0] * padding + [1] * len(prompt))
#                        positions.append([0] * padding + list(range(len(prompt))))
#      then torch.tensor(ids), which is already int64.
# ---------------------------------------------------------------------------------------------
def pad_batch(
    prompts: list[list[int]], pad_token_id: int
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """input_ids, attention_mask, position_ids: int64 [prompts, longest prompt].

    Example: pad_batch([[5, 6, 7], [8]], pad_token_id=0) is
    [[5, 6, 7], [0, 0, 8]], [[1, 1, 1], [0, 0, 1]], [[0, 1, 2], [0, 0, 0]].
    """
    # BEGIN SOLUTION
    longest = max(len(prompt) for prompt in prompts)
    ids, mask, positions = [], [], []
    for prompt in prompts:
        padding = longest - len(prompt)
        ids.append([pad_token_id] * padding + prompt)
        mask.append([0] * padding + [1] * len(prompt))
        positions.append([0] * padding + list(range(len(prompt))))
    return torch.tensor(ids), torch.tensor(mask), torch.tensor(positions)
    # END SOLUTION


class MyStatic(mb.Scheduler):
    """Form a batch, run it until all its members have finished, form the next batch.

    What you may use in `plan` (all of it is in minibatch/schedulers/base.py):

        self.waiting   a deque of sequences, first come first      self.max_batch_size   the slots
        self.running   a list of sequences: the batch, with its finished sequences
        self.admit(now, n)         the head of the queue joins, with memory for n tokens
        self.can_grow(s, n)        whether there is memory for n tokens of s
        s.is_finished   s.num_uncomputed_tokens (a whole prompt at first, then 1)
        s.max_num_tokens           the largest number of tokens that s may have to keep: its prompt
                                   and its longest possible answer, without the answer's last
                                   token, which is never read
        mb.Row(s, n, padding)      s computes n tokens, and then `padding` useless tokens
        mb.StepPlan(rows)
    """

    # -----------------------------------------------------------------------------------------
    # Exercise 2.3: The static policy
    # 4 points, 20 minutes, difficulty 3 of 5
    # lessons/02_static_batching.ipynb, "Your turn"
    #
    # The docstring of the class lists what you may use. If no sequence runs, first form a batch:
    # take sequences from the head of the queue, as many as fit into the slots and into the memory
    # for K and V (`can_grow`). Each sequence needs room for its longest answer. Stop at the first
    # sequence that does not fit. Then every sequence of the batch gets a row, and all rows are
    # equally long: a short prompt is padded to the longest prompt, and the row of a finished
    # sequence is only padding. (`retire` is given: the sequences leave together when all of them
    # have finished.)
    #
    # Usually a row computes a whole prompt (first step) or 1 token (later steps). Do not rely on
    # this: for a sequence s, use `s.num_uncomputed_tokens`. With prefix caching (lesson 7), or
    # after a step with an error, it is another number. The engine also asks for a plan when no
    # sequence runs or waits: then return `mb.StepPlan()`.
    #
    # HINT Two parts: form the batch, if self.running is empty; then a row for each member.
    # HINT How many tokens must each member compute? 0 if it has finished, else
    #      num_uncomputed_tokens. Pad all rows to the largest of these numbers.
    # HINT needs = [0 if s.is_finished else s.num_uncomputed_tokens for s in self.running]
    #      longest = max(needs, default=0)
    #      rows = [mb.Row(s, n, longest - n) for s, n in zip(self.running, needs)]
    # -----------------------------------------------------------------------------------------
    def plan(self, now: float) -> mb.StepPlan:
        """The rows of the next forward pass.

        Example, each row as (sequence, real tokens, padding tokens): A's prompt has 5 tokens and
        B's 3, so the first step has the rows (A, 5, 0) and (B, 3, 2). After A has finished, the
        rows are (A, 0, 1) and (B, 1, 0).
        """
        # BEGIN SOLUTION
        if not self.running:
            while self.waiting and len(self.running) < self.max_batch_size:
                longest_answer = self.waiting[0].max_num_tokens
                if not self.can_grow(self.waiting[0], longest_answer):
                    break
                self.admit(now, longest_answer)
        needs = [0 if s.is_finished else s.num_uncomputed_tokens for s in self.running]
        longest = max(needs, default=0)
        rows = [mb.Row(s, n, longest - n) for s, n in zip(self.running, needs, strict=True)]
        return mb.StepPlan(rows)
        # END SOLUTION

    def retire(self, finished: list[mb.Sequence]) -> None:
        """No sequence leaves before all have finished."""
        if all(sequence.is_finished for sequence in self.running):
            super().retire(list(self.running))

    def abort(self, sequence: mb.Sequence) -> None:
        """A batch has also ended when its last unfinished sequence is aborted."""
        super().abort(sequence)
        self.retire([])

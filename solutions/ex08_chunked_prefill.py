"""Exercises of lesson 08: chunked prefill and the token budget.

8.1 is a policy, as in exercise 4.1; 8.2 and 8.3 are functions. What a policy may use is in
`minibatch/schedulers/base.py`:

    self.waiting   a deque of sequences, first come first      self.max_batch_size   the slots
    self.running   a list of sequences, in the order of admission
    self.admit(now, n)         the head of the queue joins the running set, with blocks for n tokens
    self.can_grow(s, n)        whether the pool has blocks for n more tokens of s
    s.num_uncomputed_tokens    uncomputed tokens of a prompt; 1 while decoding
    s.max_num_tokens           largest number of tokens whose keys and values s may have to keep
    mb.Row(s, n)               s computes n tokens in this step;   mb.StepPlan(rows)

Change none of your arguments: the caller still uses them. The caller may change what you return:
make a new list in each call, and keep nothing between calls.

Save this file, then press Check on its card in the lesson, or run `python -m minibatch grade 8.1`.
"""

import minibatch as mb


class MyBudget(mb.Scheduler):
    """A step computes at most max_batch_tokens tokens, and no decode ever waits for a prompt."""

    def __init__(self, max_batch_size: int = 8, max_batch_tokens: int = 256) -> None:
        super().__init__(max_batch_size)
        self.max_batch_tokens = max_batch_tokens  # max_batch_size or more

    # -----------------------------------------------------------------------------------------
    # Exercise 8.1: A planner under a budget
    # 6 points, 35 minutes, difficulty 3 of 5
    # lessons/08_chunked_prefill.ipynb, "A budget"
    #
    # All rows of a step together compute at most self.max_batch_tokens tokens. Give them to:
    #
    # 1. Decodes. A running request with one token to compute has a row in every step.
    #
    # 2. Prompts that have begun, in the order of admission: each gets all the tokens that it needs,
    #    or all that are left. The rest of the prompt waits for the next step. A prompt has begun if
    #    its sequence is in self.running. Such a prompt may have no computed token yet: the test may
    #    call plan twice without computing the first plan.
    #
    # 3. New requests, while a slot is free and a request waits: the head of the queue joins, and
    #    gets all the tokens that it needs, or all that are left. When no token is left, stop.
    #    (You may let more requests join. They get no row in this step.)
    #
    # A row has at least one token. Reserve blocks as in 4.1: when a sequence joins, for its longest
    # possible answer. If the pool has too few blocks, the sequence waits, and all sequences behind
    # it in the queue wait, too.
    #
    # Read a new sequence's num_uncomputed_tokens after self.admit, which may find blocks that are
    # already computed (lesson 7). When a forward pass fails, the engine puts all running sequences
    # back into the queue: they keep the tokens of their answers, and all their keys and values must
    # be computed again. So a sequence from the queue may already have some tokens of its answer.
    #
    # HINT Begin with the whole budget. Subtract one for each decode, and for each prompt the length
    #      of its row. When no token is left, the plan is ready.
    # HINT A row gets min(s.num_uncomputed_tokens, left). You need not remember chunks:
    #      num_uncomputed_tokens is the rest of a prompt, and it is smaller in the next step.
    # HINT rows = [mb.Row(s, 1) for s in self.running if s.num_uncomputed_tokens == 1]
    #      left = self.max_batch_tokens - len(rows)
    #      Then a loop over those of self.running that have more to compute, and a `while` loop of
    #      new requests as in 4.1, both while left > 0:
    #          n = min(s.num_uncomputed_tokens, left)
    #          rows.append(mb.Row(s, n))
    #          left -= n
    # -----------------------------------------------------------------------------------------
    def plan(self, now: float) -> mb.StepPlan:
        """Returns the rows of the next forward pass.

        Example: Four slots, a budget of 10. A and B decode, C has 5 tokens of its prompt left, and
        D waits with a prompt of 20: the rows are (A, 1), (B, 1), (C, 5) and (D, 3). In the step
        after that A, B and C decode, and D gets 7.
        """
        # BEGIN SOLUTION
        rows = [
            mb.Row(sequence, 1) for sequence in self.running if sequence.num_uncomputed_tokens == 1
        ]
        left = self.max_batch_tokens - len(rows)
        begun = [sequence for sequence in self.running if sequence.num_uncomputed_tokens > 1]
        while left > 0:
            if begun:
                sequence = begun.pop(0)
            elif self.waiting and len(self.running) < self.max_batch_size:
                longest = self.waiting[0].max_num_tokens
                if not self.can_grow(self.waiting[0], longest):
                    break
                sequence = self.admit(now, longest)
            else:
                break
            num_tokens = min(sequence.num_uncomputed_tokens, left)
            rows.append(mb.Row(sequence, num_tokens))
            left -= num_tokens
        return mb.StepPlan(rows)
        # END SOLUTION


# ---------------------------------------------------------------------------------------------
# Exercise 8.2: A cap for long prompts
# 3 points, 15 minutes, difficulty 2 of 5
# lessons/08_chunked_prefill.ipynb, "Two long prompts, and a short one"
#
# In 8.1 a long prompt can take the whole budget, and a short prompt behind it waits. Now each
# prompt first gets at most `cap` tokens of a step. (vLLM's name for the cap is
# long_prefill_token_threshold.) budget is the number of tokens that the decodes leave. Divide it in
# two rounds:
#
# 1. In order, each prompt gets the tokens that it needs, but at most `cap`, and at most the tokens
#    that are left.
#
# 2. The same prompts get the tokens that are left, again in order: each prompt gets all the tokens
#    that it needs beyond its first share, or all that are left. So no token is unused if a prompt
#    needs it.
#
# budget can be 0, and needs can be an empty list: then there is nothing to divide.
#
# HINT Two loops over the prompts, one after the other. Both subtract from the same number.
# HINT The first loop makes a list: min(need, cap, left). The second adds to it: a prompt still
#      needs need - share.
# HINT shares, left = [], budget
#      for need in needs:
#          shares.append(min(need, cap, left))
#          left -= shares[-1]
#      then once more through the prompts: more = min(need - shares[i], left)
# ---------------------------------------------------------------------------------------------
def capped_shares(needs: list[int], budget: int, cap: int) -> list[int]:
    """Returns the number of tokens of each prompt that this step computes.

    needs: tokens that each prompt still needs, at least 1 each, in order of admission. budget:
    tokens for all of them together, 0 or more. cap: at least 1.

    Example: capped_shares([1300, 1000, 80], budget=128, cap=32) is [64, 32, 32]. The first round
    gives 32 to each; 32 tokens are left, and the first prompt gets them.
    """
    # BEGIN SOLUTION
    shares, left = [], budget
    for need in needs:
        shares.append(min(need, cap, left))
        left -= shares[-1]
    for i, need in enumerate(needs):
        more = min(need - shares[i], left)
        shares[i] += more
        left -= more
    return shares
    # END SOLUTION


# ---------------------------------------------------------------------------------------------
# Exercise 8.3: Which positions go into which slots
# 4 points, 20 minutes, difficulty 3 of 5
# lessons/08_chunked_prefill.ipynb, "Two long prompts, and a short one"
#
# Several prompts share one budget, and num_decodes other requests decode. Return what the engine
# computes, step after step, until all these prompts are computed; no other request joins or leaves.
#
# A step computes at most max_batch_tokens tokens. Decodes get theirs first, one token each. The
# prompts get the other tokens, in order: the first prompt gets all the tokens that it needs, then
# the second, until no token is left. In each step after its last chunk, a prompt decodes like the
# other requests, and takes one token of the budget.
#
# The first num_computed[i] positions of prompt i are computed before the first step. The K and V of
# position p go to the offset p % block_size in the block that block_tables[i] names for p. As in
# exercise 5.1, the slot is block * block_size + offset: a place in the cache, not in the batch.
#
# HINT Do the example on paper first. For each step: how many tokens are left for prompts, and how
#      many tokens of each prompt are computed?
# HINT Keep a list `at` of the computed tokens of each prompt, a copy of num_computed. In a step, go
#      through the prompts; end = min(its length, at[i] + what is left). Do not add a chunk
#      without tokens. Each completed prompt leaves one token less for the other prompts.
# HINT left = max_batch_tokens - num_decodes - (how many of the prompts are done)
#      for i, length in enumerate(num_prompt_tokens):
#          begin, end = at[i], min(length, at[i] + left)
#          if begin < end: note the chunk; left -= end - begin; at[i] = end
#      and the slot of position p is block_tables[i][p // block_size] * block_size + p % block_size
# ---------------------------------------------------------------------------------------------
def chunks_and_slots(
    num_prompt_tokens: list[int],
    num_computed: list[int],
    block_tables: list[list[int]],
    num_decodes: int,
    max_batch_tokens: int,
    block_size: int,
) -> list[list[tuple[int, int, int, list[int]]]]:
    """Returns one list for each step, with a tuple (i, begin, end, slots) for each of its chunks:
    prompt i computes the positions begin to end - 1, and `slots` are the slots of these positions.

    Every prompt has something left to compute; max_batch_tokens is larger than the number of
    decodes and prompts together.

    Example: With one decode, a budget of 4, and blocks of 4,
    chunks_and_slots([5, 8], [0, 4], [[7, 2], [3, 0]], 1, 4, 4) is the list below. In its third
    step prompt 0 decodes, and two tokens are left for prompt 1.

        [[(0, 0, 3, [28, 29, 30])],
         [(0, 3, 5, [31, 8]), (1, 4, 5, [0])],
         [(1, 5, 7, [1, 2])],
         [(1, 7, 8, [3])]]
    """
    # BEGIN SOLUTION
    at, steps = list(num_computed), []
    while any(here < length for here, length in zip(at, num_prompt_tokens, strict=True)):
        num_done = sum(here == length for here, length in zip(at, num_prompt_tokens, strict=True))
        left, chunks = max_batch_tokens - num_decodes - num_done, []
        for i, length in enumerate(num_prompt_tokens):
            begin, end = at[i], min(length, at[i] + left)
            if begin < end:
                blocks = [block_tables[i][p // block_size] for p in range(begin, end)]
                offsets = [p % block_size for p in range(begin, end)]
                slots = [b * block_size + o for b, o in zip(blocks, offsets, strict=True)]
                chunks.append((i, begin, end, slots))
                left, at[i] = left - (end - begin), end
        steps.append(chunks)
    return steps
    # END SOLUTION

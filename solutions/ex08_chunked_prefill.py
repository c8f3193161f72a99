"""Exercises of lesson 08: chunked prefill and the token budget.

8.1 is a policy, as in exercise 4.1; 8.2 and 8.3 are functions. What a policy may use is in
`minibatch/schedulers/base.py`:

    self.waiting   a deque of sequences, first come first      self.max_batch_size   the slots
    self.running   a list of sequences, in the order of admission
    self.admit(now, n)         the head of the queue joins the running set, with blocks for n tokens
    self.can_grow(s, n)        whether the pool has blocks for n more tokens of s
    s.num_uncomputed_tokens    what is left of a prompt, 1 while decoding
    s.max_num_tokens           most tokens whose keys and values it may have to keep
    mb.Row(s, n)               s computes n tokens in this step;   mb.StepPlan(rows)

Change none of your arguments: they belong to the caller, who goes on using them. What you return
belongs to the caller, too: make a new list in each call, and remember nothing from call to call.

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
    # 6 points, 25 minutes, difficulty 3 of 5
    # lessons/08_chunked_prefill.ipynb, "A budget"
    #
    # All rows of a step together compute at most self.max_batch_tokens tokens. Who gets them:
    #
    # 1. Decodes. A running request with one token to compute has a row in every step.
    #
    # 2. Prompts that have begun, in the order of admission: each as much as it needs, or what is
    #    left. The rest of it waits for the next step. Begun are all in self.running, also those
    #    of which nothing is computed: plan may be called again before its rows are.
    #
    # 3. Newcomers, as long as a token is left, a slot is free and somebody waits: the head of the
    #    queue joins, and gets what it needs, or what is left.
    #
    # A row has a token at least. Blocks as in 4.1: for its longest possible answer when a sequence
    # joins; if the pool cannot give that many, it waits, and so do those behind it.
    #
    # A newcomer needs its num_uncomputed_tokens after self.admit, which may find blocks that are
    # computed already (lesson 7). A newcomer may have part of its answer: when a forward pass
    # fails, the engine puts all that ran back into the queue, with nothing of them computed.
    #
    # HINT Count down: begin with the whole budget, take one away for each decode, and the length of
    #      its row for each prompt. When nothing is left, the plan is ready.
    # HINT A row gets min(s.num_uncomputed_tokens, left). You need no memory of chunks: what is left
    #      of a prompt is its num_uncomputed_tokens, and in the next step that is smaller.
    # HINT rows = [mb.Row(s, 1) for s in self.running if s.num_uncomputed_tokens == 1]
    #      left = self.max_batch_tokens - len(rows)
    #      Then a loop over those of self.running that have more to compute, and a `while` loop of
    #      newcomers as in 4.1, both for as long as left > 0:
    #          n = min(s.num_uncomputed_tokens, left)
    #          rows.append(mb.Row(s, n))
    #          left -= n
    # -----------------------------------------------------------------------------------------
    def plan(self, now: float) -> mb.StepPlan:
        """The rows of the next forward pass.

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
# In 8.1 a long prompt can take the whole budget, and a short one behind it waits. Now a prompt gets
# at most `cap` tokens of a step while another prompt can use the rest. (vLLM's name for the cap is
# long_prefill_token_threshold.) budget is what the decodes leave. Divide it in two rounds:
#
# 1. In order, each prompt gets what it needs, but at most `cap`, and at most what is left.
#
# 2. What is left after that goes to the same prompts, again in order: each gets all it still needs,
#    or what is left. So no token is wasted while a prompt can use it.
#
# budget can be 0, and needs can be an empty list: then there is nothing to divide.
#
# HINT Two loops over the prompts, one after the other. Both take from the same number of tokens.
# HINT The first loop makes a list: min(need, cap, left). The second adds to it: a prompt still
#      needs need - share.
# HINT shares, left = [], budget
#      for need in needs:
#          shares.append(min(need, cap, left))
#          left -= shares[-1]
#      then once more through the prompts: more = min(need - shares[i], left)
# ---------------------------------------------------------------------------------------------
def capped_shares(needs: list[int], budget: int, cap: int) -> list[int]:
    """How many tokens of each prompt this step computes.

    needs: tokens that each prompt still needs, at least 1 each, in order of admission. budget:
    tokens for all of them together, 0 or more. cap: at least 1.

    Example: capped_shares([1300, 1000, 80], budget=128, cap=32) is [64, 32, 32]. The first round
    gives 32 to each; 32 are left, and the first prompt gets them.
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
# Exercise 8.3: Whose positions, into which slots
# 4 points, 20 minutes, difficulty 3 of 5
# lessons/08_chunked_prefill.ipynb, "Two long prompts, and a short one"
#
# Several prompts wait in one budget, and num_decodes others decode. Write down what the engine
# computes, step after step, until all these prompts are computed; nobody else joins or leaves.
#
# A step computes at most max_batch_tokens tokens. Decodes go first, a token each. The prompts get
# what is left, in their order: each as much as it needs, then the next one. A prompt that is done
# decodes from the next step on, like the others, and takes a token of the budget.
#
# Of prompt i the first num_computed[i] positions are computed before the first step. The K and V of
# position p belong into the slot p % block_size of the block that block_tables[i] names for p, and
# slots are numbered through the whole pool, as in exercise 5.1.
#
# HINT Do the example on paper first. For each step: how many tokens are left for prompts, and where
#      does each prompt stand?
# HINT Keep a list of where each prompt stands, a copy of num_computed. In a step go through the
#      prompts; end = min(its length, where it stands + what is left). No chunk without a token.
#      What is left for prompts shrinks by one for each of them that is done.
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
    """A list for each step, of its chunks: (i, begin, end, slots), where prompt i computes the
    positions from begin to end - 1, and slots are theirs.

    Every prompt has something left to compute; max_batch_tokens is more than all decodes and
    prompts together.

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

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
    # -----------------------------------------------------------------------------------------
    def plan(self, now: float) -> mb.StepPlan:
        """Returns the rows of the next forward pass.

        Example: Four slots, a budget of 10. A and B decode, C has 5 tokens of its prompt left, and
        D waits with a prompt of 20: the rows are (A, 1), (B, 1), (C, 5) and (D, 3). In the step
        after that A, B and C decode, and D gets 7.
        """
        # YOUR CODE for Exercise 8.1 begins here
        raise NotImplementedError("Exercise 8.1: A planner under a budget: not written yet")
        # YOUR CODE for Exercise 8.1 ends here


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
# ---------------------------------------------------------------------------------------------
def capped_shares(needs: list[int], budget: int, cap: int) -> list[int]:
    """Returns the number of tokens of each prompt that this step computes.

    needs: tokens that each prompt still needs, at least 1 each, in order of admission. budget:
    tokens for all of them together, 0 or more. cap: at least 1.

    Example: capped_shares([1300, 1000, 80], budget=128, cap=32) is [64, 32, 32]. The first round
    gives 32 to each; 32 tokens are left, and the first prompt gets them.
    """
    # YOUR CODE for Exercise 8.2 begins here
    raise NotImplementedError("Exercise 8.2: A cap for long prompts: not written yet")
    # YOUR CODE for Exercise 8.2 ends here


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
    # YOUR CODE for Exercise 8.3 begins here
    raise NotImplementedError("Exercise 8.3: Which positions go into which slots: not written yet")
    # YOUR CODE for Exercise 8.3 ends here

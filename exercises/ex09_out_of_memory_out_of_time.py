"""Exercises of lesson 09: out of memory, out of time.

Four decisions, as plain functions: which request to preempt, to admit, to refuse, and to serve
next. The engine has its own functions in `minibatch/schedulers/`: victims.py, admission/,
backpressure.py, orders.py.

Change none of your arguments: the caller still uses them.

Save this file, then press Check on its card in the lesson, or run `python -m minibatch grade 9.1`.
"""


# ---------------------------------------------------------------------------------------------
# Exercise 9.1: Which request to preempt
# 3 points, 15 minutes, difficulty 2 of 5
# lessons/09_out_of_memory_out_of_time.ipynb, "Six rules on one axis"
#
# The pool has no free block, so one running request must be preempted. Its K and V are
# deleted, and computed again later. Choose the request so that few tokens are computed again. The
# test serves groups of requests like the lesson's. Each time a block is missing, the test calls
# your function. Then it adds up all tokens that were computed again; this sum may be at most 8 %
# above the sum of a good rule. Each running request is a tuple of three whole numbers:
#
#     (num_computed, num_generated, num_left)
#
# num_computed: how many of its tokens have K and V in memory. num_generated: how many tokens its
# answer has now. num_left: how many more tokens its answer can get at most; 1 or more. The list is
# in the order of admission.
# ---------------------------------------------------------------------------------------------
def whom_to_preempt(running: list[tuple[int, int, int]]) -> int:
    """The place in `running` of the request to preempt, 0 for the first.

    The list is never empty.

    Example: whom_to_preempt([(57, 12, 3)]) is 0: there is no other request.
    """
    # YOUR CODE for Exercise 9.1 begins here
    raise NotImplementedError("Exercise 9.1: Which request to preempt: not written yet")
    # YOUR CODE for Exercise 9.1 ends here


# ---------------------------------------------------------------------------------------------
# Exercise 9.2: Which request may begin
# 5 points, 40 minutes, difficulty 4 of 5
# lessons/09_out_of_memory_out_of_time.ipynb, "Who may begin?"
#
# The engine of this exercise never preempts a request. Each running request computes one token a
# step, and holds the blocks that its tokens need. May the next request begin now? Yes, if in every
# future step it and the running requests together need at most num_blocks blocks. Assume that every
# answer reaches its maximum. Each request is a tuple of two whole numbers:
#
#     (num_tokens, max_num_tokens)
#
# num_tokens: how many tokens the request has in memory after the next step; for a new request this
# is its whole prompt. After each further step it has one token more, until it has max_num_tokens.
# In that last step it still holds its blocks; in the step after it they are free. (A request can
# also end earlier, with a shorter answer. You do not know that.)
#
#     step        1   2   3   4   5       the two examples below, 4 blocks of 4 tokens:
#     running    11  12                   3 3 0 0 0 blocks
#     new         1   2   3   4   5       1 1 1 1 2 blocks: True
#
#     running     5   6   7   8   9       2 2 2 2 3 blocks
#     new         1   2   3   4   5       1 1 1 1 2 blocks: False, 5 in step 5
#
# The test serves 1,000 pools with your function. In the test a request that finds no free block
# waits. If all running requests wait, they wait forever: a deadlock. No pool may end in a deadlock,
# and your rule may need at most 10 % more steps than the rule above. (A rule that reserves the
# maximum for every request needs more: it ignores that other requests end earlier.)
# ---------------------------------------------------------------------------------------------
def may_begin(
    newcomer: tuple[int, int], running: list[tuple[int, int]], num_blocks: int, block_size: int
) -> bool:
    """Whether newcomer may join the running requests. num_blocks: all blocks of the pool. No
    single request needs more blocks than the pool has.

    Example: may_begin((1, 12), [(11, 12)], 4, 4) is True: two steps after the next step, the other
    request has ended.
    may_begin((1, 12), [(5, 12)], 4, 4) is False: four steps after the next step they would
    have 5 and 9 tokens, in 2 and 3 blocks.
    """
    # YOUR CODE for Exercise 9.2 begins here
    raise NotImplementedError("Exercise 9.2: Which request may begin: not written yet")
    # YOUR CODE for Exercise 9.2 ends here


# ---------------------------------------------------------------------------------------------
# Exercise 9.3: Which requests to refuse
# 4 points, 30 minutes, difficulty 3 of 5
# lessons/09_out_of_memory_out_of_time.ipynb, "Out of time: say no"
#
# Prompts wait in a queue and are computed one after another, in order of arrival. A prompt's first
# token comes when the prompt is computed. The token is in time if it comes at most limit_ms after
# the prompt's arrival. There are more prompts than can be served in time. Which
# requests do you refuse, so that all other requests are in time, and as many as possible stay?
#
# Each waiting request is a tuple (arrival_ms, cost_ms): the time of its arrival, and the time that
# its prompt takes. The machine is free at now_ms, and begins with the first request that stays. All
# times are whole numbers from 0. No request arrives after now_ms. At most 300 requests wait, and
# `waiting` can be empty.
# ---------------------------------------------------------------------------------------------
def whom_to_refuse(waiting: list[tuple[int, int]], now_ms: int, limit_ms: int) -> list[int]:
    """The places in `waiting` of the refused requests, 0 for the first, in any order.

    Example: Two requests arrived at 0; the first takes 80 ms, the second 30 ms. With a limit of
    100 ms you refuse one of them: whom_to_refuse([(0, 80), (0, 30)], 0, 100) may be [0] or [1].
    With [(0, 80), (0, 30), (0, 60)] it is [0]: 30 + 60 ms are in time.
    """
    # YOUR CODE for Exercise 9.3 begins here
    raise NotImplementedError("Exercise 9.3: Which requests to refuse: not written yet")
    # YOUR CODE for Exercise 9.3 ends here


# ---------------------------------------------------------------------------------------------
# Exercise 9.4: No request starves
# 3 points, 10 minutes, difficulty 2 of 5
# lessons/09_out_of_memory_out_of_time.ipynb, "Who is next?"
#
# A slot is free. Which request is next? Each waiting request is a tuple of two whole numbers from
# 0:
#
#     (priority, arrival_ms)
#
# A higher priority goes first. But the waiting time also counts; otherwise requests of low priority
# could wait forever. Each aging_ms milliseconds of waiting add one point of priority, and half of
# aging_ms adds half a point. With equal points, the earlier arrival is next. Compare exactly: a
# division rounds, so different points can look equal. No request arrives after now_ms.
# ---------------------------------------------------------------------------------------------
def who_is_next(waiting: list[tuple[int, int]], now_ms: int, aging_ms: int) -> int:
    """The place in `waiting` of the next request, 0 for the first. The list is never empty.

    Example: At 600 ms, with aging_ms = 100: the request of priority 0 that arrived at 0 has 6
    points, and the request of priority 5 that arrived at 550 has 5.5 points, so
    who_is_next([(0, 0), (5, 550)], 600, 100) is 0.
    """

    # YOUR CODE for Exercise 9.4 begins here
    raise NotImplementedError("Exercise 9.4: No request starves: not written yet")
    # YOUR CODE for Exercise 9.4 ends here

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
#
# HINT What is lost when a request is preempted? Its tokens are not lost: they are text. The
#      computation of their K and V is lost.
# HINT Only one block is missing. The preempted request may free more than one, but all its tokens
#      must be computed again.
# HINT return min(range(len(running)), key=lambda place: ...)   # its computed tokens
# ---------------------------------------------------------------------------------------------
def whom_to_preempt(running: list[tuple[int, int, int]]) -> int:
    """The place in `running` of the request to preempt, 0 for the first.

    The list is never empty.

    Example: whom_to_preempt([(57, 12, 3)]) is 0: there is no other request.
    """
    # BEGIN SOLUTION
    return min(range(len(running)), key=lambda place: running[place][0])
    # END SOLUTION


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
#
# HINT Draw, for each request, its blocks in the next steps. Each line grows and then falls to 0.
#      When is the sum largest?
# HINT t steps after the next step, a request has num_tokens + t tokens, if that is at most its
#      max_num_tokens; otherwise it has ended. Round up to whole blocks for each request separately.
# HINT for t in range(largest number of steps of a request):
#          needed = sum(-(-(n + t) // block_size) for n, most in everyone if n + t <= most)
#          if needed > num_blocks: return False
#      return True
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
    # BEGIN SOLUTION
    everyone = [*running, newcomer]
    for t in range(max(most - n for n, most in everyone) + 1):
        needed = sum(-(-(n + t) // block_size) for n, most in everyone if n + t <= most)
        if needed > num_blocks:
            return False
    return True
    # END SOLUTION


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
#
# HINT Go through the queue in order, and add up the cost of the requests that stay. When is a
#      request late?
# HINT When a request is late, you must refuse it or one of the requests before it. To refuse the
#      one with the largest cost saves the most time for all later requests.
# HINT for place, (arrival_ms, cost_ms) in enumerate(waiting):
#          stay.append(place); end += cost_ms
#          if end > arrival_ms + limit_ms:
#              longest = max(stay, key=...)   # refuse it, and subtract its cost from `end`
# ---------------------------------------------------------------------------------------------
def whom_to_refuse(waiting: list[tuple[int, int]], now_ms: int, limit_ms: int) -> list[int]:
    """The places in `waiting` of the refused requests, 0 for the first, in any order.

    Example: Two requests arrived at 0; the first takes 80 ms, the second 30 ms. With a limit of
    100 ms you refuse one of them: whom_to_refuse([(0, 80), (0, 30)], 0, 100) may be [0] or [1].
    With [(0, 80), (0, 30), (0, 60)] it is [0]: 30 + 60 ms are in time.
    """
    # BEGIN SOLUTION
    stay, refused, end = [], [], now_ms
    for place, (arrival_ms, cost_ms) in enumerate(waiting):
        stay.append(place)
        end += cost_ms
        if end > arrival_ms + limit_ms:
            longest = max(stay, key=lambda one: waiting[one][1])
            stay.remove(longest)
            refused.append(longest)
            end -= waiting[longest][1]
    return refused
    # END SOLUTION


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
#
# HINT A request that has waited long enough beats any priority. What is its priority now?
# HINT It is priority + (now_ms - arrival_ms) / aging_ms. But / rounds, so equal points can differ a
#      little: multiply by aging_ms to get a whole number. The highest number is next; of equal
#      numbers the earliest arrival.
# HINT def rank(place):
#          priority, arrival_ms = waiting[place]
#          return ...   # a tuple: the priority now, then minus the arrival
#      return max(range(len(waiting)), key=rank)
# ---------------------------------------------------------------------------------------------
def who_is_next(waiting: list[tuple[int, int]], now_ms: int, aging_ms: int) -> int:
    """The place in `waiting` of the next request, 0 for the first. The list is never empty.

    Example: At 600 ms, with aging_ms = 100: the request of priority 0 that arrived at 0 has 6
    points, and the request of priority 5 that arrived at 550 has 5.5 points, so
    who_is_next([(0, 0), (5, 550)], 600, 100) is 0.
    """

    # BEGIN SOLUTION
    def rank(place: int) -> tuple[int, int]:
        priority, arrival_ms = waiting[place]
        return priority * aging_ms + now_ms - arrival_ms, -arrival_ms

    return max(range(len(waiting)), key=rank)
    # END SOLUTION

"""Exercises of lesson 09: out of memory, out of time.

Four decisions, as plain functions: who gives way, who may begin, whom to refuse, who is next. The
engine has its own in `minibatch/schedulers/`: victims.py, admission/, backpressure.py, orders.py.

Change none of your arguments: they belong to the caller, who goes on using them.

Save this file, then press Check on its card in the lesson, or run `python -m minibatch grade 9.1`.
"""


# ---------------------------------------------------------------------------------------------
# Exercise 9.1: Who gives way
# 3 points, 15 minutes, difficulty 2 of 5
# lessons/09_out_of_memory_out_of_time.ipynb, "Six victims on one axis"
#
# The pool has run dry, and one of those who run has to give way: its K and V are thrown away and
# computed again later. Say who, so that few tokens are computed again: in crowds like the lesson's,
# served to the end, you are asked each time, and the sum counts. The least possible is not asked
# for: the sum may be 12 % above that of a good rule. Each of those who run is a tuple of three
# whole numbers:
#
#     (num_computed, num_said, num_left)
#
# num_computed: tokens whose K and V it has in memory. num_said: tokens of its answer so far.
# num_left: tokens that its answer may still get, at most; 1 or more. They stand in the order in
# which they were admitted.
#
# HINT What is lost when somebody gives way? Not its tokens, they are text, but the work of
#      computing their K and V.
# HINT One block was missing. The preempted request frees one or more; what it frees beyond that
#      must be computed again just the same.
# HINT return min(range(len(running)), key=lambda place: ...)   # what it has computed
# ---------------------------------------------------------------------------------------------
def whom_to_preempt(running: list[tuple[int, int, int]]) -> int:
    """The place in `running` of the one who gives way, 0 for the first.

    Never called with nobody.

    Example: whom_to_preempt([(57, 12, 3)]) is 0: there is no one else.
    """
    # BEGIN SOLUTION
    return min(range(len(running)), key=lambda place: running[place][0])
    # END SOLUTION


# ---------------------------------------------------------------------------------------------
# Exercise 9.2: Who may begin
# 5 points, 25 minutes, difficulty 4 of 5
# lessons/09_out_of_memory_out_of_time.ipynb, "Who may begin?"
#
# An engine in which nobody ever gives way. Everyone who runs computes one token a step, and holds
# as many blocks as its tokens fill. Who finds no free block stands still until somebody leaves. If
# all stand still, it is for ever: a deadlock. So take care whom you let in.
#
# May the next one begin? It and all who run are tuples of two whole numbers:
#
#     (num_tokens, max_num_tokens)
#
# num_tokens: how many tokens it has in memory after the coming step; a newcomer its whole prompt.
# It has one more in each step after that, up to max_num_tokens. In the step in which it has
# max_num_tokens tokens it still holds the blocks of all of them; in the next step it has left, with
# all its blocks. It may leave sooner: nobody knows how long its answer gets.
#
# Yours is tried on 1,000 pools: everyone has to be served, always. Keeping the maximum for all does
# that. But it keeps room for a newcomer's last tokens beside somebody who will have left by then.
# Yours has to be done in fewer steps.
#
# HINT Draw it: a line for each of them, its blocks over the steps to come. Each grows and then
#      falls to nothing. When do they need most together?
# HINT t steps after the coming one, somebody has num_tokens + t tokens, if that is not beyond its
#      max_num_tokens; else it has left. Each rounds up to whole blocks, by itself.
# HINT for t in range(as long as anybody may stay):
#          needed = sum(-(-(n + t) // block_size) for n, most in everyone if n + t <= most)
#          if needed > num_blocks: return False
#      return True
# ---------------------------------------------------------------------------------------------
def may_begin(
    newcomer: tuple[int, int], running: list[tuple[int, int]], num_blocks: int, block_size: int
) -> bool:
    """Whether it may join those who run. num_blocks: of the whole pool, free or not. Nobody comes
    who needs more than that alone.

    Example: may_begin((1, 12), [(11, 12)], 4, 4) is True: in two steps the other has left.
    may_begin((1, 12), [(5, 12)], 4, 4) is False: four steps after the coming one they would have 5
    and 9 tokens, in 2 and 3 blocks.
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
# Exercise 9.3: Whom to refuse
# 4 points, 20 minutes, difficulty 3 of 5
# lessons/09_out_of_memory_out_of_time.ipynb, "Out of time: say no"
#
# A queue of prompts, computed one after another in the order in which they came. A prompt's first
# token comes when it is computed, and it is in time if that is no later than limit_ms after its
# arrival. There are more than can be served in time. Whom do you refuse, so that all who stay are
# in time, and as many as possible stay?
#
# Each one who waits is a tuple (arrival_ms, cost_ms): when it came, and how long its prompt takes.
# The machine is free at now_ms, and begins with the first who stays. All times are whole numbers
# from 0. No request arrives after now_ms. At most 300 requests wait; there may be none.
#
# HINT Go through the queue in its order, adding up what those cost who stay. When does it go wrong?
# HINT Somebody is late. Then one of those up to here has to go, whichever; the one who helps all
#      that come behind most is the one who costs most. It need not be the one who is late.
# HINT for place, (arrival_ms, cost_ms) in enumerate(waiting):
#          stay.append(place); end += cost_ms
#          if end > arrival_ms + limit_ms:
#              longest = max(stay, key=...)   # refuse it, and take its cost back from `end`
# ---------------------------------------------------------------------------------------------
def whom_to_refuse(waiting: list[tuple[int, int]], now_ms: int, limit_ms: int) -> list[int]:
    """The places in `waiting` of those who are refused, 0 for the first, in any order.

    Example: Two came at 0; the first takes 80 ms, the second 30. With a limit of 100 ms one goes:
    whom_to_refuse([(0, 80), (0, 30)], 0, 100) may be [0] or [1]. With [(0, 80), (0, 30), (0, 60)]
    it is [0]: 30 + 60 ms are in time.
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
# Exercise 9.4: Nobody starves
# 3 points, 10 minutes, difficulty 2 of 5
# lessons/09_out_of_memory_out_of_time.ipynb, "Who is next?"
#
# A slot is free. Who is next? Each one who waits is a tuple of two whole numbers from 0:
#
#     (priority, arrival_ms)
#
# A higher priority goes first; but waiting counts as well, or those of low priority might wait for
# ever: each aging_ms milliseconds of waiting are worth one point of priority, and a part of them
# the same part of a point. Of equals, who came first is next. Two are equal if their points are
# exactly the same; a division may round. No request arrives after now_ms.
#
# HINT A request that has waited long enough beats any priority. What is its priority now?
# HINT priority + (now_ms - arrival_ms) / aging_ms. But / rounds, and equals may come out a little
#      apart: times aging_ms it is a whole number. The highest is next; of equals the earliest.
# HINT def rank(place):
#          priority, arrival_ms = waiting[place]
#          return ...   # a tuple: the priority now, then minus the arrival
#      return max(range(len(waiting)), key=rank)
# ---------------------------------------------------------------------------------------------
def who_is_next(waiting: list[tuple[int, int]], now_ms: int, aging_ms: int) -> int:
    """The place in `waiting` of the one who is next, 0 for the first. Never called with nobody.

    Example: At 600 ms, with 100 ms to a point: who came at 0 without priority has 6 points by now,
    and who came at 550 with a priority of 5 has 5.5, so who_is_next([(0, 0), (5, 550)], 600, 100)
    is 0.
    """

    # BEGIN SOLUTION
    def rank(place: int) -> tuple[int, int]:
        priority, arrival_ms = waiting[place]
        return priority * aging_ms + now_ms - arrival_ms, -arrival_ms

    return max(range(len(waiting)), key=rank)
    # END SOLUTION

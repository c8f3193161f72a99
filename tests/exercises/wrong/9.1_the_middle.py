"""Neither first nor last.

caught by: test_of_the_five_little_is_computed_again
says: What is lost is what somebody has computed
"""


def whom_to_preempt(running):
    return len(running) // 2

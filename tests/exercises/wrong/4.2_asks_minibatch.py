"""Leaves it to minibatch.

caught by: test_a_prompt_counts_with_all_its_tokens
code: part_is_withheld
"""


class MyContinuous(MyContinuous):  # noqa: F821
    def update(self, plan, tokens, now):
        return mb.Scheduler.update(self, plan, tokens, now)  # noqa: F821

"""Starves the long one.

caught by: test_first_come_is_first_served
code: joins_in_another_order
"""


class MyContinuous(MyContinuous):  # noqa: F821
    def plan(self, now):
        ordered = sorted(self.waiting, key=lambda s: s.num_prompt_tokens)
        self.waiting.clear()
        self.waiting.extend(ordered)
        return super().plan(now)

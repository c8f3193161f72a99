"""Pads every step to the longest prompt.

caught by: test_short_prompts_are_padded_to_the_longest
code: padded_to_the_longest_prompt
"""

import minibatch as mb


class MyStatic(MyStatic):  # noqa: F821
    def plan(self, now):
        rows = super().plan(now).rows
        longest = max((s.num_prompt_tokens for s in self.running), default=0)
        return mb.StepPlan([mb.Row(r.sequence, r.num_tokens, longest - r.num_tokens) for r in rows])

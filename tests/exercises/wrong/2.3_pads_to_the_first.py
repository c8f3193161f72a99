"""Takes the first member for the longest.

caught by: test_short_prompts_are_padded_to_the_longest
code: padded_to_the_first
"""

import minibatch as mb


class MyStatic(MyStatic):  # noqa: F821
    def plan(self, now):
        rows = super().plan(now).rows
        first = rows[0].num_tokens if rows else 0
        padding = [max(first - row.num_tokens, int(row.num_tokens == 0)) for row in rows]
        return mb.StepPlan(
            [mb.Row(r.sequence, r.num_tokens, n) for r, n in zip(rows, padding, strict=True)]
        )

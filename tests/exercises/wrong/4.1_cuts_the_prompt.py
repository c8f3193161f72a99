"""Computes a long prompt in pieces.

caught by: test_a_prompt_is_computed_whole_in_one_row
code: other_prompt_in_pieces
"""

import minibatch as mb


class MyContinuous(MyContinuous):  # noqa: F821
    def plan(self, now):
        rows = super().plan(now).rows
        return mb.StepPlan([mb.Row(row.sequence, min(4, row.num_tokens)) for row in rows])

"""Keeps the batch in a list of its own, in reverse order."""

import minibatch as mb


class MyStatic(MyStatic):  # noqa: F821
    def plan(self, now):
        if not any(not s.is_finished for s in self.running):
            while self.waiting:
                head = self.waiting[0]
                if len(self.running) >= self.max_batch_size:
                    break
                if not self.can_grow(head, head.max_num_tokens):
                    break
                self.admit(now, head.max_num_tokens)
            self.batch = self.running[::-1]
        self.batch = [s for s in self.batch if s in self.running]  # less who was given up
        is_first = any(s.num_computed_tokens == 0 for s in self.batch)
        width = max(s.num_prompt_tokens for s in self.batch) if is_first and self.batch else 1
        rows = []
        for s in self.batch:
            todo = s.num_prompt_tokens if is_first else int(not s.is_finished)
            rows.append(mb.Row(s, todo, width - todo))
        return mb.StepPlan(rows)

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
        todo = {
            s: int(not s.is_finished) and s.num_tokens - s.num_computed_tokens for s in self.batch
        }
        width = max(todo.values(), default=1)
        return mb.StepPlan([mb.Row(s, n, width - n) for s, n in todo.items()])

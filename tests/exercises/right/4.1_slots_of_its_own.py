"""Keeps a list of slots, does its own admitting, and lists the rows from the last slot down."""

import minibatch as mb


class MyContinuous(MyContinuous):  # noqa: F821
    def plan(self, now):
        slots = list(self.running) + [None] * (self.max_batch_size - len(self.running))
        for number, holder in enumerate(slots):
            if holder is None and self.waiting:
                missing = self.waiting[0].num_new_blocks(
                    self.waiting[0].max_num_tokens, self.pool.block_size
                )
                if missing > self.pool.num_free:
                    break
                newcomer = self.waiting.popleft()
                newcomer.block_table = self.pool.allocate(missing)
                if newcomer.first_scheduled_time is None:
                    newcomer.first_scheduled_time = now
                self.running.append(newcomer)
                slots[number] = newcomer
        return mb.StepPlan(
            [mb.Row(s, s.num_tokens - s.num_computed_tokens) for s in reversed(slots) if s]
        )

"""Waits also for steps with later rows of that name.

caught by: test_a_request_id_may_come_back
code: block_is_kept
"""


class Releases:
    def __init__(self):
        self.steps, self.waiting = {}, {}

    def launched(self, step, requests):
        self.steps[step] = set(requests)

    def ended(self, request, blocks):
        if not any(request in rows for rows in self.steps.values()):
            return list(blocks)
        self.waiting[request] = [*self.waiting.get(request, []), *blocks]
        return []

    def collected(self, step):
        del self.steps[step]
        free = [r for r in self.waiting if not any(r in rows for rows in self.steps.values())]
        return [block for request in free for block in self.waiting.pop(request)]

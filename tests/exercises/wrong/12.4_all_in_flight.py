"""Keeps blocks until no step is in flight.

caught by: test_blocks_wait_for_the_step_in_flight
code: block_is_kept
"""


class Releases:
    def __init__(self):
        self.in_flight, self.waiting = {}, []

    def launched(self, step, requests):
        self.in_flight[step] = set(requests)

    def ended(self, request, blocks):
        if not any(request in rows for rows in self.in_flight.values()):
            return list(blocks)
        self.waiting += blocks
        return []

    def collected(self, step):
        del self.in_flight[step]
        if self.in_flight:
            return []
        found, self.waiting = self.waiting, []
        return found

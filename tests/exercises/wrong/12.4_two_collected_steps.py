"""Waits for as many collected steps as are usual: two.

caught by: test_blocks_wait_for_the_step_in_flight
code: block_is_kept
"""


class Releases:
    def __init__(self):
        self.waiting, self.rows = [], {}

    def launched(self, step, requests):
        self.rows[step] = set(requests)

    def ended(self, request, blocks):
        if not any(request in rows for rows in self.rows.values()):
            return list(blocks)
        self.waiting.append([2, list(blocks)])
        return []

    def collected(self, step):
        del self.rows[step]
        for one in self.waiting:
            one[0] -= 1
        found = [block for left, blocks in self.waiting if left == 0 for block in blocks]
        self.waiting = [one for one in self.waiting if one[0]]
        return found

"""Each step in flight has its own list of blocks to free."""

from collections import deque


class Releases:
    def __init__(self):
        self.flight = deque()

    def launched(self, step, requests):
        self.flight.append([set(requests), []])

    def ended(self, request, blocks):
        mine = [one for one in self.flight if request in one[0]]
        for names, _ in mine:
            names.remove(request)
        target = mine[-1][1] if mine else []
        target.extend(blocks)
        return [] if mine else target

    def collected(self, step):
        return tuple(self.flight.popleft()[1])

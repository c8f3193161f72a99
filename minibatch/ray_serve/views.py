"""What the router knows of each replica.

It counts what it has sent and what has come to its end; a replica's own report, which Ray brings now
and then, is older than that.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from .call import Call


@dataclass
class View:
    num_requests: int = 0


class RoundRobin:
    def __init__(self):
        self.n = -1

    def choose(self, request, views):
        self.n += 1
        return self.n % len(views)


class LeastRequests:
    def choose(self, request, views):
        return min(range(len(views)), key=lambda i: views[i].num_requests)


class Fleet:
    def __init__(self, router):
        self.router = router
        self.sent = {}

    def choose(self, name, call: Call, stats: dict) -> int:
        names = list(stats)
        views = [View(sum(to == n for to in self.sent.values())) for n in names]
        index = self.router.choose(call.requests[0], views)
        self.sent[name] = names[index]
        return index

    def ended(self, name):
        self.sent.pop(name, None)

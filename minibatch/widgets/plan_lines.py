"""The source of a policy's `plan`, and which of its lines admitted which request."""

from __future__ import annotations

import inspect
import sys

from ..core.request import Sequence
from ..schedulers import Scheduler


class PlanLines:
    """Notes, for each call of the policy's `admit`, the line of its `plan` at that moment.

    For an indirect call, such as `super().plan(now)`, the line in this `plan` is noted.
    """

    def __init__(self, policy: Scheduler) -> None:
        self.plan = inspect.unwrap(type(policy).plan)
        self.title = self.plan.__qualname__
        self._policy = policy
        self._lines: dict[str, int] = {}
        policy.admit = self._admit  # of this policy object only

    def _admit(self, *arguments: object, **keywords: object) -> Sequence:
        code = inspect.unwrap(type(self._policy).plan).__code__  # an edit makes another code object
        caller = sys._getframe(1)
        while caller is not None and caller.f_code is not code:
            caller = caller.f_back
        admitted = type(self._policy).admit(self._policy, *arguments, **keywords)
        if caller is not None:
            self._lines[admitted.request_id] = caller.f_lineno
        return admitted

    def of(self, names: tuple[str, ...]) -> dict[int, tuple[str, ...]]:
        """For each line number of the file: the requests, among `names`, that it admitted."""
        lines = {self._lines[name] for name in names if name in self._lines}
        return {
            line: tuple(name for name in names if self._lines.get(name) == line) for line in lines
        }

    def source(self) -> list[tuple[int, str]]:
        """(line number, line) of `plan`; empty if Python cannot find its source."""
        try:
            lines, first = inspect.getsourcelines(self.plan)
        except (OSError, TypeError):
            return []
        indent = len(lines[0]) - len(lines[0].lstrip())
        return [(first + i, line[indent:].rstrip()) for i, line in enumerate(lines)]

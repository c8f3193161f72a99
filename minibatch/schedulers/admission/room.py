"""What every admission rule shares: room is promised in tokens and counted in blocks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...core.request import Sequence

if TYPE_CHECKING:
    from ..base import Scheduler


class Admission:
    """A rule of your own derives from this and says for how many tokens room is promised.

    Blocks are taken only when tokens are computed. What running requests were promised and have not
    taken yet must stay free for them; it is counted again at every step.
    """

    def num_tokens(self, sequence: Sequence) -> int:
        """Tokens for which this request is promised room, at least those it has."""
        raise NotImplementedError

    def num_spare(self, scheduler: Scheduler) -> int:
        """More blocks that must stay free."""
        return 0

    def learn(self, scheduler: Scheduler, preempted: bool) -> None:
        """Called in every step. preempted: whether this step preempted a request."""

    def reset(self) -> None:
        """Forget what was learned. Called by `Engine.reset`."""

    def admits(self, scheduler: Scheduler, sequence: Sequence) -> bool:
        """Whether the pool can keep one more promise. If no request runs, any request may begin;
        some would never run otherwise."""
        if not scheduler.running:
            return scheduler.can_grow(sequence, sequence.num_uncomputed_tokens)
        promised = sum(self.num_owed(scheduler, s) for s in (*scheduler.running, sequence))
        return promised + self.num_spare(scheduler) <= scheduler.pool.num_free

    def num_owed(self, scheduler: Scheduler, sequence: Sequence) -> int:
        """Promised blocks that it has not taken yet."""
        missing = self.num_tokens(sequence) - sequence.num_launched_tokens
        return scheduler.num_missing(sequence, max(0, missing))

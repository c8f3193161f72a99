"""What every admission shares: room is promised in tokens, and counted in blocks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...core.request import Sequence
from ...memory.sharing import num_lacking

if TYPE_CHECKING:
    from ..base import Scheduler


class Admission:
    """One of your own derives from this and says for how many tokens room is promised.

    Blocks are taken only when tokens are computed; a promise is what must then be free, counted
    again at every step: of all who run, what they have not taken yet of what they were promised.
    """

    def num_tokens(self, sequence: Sequence) -> int:
        """Tokens, those it has included, for which it shall find room; at least those it has."""
        raise NotImplementedError

    def num_spare(self, scheduler: Scheduler) -> int:
        """Blocks to be left free besides."""
        return 0

    def learn(self, scheduler: Scheduler, gave_way: bool) -> None:
        """A step is planned; gave_way: whether somebody had to."""

    def admits(self, scheduler: Scheduler, sequence: Sequence) -> bool:
        """Whether the pool can keep one more promise. Alone in an empty machine anybody may begin,
        or some would wait for ever."""
        if not scheduler.running:
            return scheduler.can_grow(sequence, sequence.num_uncomputed_tokens)
        promised = sum(self.num_owed(scheduler, s) for s in (*scheduler.running, sequence))
        return promised + self.num_spare(scheduler) <= scheduler.pool.num_free

    def num_owed(self, scheduler: Scheduler, sequence: Sequence) -> int:
        """Blocks of its promise that it has not taken yet."""
        missing = self.num_tokens(sequence) - sequence.num_computed_tokens
        return num_lacking(scheduler.pool, sequence, max(0, missing))

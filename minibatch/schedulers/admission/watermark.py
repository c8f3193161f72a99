"""Promise room for the tokens that a request has, and keep some blocks free."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from .prompt_only import PromptOnly

if TYPE_CHECKING:
    from ..base import Scheduler


class Watermark(PromptOnly):
    """share: of the pool's blocks, free after each admission. (vLLM's `watermark` is 0 by default,
    which is off; its first engine had 0.01.)"""

    def __init__(self, share: float = 0.01) -> None:
        if not 0 <= share < 1:
            raise ValueError(f"share is {share}; give 0 or more, and less than 1")
        self.share = share

    def num_spare(self, scheduler: Scheduler) -> int:
        return math.ceil(self.share * scheduler.pool.num_blocks)

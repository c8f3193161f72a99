"""Whether the next request may be admitted. Each rule assumes another length of its answer.

room.py             what they share: promises are counted in blocks
reserve_maximum.py  the longest it allows: no preemption ever       (GUARANTEED_NO_EVICT)
prompt_only.py      none: as many requests as fit now               (MAX_UTILIZATION)
watermark.py        none, but some blocks stay free                 (vLLM's watermark)
optimistic.py       a share of the longest, learned from the run    (SGLang's new-token ratio)
"""

from .optimistic import Optimistic
from .prompt_only import PromptOnly
from .reserve_maximum import ReserveMaximum
from .room import Admission
from .watermark import Watermark

__all__ = ["Admission", "Optimistic", "PromptOnly", "ReserveMaximum", "Watermark"]

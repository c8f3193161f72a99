"""Who may begin: each file one answer to the question how long an answer will get.

reserve_maximum.py  as long as it may: nobody ever gives way  (GUARANTEED_NO_EVICT)
prompt_only.py      no word of it yet: as many as fit now     (MAX_UTILIZATION)
watermark.py        the same, but some blocks stay free       (vLLM's watermark)
optimistic.py       a share of the longest, learnt            (SGLang's new-token ratio)
"""

from .optimistic import Optimistic
from .prompt_only import PromptOnly
from .reserve_maximum import ReserveMaximum
from .room import Admission
from .watermark import Watermark

__all__ = ["Admission", "Optimistic", "PromptOnly", "ReserveMaximum", "Watermark"]

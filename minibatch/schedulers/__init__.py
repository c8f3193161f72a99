"""The batching policies, side by side. Each is one file, one class, one `plan`.

Sequential, Static, Dynamic and Continuous are read in this order; Budget is Continuous again, with
what policies differ in as parts of their own: admission/ (who may begin), victims.py (who gives
way), orders.py (who is next), chunks.py (how prompts share a budget), backpressure.py (how long the
queue may get). PrefillFirst is what Budget is compared with.
"""

from .backpressure import QueueFull, QueueLimits
from .base import Scheduler
from .budget import Budget
from .continuous import Continuous
from .dynamic import Dynamic
from .prefill_first import PrefillFirst
from .sequential import Sequential
from .static import Static

__all__ = [
    "Budget",
    "Continuous",
    "Dynamic",
    "PrefillFirst",
    "QueueFull",
    "QueueLimits",
    "Scheduler",
    "Sequential",
    "Static",
]

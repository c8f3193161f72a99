"""The batching policies, side by side. Each is one file, one class, one `plan`.

base.py           what every policy shares: queue, running list, admit, preempt
sequential.py     one request at a time
static.py         a batch runs until its last request has finished
dynamic.py        the same, after waiting a little for more requests
continuous.py     requests join and leave in every step
budget.py         the same under a token budget, with the parts below
prefill_first.py  what Budget is compared with: whole prompts first

orders.py         which request is admitted next
admission/        whether it may be admitted now
chunks.py         how prompts share the token budget
victims.py        which request is preempted
backpressure.py   how long the queue may get
"""

from .backpressure import QueueFull, QueueLimits
from .base import Scheduler
from .base import reset_policy as reset_policy
from .budget import Budget
from .continuous import Continuous
from .dynamic import Dynamic
from .prefill_first import PrefillFirst
from .sequential import Sequential
from .static import Static

__all__ = [  # the one list of them: `mb.Static`, and every menu of policies, come from here
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
POLICIES = tuple(n for n in __all__ if issubclass(globals()[n], Scheduler) and n != "Scheduler")

"""The batching policies, side by side. Each is one file, one class, one `plan`."""

from .base import Scheduler
from .continuous import Continuous
from .dynamic import Dynamic
from .sequential import Sequential
from .static import Static

__all__ = ["Continuous", "Dynamic", "Scheduler", "Sequential", "Static"]

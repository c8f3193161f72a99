"""Controls for a notebook: an engine to step through, and a sandbox of made-up traffic.

    EnginePlayer    a real engine, step by step, forward and back
    Playground      batch size, window, arrivals and answer lengths, re-planned as you move them

Everything drawn here comes from records (`minibatch.trace`), so any policy can be looked at.
"""

from .player import EnginePlayer
from .playground import Playground

__all__ = ["EnginePlayer", "Playground"]

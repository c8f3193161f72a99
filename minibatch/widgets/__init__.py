"""Controls for a notebook: an engine to step through, and a sandbox of made-up traffic.

    EnginePlayer    a real engine, step by step, forward and back
    KernelStepper   a CUDA thread block from barrier to barrier, as the kernel lab saw it
    Slide           a figure that is drawn anew as a slider moves
    Playground      batch size, window, arrivals and answer lengths, re-planned as you move them

Everything drawn here comes from records (`minibatch.trace`), so any policy can be looked at.
"""

from .kernel_stepper import KernelStepper
from .player import EnginePlayer
from .playground import Playground
from .slide import Slide

__all__ = ["EnginePlayer", "KernelStepper", "Playground", "Slide"]

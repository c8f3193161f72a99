"""Controls for a notebook: engines to step through, and a sandbox of made-up traffic.

    EnginePlayer    a real engine, step by step, forward and back
    BlockMap        the pool of a real engine, block by block, beside its slots
    MemoryPlayer    the same requests through several memories, every place of each
    EngineRace      two or three of them in lockstep, by step or by second
    KernelStepper   a CUDA thread block from barrier to barrier, as the kernel lab saw it
    Slide           a figure that is drawn anew as a slider moves
    WindowSlider    who leaves when, as you move the window that a batch waits
    Playground      any policies on made-up arrivals, re-planned as you move the controls
    watch           answers that grow side by side as an engine writes them

Everything drawn here comes from records (`minibatch.trace`), so any policy can be looked at.
"""

from .block_map import BlockMap
from .kernel_stepper import KernelStepper
from .memory_player import MemoryPlayer
from .player import EnginePlayer
from .playground import Playground
from .race import EngineRace
from .slide import Slide
from .watch import watch
from .window_slider import WindowSlider

__all__ = [
    "BlockMap",
    "EnginePlayer",
    "EngineRace",
    "KernelStepper",
    "MemoryPlayer",
    "Playground",
    "Slide",
    "WindowSlider",
    "watch",
]

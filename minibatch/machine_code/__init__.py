"""What a compiler makes of a kernel, for any GPU, without that GPU.

compiled.py   registers, stack, float64 and loads of a kernel; the thread blocks that fit
in_flight.py  bytes that a kernel has asked for and not yet received, and what a GPU needs
"""

from .compiled import Compiled, compiled

__all__ = ["Compiled", "compiled"]

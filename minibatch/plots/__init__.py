"""Pictures of a run. Each function takes what was measured and returns a matplotlib Figure.

A figure answers one question, and its title states the finding. Colours are Okabe and Ito's, which
colour-blind readers can tell apart; hatching and labels say the same without colour. In a notebook
a figure brings its alt text along (`picture.py`). `ax=` draws into axes of your own instead.

    timeline          who held which slot at which step, and what for
    staircase         how many rows of each step yield a token, and how many are padding
    waits             each request's wait for a slot, for its first token, for its last
    window_tradeoff   what a window for forming batches buys, and what it costs
    pass_times        what every pass of a run took, and for whom it was
    savings           how many passes and how many seconds several runs took
    passes            which tokens go into every pass of one answer, word by word
    phases            what a token read costs, and what a token written
    token_costs       the next token with and without a KV cache
    step_times        where the time of a decode step goes, as the batch grows
    cost_stack        what such a step must cost, by cause, beside what it took
    roofline          what a machine can do at most, and what was reached
    block_table_walk  which blocks of the pool a kernel reads, who, and in what order
    source_heat       a kernel's source, and the bytes that every line moves
    warp_access       what one instruction of a warp asks of memory, and what has to move
    plan_difference   two runs of the same requests, and the step where they part
    room              what a class guessed, and what it is

They stand in figures/ and load matplotlib when first used. What is found in the records for them is
in spans.py; what draws it as SVG, at every step of a player and in a grader's verdict, in svg.py.
"""

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .figures.block_table_walk import block_table_walk
    from .figures.cost_stack import cost_stack
    from .figures.pass_times import pass_times
    from .figures.passes import passes
    from .figures.phases import phases
    from .figures.plan_difference import plan_difference
    from .figures.roofline import roofline
    from .figures.room import room
    from .figures.savings import savings
    from .figures.source_heat import source_heat
    from .figures.staircase import staircase
    from .figures.step_times import step_times
    from .figures.timeline import timeline
    from .figures.token_costs import token_costs
    from .figures.waits import waits
    from .figures.warp_access import warp_access
    from .figures.window_tradeoff import window_tradeoff

__all__ = [
    "block_table_walk",
    "cost_stack",
    "pass_times",
    "passes",
    "phases",
    "plan_difference",
    "roofline",
    "room",
    "savings",
    "source_heat",
    "staircase",
    "step_times",
    "timeline",
    "token_costs",
    "waits",
    "warp_access",
    "window_tradeoff",
]


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f".figures.{name}", __name__), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})

"""Pictures of a run. Each function takes what was measured and returns a matplotlib Figure.

A figure answers one question, and its title states the finding. Colours are Okabe and Ito's, which
colour-blind readers can tell apart; hatching and labels say the same without colour. In a notebook
a figure brings its alt text along (`picture.py`). `ax=` draws into axes of your own instead.

    timeline          who held which slot at which step, and what for
    staircase         how many rows of each step yield a token, and how many are padding
    waits             each request's wait for a slot, for its first token, for its last
    window_tradeoff   what a window for forming batches buys, and what it costs
    dumbbells         several runs' figures as multiples of the first run's
    heartbeat         the time from each token of an answer to the next
    melting           a step's tokens: a padded rectangle, laid end to end, and their mask
    tradeoff          tokens a second of all slots, against the wait of each for a token
    utilisation       how many slots are at work, step by step
    token_costs       the next token with and without a KV cache
    step_times        where the time of a decode step goes, as the batch grows
    roofline          what machines can do at most, and what was reached
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
    from .figures.dumbbells import dumbbells
    from .figures.heartbeat import heartbeat
    from .figures.melting import melting
    from .figures.plan_difference import plan_difference
    from .figures.roofline import roofline
    from .figures.room import room
    from .figures.source_heat import source_heat
    from .figures.staircase import staircase
    from .figures.step_times import step_times
    from .figures.timeline import timeline
    from .figures.token_costs import token_costs
    from .figures.tradeoff import tradeoff
    from .figures.utilisation import utilisation
    from .figures.waits import waits
    from .figures.warp_access import warp_access
    from .figures.window_tradeoff import window_tradeoff

__all__ = [
    "block_table_walk",
    "dumbbells",
    "heartbeat",
    "melting",
    "plan_difference",
    "roofline",
    "room",
    "source_heat",
    "staircase",
    "step_times",
    "timeline",
    "token_costs",
    "tradeoff",
    "utilisation",
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

"""Pictures of a run. Each function takes what was measured and returns a matplotlib Figure.

A figure answers one question, and its title states the finding. Colours are Okabe and Ito's, which
colour-blind readers can tell apart; hatching and labels say the same without colour. In a notebook
a figure brings its alt text along (`picture.py`). `ax=` draws into axes of your own instead.

    timeline          who held which slot at which step, and what for
    staircase         how many rows of each step yield a token, and how many are padding
    token_grid        what a handful of requests did in each of a few steps, a letter a cell
    rectangle         prompts of a padded batch: words, padding, mask and positions
    phase_costs       what a run spent on prompts, and what on answers
    same_answers      the picture to share: two policies, equal work, and the rows in vain
    waits             each request's wait for a slot, for its first token, for its last
    arrivals          when requests come
    capacity          how many a policy serves when it is never out of work, and what it burns
    departures        who waits, when a batch leaves, and what runs then, on an axis of seconds
    departure_difference   two runs of the same requests, and the batch that leaves otherwise
    window_curve      what a window does to the first token, or to the machine, over many streams
    stream_and_window   one stream's batches, above all streams by window
    rules             rules for when a batch may leave, on the same streams
    tails             how much of a batch is padding, by how many are in it
    pass_times        what every pass of a run took, and for whom it was
    savings           how many passes and how many seconds several runs took
    passes            which tokens go into every pass of one answer, word by word
    phases            what a token read costs, and what a token written
    dumbbells         several runs' figures as multiples of the first run's
    scorecard         a few figures of several runs, a panel for each figure
    heartbeat         the time from each token of an answer to the next
    seismograph       a line for each answer, thick where somebody's prompt makes it wait
    prompt_progress   how far each prompt has come, chunk by chunk
    budget_curve      what a token budget does to ITL, TTFT and throughput
    thrown_away       tokens in memory, request by request, and those computed a second time
    livelock          two who preempt one another: what each has in the pool, and what comes of it
    waste_bars        several policies on one axis: what each computed in vain
    waits_by_arrival  everybody's TTFT by when they came, and who was turned away
    melting           a step's tokens: a padded rectangle, laid end to end, and their mask
    tradeoff          tokens a second of all slots, against the wait of each for a token
    utilisation       how many slots are at work, step by step
    kv_read           what attention reads of the KV cache, step by step
    token_costs       the next token with and without a KV cache
    cost_stack        what such a step must cost, by cause, beside what it took
    roofline          what a machine can do at most, and what was reached
    memory_use        what every place of a pool is good for, step by step
    fragmentation     allocators side by side: how much of the memory holds tokens
    two_by_two        two ideas with and without each, and what each step buys
    table_and_pool    where an answer's words are kept: through the block table into the pool
    block_size_tradeoff   what speaks for small blocks, and what for large ones
    prefix_tree       prompts that begin alike, and what each found in the cache
    first_tokens      what the cache saves each of them of the wait for a first token
    hit_curve         how much is found, by how many blocks there are
    block_table_walk  which blocks of the pool a kernel reads, who, and in what order
    warp_access       what one instruction of a warp asks of memory, and what has to move
    warp_film         the same of every instruction of a warp, one after the other
    dataflow          who hands what to whom through an array, between any two barriers
    online_softmax    a softmax that never sees all scores, tile by tile
    ladder            kernels that compute the same, and how many times they read what they need
    waves             thread blocks on the multiprocessors of a model GPU
    drafts            guesses of one request, token by token: kept, refused, never judged
    speculation       what guessers bring, by batch size, and from where on they cost
    plan_difference   two runs of the same requests, and the step where they part
    room              what a class guessed, and what it is

They stand in figures/ and load matplotlib when first used. What is found in the records for them is
in spans.py; what draws it as SVG, at every step of a player and in a grader's verdict, in svg.py.
"""

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .figures.arrivals import arrivals
    from .figures.block_size_tradeoff import block_size_tradeoff
    from .figures.block_table_walk import block_table_walk
    from .figures.budget_curve import budget_curve
    from .figures.capacity import capacity
    from .figures.cost_stack import cost_stack
    from .figures.dataflow import dataflow
    from .figures.departure_difference import departure_difference
    from .figures.departures import departures
    from .figures.drafts import drafts
    from .figures.dumbbells import dumbbells
    from .figures.first_tokens import first_tokens
    from .figures.fragmentation import fragmentation
    from .figures.heartbeat import heartbeat
    from .figures.hit_curve import hit_curve
    from .figures.kv_read import kv_read
    from .figures.ladder import ladder
    from .figures.livelock import livelock
    from .figures.melting import melting
    from .figures.memory_use import memory_use
    from .figures.online_softmax import online_softmax
    from .figures.pass_times import pass_times
    from .figures.passes import passes
    from .figures.phase_costs import phase_costs
    from .figures.phases import phases
    from .figures.plan_difference import plan_difference
    from .figures.prefix_tree import prefix_tree
    from .figures.prompt_progress import prompt_progress
    from .figures.rectangle import rectangle
    from .figures.roofline import roofline
    from .figures.room import room
    from .figures.rules import rules
    from .figures.same_answers import same_answers
    from .figures.savings import savings
    from .figures.scorecard import scorecard
    from .figures.seismograph import seismograph
    from .figures.speculation import speculation
    from .figures.staircase import staircase
    from .figures.stream_and_window import stream_and_window
    from .figures.table_and_pool import table_and_pool
    from .figures.tails import tails
    from .figures.thrown_away import thrown_away
    from .figures.timeline import timeline
    from .figures.token_costs import token_costs
    from .figures.token_grid import token_grid
    from .figures.tradeoff import tradeoff
    from .figures.two_by_two import two_by_two
    from .figures.utilisation import utilisation
    from .figures.waits import waits
    from .figures.waits_by_arrival import waits_by_arrival
    from .figures.warp_access import warp_access
    from .figures.warp_film import warp_film
    from .figures.waste_bars import waste_bars
    from .figures.waves import waves
    from .figures.window_curve import window_curve

__all__ = [
    "arrivals",
    "block_size_tradeoff",
    "block_table_walk",
    "budget_curve",
    "capacity",
    "cost_stack",
    "dataflow",
    "departure_difference",
    "departures",
    "drafts",
    "dumbbells",
    "first_tokens",
    "fragmentation",
    "heartbeat",
    "hit_curve",
    "kv_read",
    "ladder",
    "livelock",
    "melting",
    "memory_use",
    "online_softmax",
    "pass_times",
    "passes",
    "phase_costs",
    "phases",
    "plan_difference",
    "prefix_tree",
    "prompt_progress",
    "rectangle",
    "roofline",
    "room",
    "rules",
    "same_answers",
    "savings",
    "scorecard",
    "seismograph",
    "speculation",
    "staircase",
    "stream_and_window",
    "table_and_pool",
    "tails",
    "thrown_away",
    "timeline",
    "token_costs",
    "token_grid",
    "tradeoff",
    "two_by_two",
    "utilisation",
    "waits",
    "waits_by_arrival",
    "warp_access",
    "waste_bars",
    "warp_film",
    "waves",
    "window_curve",
]


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f".figures.{name}", __name__), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})

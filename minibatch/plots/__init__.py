"""Pictures of a run. Each function takes what was measured and returns a matplotlib Figure.

A figure answers one question, and its title states the finding. Colours are Okabe and Ito's, which
colour-blind readers can tell apart; hatching and labels repeat what the colours mean. In a notebook
a figure has an alt text. `ax=` draws into your own axes instead.

    figures/     the figures, one file each, named like its function; its docstring lists them
    batches.py   the batches of a run: when each opened, departed and ended
    colours.py   what each colour means
    guesses.py   predictions: kept by name, drawn into the figure that answers
    multiprocessors.py  thread blocks on those of a model GPU
    pages.py     loads the HTML and SVG templates of a folder
    picture.py   a Figure with alt text, and the common look
    spans.py     what each slot did, found in the step records
    svg.py       the same as SVG, for players and for a grader's verdict; without matplotlib

A figure loads matplotlib when it is first used.
"""

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .figures.ablation import ablation
    from .figures.accept_or_redraw import accept_or_redraw
    from .figures.apart_or_mixed import apart_or_mixed
    from .figures.around_request import around_request
    from .figures.arrivals import arrivals
    from .figures.attention_mask import attention_mask
    from .figures.autoscaled_day import autoscaled_day
    from .figures.block_needs import block_needs
    from .figures.block_size_tradeoff import block_size_tradeoff
    from .figures.block_table_walk import block_table_walk
    from .figures.budget_curve import budget_curve
    from .figures.claims import claims
    from .figures.cost_stack import cost_stack
    from .figures.cumulative import cumulative
    from .figures.dataflow import dataflow
    from .figures.departure_difference import departure_difference
    from .figures.departures import departures
    from .figures.drafts import drafts
    from .figures.dumbbells import dumbbells
    from .figures.factors import factors
    from .figures.finish import finish
    from .figures.first_tokens import first_tokens
    from .figures.fragmentation import fragmentation
    from .figures.gpu_account import gpu_account
    from .figures.hang_up import hang_up
    from .figures.heartbeat import heartbeat
    from .figures.hit_curve import hit_curve
    from .figures.in_flight import in_flight
    from .figures.knee import knee
    from .figures.kv_read import kv_read
    from .figures.ladder import ladder
    from .figures.leaderboard import leaderboard
    from .figures.livelock import livelock
    from .figures.machine_limits import machine_limits
    from .figures.melting import melting
    from .figures.memory_use import memory_use
    from .figures.online_softmax import online_softmax
    from .figures.pass_times import pass_times
    from .figures.passes import passes
    from .figures.percentile_spread import percentile_spread
    from .figures.phase_costs import phase_costs
    from .figures.phases import phases
    from .figures.plan_difference import plan_difference
    from .figures.pool_states import pool_states
    from .figures.prefix_tree import prefix_tree
    from .figures.prompt_progress import prompt_progress
    from .figures.queue_tails import queue_tails
    from .figures.ratio_by_target import ratio_by_target
    from .figures.real_and_simulated import real_and_simulated
    from .figures.recorded_replicas import recorded_replicas
    from .figures.rectangle import rectangle
    from .figures.replica_loads import replica_loads
    from .figures.request_times import request_times
    from .figures.request_values import request_values
    from .figures.roofline import roofline
    from .figures.room import room
    from .figures.rules import rules
    from .figures.same_answers import same_answers
    from .figures.saved_by_batching import saved_by_batching
    from .figures.savings import savings
    from .figures.scoreboard import scoreboard
    from .figures.scorecard import scorecard
    from .figures.scores_by_load import scores_by_load
    from .figures.seismograph import seismograph
    from .figures.shuffle_sum import shuffle_sum
    from .figures.simulation_errors import simulation_errors
    from .figures.speculation import speculation
    from .figures.staircase import staircase
    from .figures.stale_views import stale_views
    from .figures.stream_and_window import stream_and_window
    from .figures.table_and_pool import table_and_pool
    from .figures.thrown_away import thrown_away
    from .figures.timeline import timeline
    from .figures.token_costs import token_costs
    from .figures.token_deadlines import token_deadlines
    from .figures.token_grid import token_grid
    from .figures.token_way import token_way
    from .figures.tradeoff import tradeoff
    from .figures.two_by_two import two_by_two
    from .figures.two_clocks import two_clocks
    from .figures.two_lanes import two_lanes
    from .figures.waits import waits
    from .figures.waits_by_arrival import waits_by_arrival
    from .figures.warp_access import warp_access
    from .figures.warp_film import warp_film
    from .figures.waste_bars import waste_bars
    from .figures.waves import waves
    from .figures.window_curve import window_curve

__all__ = [
    "ablation",
    "accept_or_redraw",
    "apart_or_mixed",
    "around_request",
    "arrivals",
    "attention_mask",
    "autoscaled_day",
    "block_needs",
    "block_size_tradeoff",
    "block_table_walk",
    "budget_curve",
    "claims",
    "cost_stack",
    "cumulative",
    "dataflow",
    "departure_difference",
    "departures",
    "drafts",
    "dumbbells",
    "factors",
    "finish",
    "first_tokens",
    "fragmentation",
    "gpu_account",
    "hang_up",
    "heartbeat",
    "hit_curve",
    "in_flight",
    "knee",
    "kv_read",
    "ladder",
    "leaderboard",
    "livelock",
    "machine_limits",
    "melting",
    "memory_use",
    "online_softmax",
    "pass_times",
    "passes",
    "percentile_spread",
    "phase_costs",
    "phases",
    "plan_difference",
    "pool_states",
    "prefix_tree",
    "prompt_progress",
    "queue_tails",
    "ratio_by_target",
    "real_and_simulated",
    "recorded_replicas",
    "rectangle",
    "replica_loads",
    "request_times",
    "request_values",
    "roofline",
    "room",
    "rules",
    "same_answers",
    "saved_by_batching",
    "savings",
    "scoreboard",
    "scorecard",
    "scores_by_load",
    "seismograph",
    "shuffle_sum",
    "simulation_errors",
    "speculation",
    "staircase",
    "stale_views",
    "stream_and_window",
    "table_and_pool",
    "thrown_away",
    "timeline",
    "token_costs",
    "token_deadlines",
    "token_grid",
    "token_way",
    "tradeoff",
    "two_by_two",
    "two_clocks",
    "two_lanes",
    "waits",
    "waits_by_arrival",
    "warp_access",
    "warp_film",
    "waste_bars",
    "waves",
    "window_curve",
]


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f".figures.{name}", __name__), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})

"""minibatch: how language models are served, small enough to read.

    import minibatch as mb
    model = mb.load_model()
    engine = mb.Engine(model, mb.Continuous(max_batch_size=8))
    completions = engine.run([mb.Request(model.chat("Plan 3 days in Lisbon."))])

Names are loaded when first used: importing the package is quick and does not import torch. A user
need not know the folder that a name comes from; README.md is the map.
"""

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from . import arena, attention, plots, routers, schedulers, simulator, speculation, widgets
    from .bench import load_client, measure
    from .bench.calibrate import calibrate
    from .bench.calibration import Calibration
    from .bench.replay_url import replay
    from .core.clock import ProcessClock, VirtualClock, WallClock
    from .core.completion import Completion
    from .core.plan import Row, StepPlan
    from .core.records import RowRecord, StepRecord
    from .core.request import Request, Sequence, TokenEvent
    from .engine import metrics
    from .engine.engine import Engine
    from .engine.invariants import InvariantError
    from .engine.trace import Trace
    from .memory.blocks import BlockPool
    from .model.compatibility import UnsupportedModelError
    from .model.load import Model, load_model
    from .plots.figures.room import room
    from .plots.guesses import guess
    from .schedulers import *  # noqa: F403
    from .server.server import Server
    from .simulator import (
        claims,
        conversations,
        cost,
        fleet,
        presets,
        slo,
        statistics,
        streams,
        traffic,
        workload,
    )
    from .simulator.capacity import Capacity, capacity
    from .simulator.closed_loop import closed_loop
    from .simulator.fleet import Fleet, FleetRun
    from .simulator.pretend import PretendModel
    from .simulator.simulate import Simulated, simulate
    from .simulator.slo import SLO
    from .simulator.traffic import Traffic
    from .speculation import DraftModel, PromptLookup, Proposer
    from .widgets.predict import predict, predict_curve

_HOMES = {
    "BlockPool": "memory.blocks",
    "Calibration": "bench.calibration",
    "calibrate": "bench.calibrate",
    "replay": "bench.replay_url",
    "ProcessClock": "core.clock",
    "VirtualClock": "core.clock",
    "WallClock": "core.clock",
    "UnsupportedModelError": "model.compatibility",
    "Engine": "engine.engine",
    "InvariantError": "engine.invariants",
    "Model": "model.load",
    "load_model": "model.load",
    "PretendModel": "simulator.pretend",
    "Server": "server.server",
    "Capacity": "simulator.capacity",
    "capacity": "simulator.capacity",
    "closed_loop": "simulator.closed_loop",
    "Fleet": "simulator.fleet",
    "FleetRun": "simulator.fleet",
    "SLO": "simulator.slo",
    "Simulated": "simulator.simulate",
    "simulate": "simulator.simulate",
    "Traffic": "simulator.traffic",
    "DraftModel": "speculation",
    "PromptLookup": "speculation",
    "Proposer": "speculation",
    "Row": "core.plan",
    "StepPlan": "core.plan",
    "RowRecord": "core.records",
    "StepRecord": "core.records",
    "Completion": "core.completion",
    "Request": "core.request",
    "Sequence": "core.request",
    "TokenEvent": "core.request",
    "Trace": "engine.trace",
    "guess": "plots.guesses",
    "predict": "widgets.predict",
    "predict_curve": "widgets.predict",
    "room": "plots.figures.room",
}
_MODULES = {
    "attention": "attention",
    "claims": "simulator.claims",
    "conversations": "simulator.conversations",
    "cost": "simulator.cost",
    "fleet": "simulator.fleet",
    "load_client": "bench.load_client",
    "measure": "bench.measure",
    "metrics": "engine.metrics",
    "plots": "plots",
    "presets": "simulator.presets",
    "routers": "routers",
    "schedulers": "schedulers",
    "arena": "arena",
    "simulator": "simulator",
    "slo": "simulator.slo",
    "speculation": "speculation",
    "statistics": "simulator.statistics",
    "streams": "simulator.streams",
    "traffic": "simulator.traffic",
    "widgets": "widgets",
    "workload": "simulator.workload",
}


def __getattr__(name):
    if name in _MODULES:
        return importlib.import_module("." + _MODULES[name], __name__)
    if name in _HOMES:
        return getattr(importlib.import_module("." + _HOMES[name], __name__), name)
    if not name.startswith("_") and name in _policies().__all__:
        return getattr(_policies(), name)
    if name == "__all__":
        return [*_HOMES, *sorted(_MODULES), *_policies().__all__]
    raise AttributeError("module {!r} has no attribute {!r}".format(__name__, name))


def __dir__():
    return sorted({*globals(), *__getattr__("__all__")})


def _policies():
    return importlib.import_module(".schedulers", __name__)

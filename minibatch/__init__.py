"""minibatch: how language models are served, small enough to read.

    import minibatch as mb
    model = mb.load_model()
    engine = mb.Engine(model, mb.Continuous(max_batch_size=8))
    completions = engine.run([mb.Request(model.chat("Plan 3 days in Lisbon."))])

Names are loaded when first used: importing the package is quick and does not import torch.
"""

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from . import attention, cost, measure, metrics, plots, schedulers, widgets, workload
    from .blocks import BlockPool
    from .clock import VirtualClock, WallClock
    from .compatibility import UnsupportedModelError
    from .engine import Engine
    from .invariants import InvariantError
    from .model import Model, load_model
    from .plan import Row, StepPlan
    from .pretend import PretendModel
    from .records import RowRecord, StepRecord
    from .request import Completion, Request, Sequence, TokenEvent
    from .schedulers import Continuous, Dynamic, Scheduler, Sequential, Static
    from .trace import Trace

_HOME = {
    "BlockPool": "blocks",
    "VirtualClock": "clock",
    "WallClock": "clock",
    "UnsupportedModelError": "compatibility",
    "Engine": "engine",
    "InvariantError": "invariants",
    "Model": "model",
    "load_model": "model",
    "PretendModel": "pretend",
    "Row": "plan",
    "StepPlan": "plan",
    "RowRecord": "records",
    "StepRecord": "records",
    "Completion": "request",
    "Request": "request",
    "Sequence": "request",
    "TokenEvent": "request",
    "Continuous": "schedulers",
    "Dynamic": "schedulers",
    "Scheduler": "schedulers",
    "Sequential": "schedulers",
    "Static": "schedulers",
    "Trace": "trace",
}
_MODULES = {
    "attention",
    "cost",
    "measure",
    "metrics",
    "plots",
    "schedulers",
    "widgets",
    "workload",
}

__all__ = [*_HOME, *sorted(_MODULES)]


def __getattr__(name):
    if name in _MODULES:
        return importlib.import_module(f".{name}", __name__)
    if name in _HOME:
        return getattr(importlib.import_module(f".{_HOME[name]}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__():
    return sorted({*globals(), *__all__})

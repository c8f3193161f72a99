"""When the fast simulator may stand in for the engine: only where it knows every rule.

It repeats the rules of the files below. A learner who edits one of them must see the effect, so
their fingerprints are recorded, and an edited file sends `mb.simulate` to the engine (but for
`Engine._record`, see `without_records`). After a change that the fast simulator follows,
`python -m minibatch.simulator.fast_path` records new fingerprints.
"""

from __future__ import annotations

import hashlib
import inspect
import re
import warnings
from collections.abc import Callable, Iterable
from pathlib import Path

from ..core.clock import VirtualClock
from ..core.plan import Row, StepPlan
from ..core.request import Request, Sequence
from ..engine.arrivals import Arrivals
from ..engine.engine import Engine
from ..memory.block_manager import BlockManager
from ..memory.blocks import BlockPool
from ..schedulers import Continuous, Scheduler, Sequential, Static
from .cost import CostModel
from .pretend import PretendModel, PretendRunner

PACKAGE = Path(__file__).parents[1]
FINGERPRINTS = {
    "core/clock.py": "6c1cc01e67c9",
    "core/plan.py": "62e0a37ec444",
    "core/request.py": "1596533ebbed",
    "memory/blocks.py": "5c6666208cb0",
    "memory/block_manager.py": "46b5fa9359f6",
    "schedulers/base.py": "c4dd47db4e19",
    "schedulers/continuous.py": "8add3c730686",
    "schedulers/static.py": "017707fd691b",
    "schedulers/sequential.py": "ca545af01c66",
    "engine/arrivals.py": "5dbebeb3e5f7",
    "engine/engine.py": "9d838ff2ecc9",
    "simulator/pretend.py": "40c651864197",
    "simulator/cost.py": "4e991c24e06a",
}
KNOWN = (Continuous, Static, Sequential)
PARTS = (Scheduler, BlockPool, BlockManager, Sequence, Row, StepPlan, Arrivals, Engine)
PARTS += (VirtualClock, PretendModel, PretendRunner, CostModel)
OPTIONS = {"max_batch_size", "max_batch_tokens", "waiting", "running", "pool", "clock"}
PRESETS = "minibatch.simulator.presets"  # a module whose step times have `seconds`, too


def reason_for_engine(
    policy: Scheduler,
    requests: Iterable[Request] | None,
    step_time: float | Callable[[StepPlan], float],
) -> str | None:
    """Why the engine must run every step, as a sentence; None if the fast simulator may run."""
    name = type(policy).__name__
    names = [known.__name__ for known in KNOWN]
    if name not in names:
        return f"The engine ran: the fast simulator knows {', '.join(names)}, and this is {name}."
    if type(policy) not in KNOWN:
        return f"The engine ran: this {name} is not the class that the fast simulator knows."
    if functions := [name for kind in (*KNOWN, *PARTS) for name in replaced(kind)]:
        return f"The engine ran: {', '.join(functions)} was replaced; it runs the new code."
    if others := set(vars(policy)) - OPTIONS:
        return (
            f"The engine ran: this {name} has {', '.join(sorted(others))}, which the fast "
            "simulator does not know."
        )
    if policy.pool is not None or policy.waiting or policy.running:
        return f"The engine ran: this {name} is already in use."
    if policy.max_batch_tokens is not None and type(policy) is not Continuous:
        return f"The engine ran: this {name} has a token budget."
    if policy.limits is not None:
        return f"The engine ran: this {name} limits its queue."
    if any(request.deadline is not None for request in requests or ()):
        return (
            "The engine ran: some requests have a deadline, which the fast simulator does not "
            "enforce."
        )
    if callable(step_time) and not _has_seconds(step_time):
        return (
            "The engine ran: the step time is a function of the plan, and the fast simulator "
            "makes no plans."
        )
    if files := edited():
        why = f"{', '.join(files)} was edited, and only the engine runs the edited code."
        paths = " ".join(f"minibatch/{name}" for name in files)
        warnings.warn(
            f"The engine runs, step by step: {why} Large traffic takes many minutes. "
            f"`python -m minibatch restore {paths}` undoes the edits, and keeps a copy.",
            stacklevel=3,
        )
        return f"The engine ran: {why}"
    return None


def edited() -> list[str]:
    """The files whose text is not the recorded one."""
    return [name for name, recorded in FINGERPRINTS.items() if fingerprint(name) != recorded]


def fingerprint(name: str) -> str:
    """Of a file's text, the same on every system."""
    text = (PACKAGE / name).read_text(encoding="utf-8")  # line ends become \n
    if name == "engine/engine.py":
        text = without_records(text)
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def without_records(engine: str) -> str:
    """The engine's text without `_record`, and without the imports that only `_record` needs.
    Exercise 4.3 changes what `_record` writes into the trace. The fast simulator writes no trace,
    so no edit of `_record` changes what it does."""
    rest = re.sub(r"^    def _record\(.*?(?=^    (?:def|@)|\Z)", "", engine, flags=re.M | re.S)

    def used(found: re.Match[str]) -> str:
        names = re.findall(r"\w+", found[1])
        return found[0] if any(len(re.findall(rf"\b{n}\b", rest)) > 1 for n in names) else ""

    return re.sub(r"^(?:from \S+ )?import ([\w, ]+)\n", used, rest, flags=re.M)


def replaced(kind: type) -> list[str]:
    """Methods of this class that its own file does not define."""
    functions = [(name, f) for name, f in vars(kind).items() if inspect.isfunction(f)]
    return [f"{kind.__name__}.{name}" for name, f in functions if f.__module__ != kind.__module__]


def _has_seconds(step_time: Callable[[StepPlan], float]) -> bool:
    kind = type(step_time)
    return kind is CostModel or kind.__module__ == PRESETS and hasattr(step_time, "seconds")


def record() -> None:
    """Write the fingerprints of the files, as they are now, into this file."""
    path = Path(__file__)
    text = path.read_text(encoding="utf-8")
    for name in FINGERPRINTS:
        text = re.sub(f'("{name}": )"\\w*"', f'\\1"{fingerprint(name)}"', text)
    path.write_text(text, encoding="utf-8", newline="\n")


if __name__ == "__main__":
    record()

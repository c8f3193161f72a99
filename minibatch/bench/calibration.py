"""What `mb.calibrate` found: costs, errors, and the conditions; kept in a file."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from ..core.clock import Clock
from ..core.request import Request
from ..schedulers import Scheduler
from ..simulator.cost import CostModel
from .held_out import Error, HeldOut, RunTimes, compare, note, table
from .machine_facts import QUIET, Machine

if TYPE_CHECKING:
    from ..model.load import Model

CPU_TIME = "CPU time of this process, one thread"
FORMAT = 1  # of the file; a change of the fields below makes it another one


@dataclass(frozen=True, repr=False)
class Calibration:
    """A cost model with its error. `print` shows a table.

    cost_model: a step time for `mb.VirtualClock` and `mb.simulate`. held_out: the workloads that
    the fit has not seen. num_steps: of the training runs. max_batch_size: the most rows of their
    steps. kind_of_time: wall time, or CPU time. seconds_taken: of real time, by the calibration.
    other_programs: the share of the processor that they used during it. model, machine: the facts
    of both.
    """

    cost_model: CostModel
    held_out: Sequence[HeldOut]
    num_steps: int
    max_batch_size: int
    kind_of_time: str
    seconds_taken: float
    other_programs: float
    model: str
    machine: Machine

    @property
    def errors(self) -> list[Error]:
        """The errors of makespan, TTFT and TPOT at each load, and the difference of two real
        runs."""
        return [error for each in self.held_out for error in each.errors]

    @property
    def load(self) -> list[str]:
        """The loads at which the errors were measured: "all at once", "62% busy"."""
        return [each.load for each in self.held_out]

    @property
    def note(self) -> str:
        """The errors as a short text, for the corner of a figure that is simulated with these
        costs."""
        return note(self.held_out)

    def compare(
        self,
        model: Model,
        policy: Scheduler,
        requests: Sequence[Request],
        clock: Clock | None = None,
    ) -> HeldOut:
        """Your own workload: run, simulated with these costs, and run again.

        policy: a new one. clock: of the real engine; None is the wall clock.
        """
        return compare(model, policy, requests, self.cost_model, clock=clock)

    def save(self, path: str | os.PathLike) -> None:
        """Write it to a file, as JSON. `from_file` reads it."""
        Path(path).write_text(
            json.dumps({"format": FORMAT} | asdict(self), indent=1), encoding="utf-8"
        )

    @classmethod
    def from_file(cls, path: str | os.PathLike, model: Model) -> Calibration:
        """Read one from a file. Raises ValueError if it is not a calibration of this model."""
        kept = json.loads(Path(path).read_text(encoding="utf-8"))
        if not isinstance(kept, dict) or kept.pop("format", None) != FORMAT:
            raise ValueError(f"{path} is not a calibration of this version; calibrate again")
        if kept["model"] != facts_of(model):
            raise ValueError(
                f"{path} has the costs of {kept['model']}; your model is {facts_of(model)}, "
                "whose steps take different times. Call mb.calibrate(model), and save the result"
            )
        return cls(
            **kept
            | {
                "cost_model": CostModel(**kept["cost_model"]),
                "machine": Machine(**kept["machine"]),
                "held_out": tuple(
                    HeldOut(
                        tuple(RunTimes(**_tuples(run)) for run in each["real"]),
                        RunTimes(**_tuples(each["simulated"])),
                    )
                    for each in kept["held_out"]
                ),
            }
        )

    @property
    def costs(self) -> str:
        """One line: what a step costs, by its contents."""
        c = self.cost_model
        parts = {
            "": c.seconds_per_step,
            " a row": c.seconds_per_row,
            " a prompt token": c.seconds_per_prompt_token,
            " a token in the cache": c.seconds_per_kv_byte * c.kv_bytes_per_token,
            " a pair of tokens": c.seconds_per_pair,
        }
        return "A step costs " + " + ".join(f"{_time(s)}{what}" for what, s in parts.items() if s)

    @property
    def conditions(self) -> list[str]:
        """What the numbers depend on, and what the table does not show."""
        lines = [
            f"Fitted to {self.num_steps:,} steps of up to {self.max_batch_size} rows, "
            f"{self.kind_of_time}; took {self.seconds_taken:.0f} s. {self.costs}.",
            f"{self.model}. {self.machine.cpu}, {self.machine.date[:10]}; other programs took "
            f"{self.other_programs:.0%} of the processor.",
        ]
        if 100 * self.other_programs > QUIET:
            lines.append(
                "This computer was busy: real runs differ from each other, so an error smaller "
                "than this difference may be chance. Close other programs, and calibrate again."
            )
            if self.kind_of_time != CPU_TIME:
                lines[-1] += " Or count CPU time: mb.calibrate(model, clock=mb.ProcessClock())."
        return lines

    def __repr__(self) -> str:
        rows = table(self.errors)
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]
        return "\n".join([*lines, *self.conditions])

    def _repr_html_(self) -> str:
        head, *rows = table(self.errors)
        cells = ["".join(f"<td>{escape(word)}</td>" for word in row) for row in rows]
        heads = "".join(f"<th>{word}</th>" for word in head)
        body = "".join(f"<tr>{row}</tr>" for row in cells)
        lines = "".join(f"<p>{escape(line)}</p>" for line in self.conditions)
        return f"<table><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table>{lines}"


def facts_of(model: Model) -> str:
    """What the time of a model's steps depends on."""
    dtype = str(model.dtype).split(".")[-1]
    if model.hf is None:
        return f"a {type(model).__name__}, {dtype}"
    parts = f"{model.hf.num_parameters():,} parameters, {len(model.kv_shapes)} layers"
    return f"{type(model.hf).__name__} of {parts}, {dtype}, on {model.device.type}"


def _tuples(run: dict[str, object]) -> dict[str, object]:
    """JSON has lists only."""
    return {name: tuple(v) if isinstance(v, list) else v for name, v in run.items()}


def _time(seconds: float) -> str:
    """ "5.1 ms", "180 µs": two digits that count."""
    for unit, size in (("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.{1 if seconds < 10 * size else 0}f} {unit}"
    return f"{seconds * 1e9:.0f} ns"

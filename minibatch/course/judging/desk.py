"""The learner's side: a process that reads one exercise file and does what the judge asks with it.

    python -m minibatch.course.judging.desk '{"file": …, "readable": […], …}'

Requests come on standard input and answers go to standard output, one line of JSON each; what the
learner's code prints goes to standard error. The file is read once the limits are in place.

Before changing this file: everything a judge learns from here may be a lie. Checks belong there.
"""

from __future__ import annotations

import ctypes.util
import importlib.abc
import importlib.util
import json
import linecache
import os
import sys
import tempfile
import traceback
from collections import deque
from pathlib import Path
from types import ModuleType
from typing import Any

from minibatch.course.judging import confinement
from minibatch.course.judging.stand_in import StandIn, tensor
from minibatch.course.judging.values import Array, pack, unpack

MODULE = "exercise"


class Desk:
    """One learner's file, and the policies made from it."""

    def __init__(self, settings: dict[str, Any]) -> None:
        self.path = Path(settings["file"])
        self.settings = settings
        self.module: ModuleType | None = None
        self.scheduler: Any = None
        self.sequences: dict[str, Any] = {}
        self.plans: Any = None
        self._answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
        self._requests = os.fdopen(os.dup(0), "r", encoding="utf-8")
        os.dup2(2, 1)
        null = os.open(os.devnull, os.O_RDONLY)
        os.dup2(null, 0)

    def serve(self) -> None:
        """Answer until the judge hangs up."""
        while line := self._requests.readline():
            request = json.loads(line)
            try:
                method = getattr(self, f"do_{request['do']}")
                reply = {"value": method(**request["with"])}
            except BaseException as error:  # SystemExit and KeyboardInterrupt are answers too
                reply = {"error": self._describe(error)}
            self._send(reply)

    def _send(self, message: dict) -> None:
        try:
            text = json.dumps(message)
        except (TypeError, ValueError, RecursionError) as error:
            text = json.dumps({"error": {"type": type(error).__name__, "message": str(error)}})
        self._answers.write(text + "\n")
        self._answers.flush()

    def _describe(self, error: BaseException) -> dict:
        frames = [
            {"line": frame.lineno, "in": frame.name, "code": (frame.line or "")[:200]}
            for frame in traceback.extract_tb(error.__traceback__)
            if frame.filename == str(self.path)
        ]
        if isinstance(error, SyntaxError) and error.filename == str(self.path):
            frames = [{"line": error.lineno, "in": "", "code": (error.text or "").strip()[:200]}]
        shown = error.msg if isinstance(error, SyntaxError) else _text(error)
        own = type(error).__name__
        return {"type": own, "message": shown, "frames": frames[:3] + frames[3:][-5:]}

    # What the judge may ask for ------------------------------------------------------------------

    def do_open(self) -> None:
        """Put the limits in place, then read the file."""
        settings = self.settings
        confinement.limit(settings["memory_bytes"])
        if settings["sealed"]:
            tempfile.tempdir = str(Path.cwd())  # libraries ask; it need not be writable
            ctypes.util.find_library = lambda name: None  # it runs compilers, which no desk may
            confinement.seal(settings["readable"])
        sys.meta_path.insert(0, _Withheld(settings["withheld"]))
        sys.path.insert(0, str(self.path.parent))
        spec = importlib.util.spec_from_file_location(MODULE, self.path)
        self.module = importlib.util.module_from_spec(spec)
        sys.modules[MODULE] = self.module
        linecache.checkcache(str(self.path))
        spec.loader.exec_module(self.module)

    def do_call(self, name: str, args: list, kwargs: dict) -> object:
        """Call a function of the file."""
        args = [self._argument(value) for value in args]
        kwargs = {key: self._argument(value) for key, value in kwargs.items()}
        return pack(self._find(name)(*args, **kwargs))

    def do_policy(
        self,
        name: str,
        options: dict,
        borrowed: dict,
        refused: list,
        num_blocks: int,
        block_size: int,
    ) -> dict:
        """Make a policy and bind it to a pool of its own, in a clock that the judge sets.

        borrowed: methods taken from a class of minibatch, in place of the learner's.
        refused: methods of mb.Scheduler that are the answer.
        """
        import minibatch as mb

        def refuse(*args: object, **kwargs: object) -> None:
            raise NotImplementedError("that method of mb.Scheduler is what you are writing")

        for method in refused:
            setattr(mb.Scheduler, method, refuse)

        cls = self._find(name)
        if borrowed:
            methods = {
                method: getattr(getattr(mb, owner), method) for method, owner in borrowed.items()
            }
            cls = type(name, (cls,), methods)
        self.scheduler, self.sequences = cls(**options), {}
        self.clock = mb.VirtualClock()  # moved by sleeping only
        self.pool = mb.BlockPool(num_blocks, block_size)
        self.scheduler.bind(self.pool, self.clock)
        return self._state()

    def do_add(self, sequence: dict) -> dict:
        import minibatch as mb

        stops = sequence.pop("stop_token_ids")
        max_tokens, arrival = sequence.pop("max_tokens"), sequence.pop("arrival_time")
        priority, ids = sequence.pop("priority"), sequence["token_ids"]
        sequence = mb.Sequence(
            request=mb.Request(list(ids), max_tokens=max_tokens, priority=priority),
            stop_token_ids=frozenset(stops),
            num_prompt_tokens=len(ids),
            arrival_time=arrival,
            **sequence,
        )
        self.sequences[sequence.request_id] = sequence
        self.scheduler.add(sequence)
        return self._state()

    def do_plan(self, now: float) -> dict:
        import minibatch as mb

        self.clock.sleep(now - self.clock.now())
        self.plans = self.scheduler.plan(now)
        if not isinstance(self.plans, mb.StepPlan):
            raise TypeError(f"plan returned {self.plans!r:.60}; it has to return a mb.StepPlan")
        rows = [
            [row.sequence.request_id, row.num_tokens, row.num_padding_tokens]
            for row in self.plans.rows
        ]
        return {"rows": rows, "wake_at": self.plans.wake_at, **self._state()}

    def do_lead(self, now: float, num_admitted: int, most_tokens: int) -> dict:
        """Plan in the learner's place, as the judge says: so many join, then a row for everyone.

        most_tokens: of one row.
        """
        import minibatch as mb

        scheduler = self.scheduler
        self.clock.sleep(now - self.clock.now())
        for _ in range(num_admitted):
            mb.Scheduler.admit(scheduler, now, scheduler.waiting[0].max_num_tokens)
        self.plans = mb.StepPlan(
            [
                mb.Row(s, min(s.num_uncomputed_tokens, most_tokens))
                for s in reversed(scheduler.running)
            ]
        )
        return self._state()

    def do_update(self, tokens: list, now: float) -> dict:
        import minibatch as mb

        self.clock.sleep(now - self.clock.now())
        finished = self.scheduler.update(self.plans, tokens, now)
        if not isinstance(finished, list | tuple | set | frozenset | deque):
            return {"finished": None, "got": type(finished).__name__, **self._state()}
        for sequence in finished:
            if not isinstance(sequence, mb.Sequence):
                raise TypeError(
                    f"update returned a list with {sequence!r:.60}; it has to hold the sequences "
                    "themselves"
                )
        return {"finished": [sequence.request_id for sequence in finished], **self._state()}

    def do_abort(self, request_id: str) -> dict:
        self.scheduler.abort(self.sequences[request_id])
        return self._state()

    def do_records(self, attribute: str, requests: list, options: dict) -> object:
        """Run this minibatch's engine; one attribute of every step's record.

        options: the policy's name, its arguments, the pool's size, the pretend model's shape.
        """
        import torch

        import minibatch as mb

        model = mb.PretendModel()
        model.kv_shapes = tuple(map(tuple, options["kv_shapes"]))
        model.dtype = getattr(torch, options["dtype"])
        policy = getattr(mb, options["policy"])(**options["arguments"])
        engine = mb.Engine(
            model,
            policy,
            num_blocks=options["num_blocks"],
            block_size=options["block_size"],
            attention="reference",  # the others want to store what numba compiles
            clock=mb.VirtualClock(step_time=1),
        )
        engine.run(
            mb.Request([0] * length, max_tokens=most, request_id=name)
            for name, length, most in requests
        )
        return pack([getattr(step, attribute) for step in engine.trace.steps])

    # Helpers -------------------------------------------------------------------------------------

    def _find(self, name: str) -> Any:
        try:
            return getattr(self.module, name)
        except AttributeError:
            raise AttributeError(
                f"{self.path.name} defines no {name}; the exercise asks for that name"
            ) from None

    def _state(self) -> dict:
        scheduler = self.scheduler
        return {
            "waiting": [sequence.request_id for sequence in scheduler.waiting],
            "running": [sequence.request_id for sequence in scheduler.running],
            "sequences": {
                name: [s.num_computed_tokens, s.num_tokens, list(s.block_table), s.is_finished]
                for name, s in self.sequences.items()
            },
            "num_free": self.pool.num_free,
        }

    def _argument(self, packed: object) -> object:
        if isinstance(packed, dict) and packed.keys() == {"model"}:
            return StandIn(self.ask_judge, packed["model"])
        value = unpack(packed)
        return tensor(value) if isinstance(value, Array) else value

    def ask_judge(self, question: dict) -> Any:
        """In the middle of an answer: have the judge do something, and go on with the result."""
        self._send({"ask": question})
        reply = json.loads(self._requests.readline())
        if "error" in reply:
            raise RuntimeError(reply["error"])
        return reply["value"]


class _Withheld(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Modules that hold the answer to the task at hand, replaced by ones that say so."""

    def __init__(self, withheld: dict[str, str]) -> None:
        self.withheld = withheld  # module -> the class it defines

    def find_spec(self, name: str, path: object = None, target: object = None) -> Any:
        if name in self.withheld:
            return importlib.util.spec_from_loader(name, self)
        return None

    def exec_module(self, module: ModuleType) -> None:
        setattr(
            module, self.withheld[module.__name__], _placeholder(self.withheld[module.__name__])
        )


def _placeholder(name: str) -> type:
    sentence = f"mb.{name} is what this exercise asks for; write your own, on mb.Scheduler"

    def refuse(*args: object, **kwargs: object) -> None:
        raise TypeError(sentence)

    return type(name, (), {"__init_subclass__": classmethod(refuse), "__init__": refuse})


def _text(error: BaseException) -> str:
    try:
        return str(error)[:2000]
    except Exception:
        return ""


if __name__ == "__main__":
    sys.setrecursionlimit(1000)
    Desk(json.loads(sys.argv[1])).serve()

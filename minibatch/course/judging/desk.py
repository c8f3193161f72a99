"""The learner's side: a process that reads one exercise file and does what the judge asks with it.

    python -m minibatch.course.judging.desk

Its settings, then requests come on standard input and answers go to standard output, one line of
JSON each; what the learner's code prints goes to standard error. This program, and all it needs,
comes from the course's own minibatch: whatever a learner wrote is read once the limits are in
place, an edited minibatch included, which then takes the place of the course's.

Before changing this file: once the file is read, everything a judge learns from here may be a lie.
Checks belong there. Only what `do_shut_in` answers is true: nothing of the learner's has run then.
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
from pathlib import Path
from types import ModuleType
from typing import Any

from minibatch.course.judging import confinement
from minibatch.course.judging.desk_policy import PolicyDesk
from minibatch.course.judging.desk_pool import PoolDesk
from minibatch.course.judging.stand_in import StandIn, tensor
from minibatch.course.judging.values import Array, pack, unpack
from minibatch.course.judging.withheld import Withheld

MODULE = "exercise"
OF_A_POLICY = ("policy", "add", "plan", "lead", "update", "abort", "records")
OF_A_POOL = ("walk", "run_on", "lookups")


class Desk:
    """One learner's file, and the policy made from it."""

    def __init__(self) -> None:
        self.module: ModuleType | None = None
        self._policy: PolicyDesk | None = None
        self._answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
        self._requests = os.fdopen(os.dup(0), "r", encoding="utf-8")
        os.dup2(2, 1)
        sys.stdout.reconfigure(line_buffering=True)  # a desk may be ended between two lines
        null = os.open(os.devnull, os.O_RDONLY)
        os.dup2(null, 0)
        self.settings: dict[str, Any] = json.loads(self._requests.readline())
        self.path = Path(self.settings["file"])

    def serve(self) -> None:
        """Answer until the judge hangs up."""
        while line := self._requests.readline():
            request = json.loads(line)
            try:
                reply = {"value": self._method(request["do"])(**request["with"])}
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

    def do_shut_in(self) -> list[str]:
        """Put the limits in place; returns what of the seal holds, if one was asked for."""
        settings = self.settings
        confinement.limit(settings["memory_bytes"], settings["seconds"])
        sys.meta_path.insert(0, Withheld(settings["withheld"]))
        if not settings["seal"]:
            return []
        tempfile.tempdir = str(Path.cwd())
        ctypes.util.find_library = lambda name: None  # it runs compilers, which no desk may
        return confinement.seal(**settings["seal"])

    def do_import_ahead(self, name: str) -> None:
        """Import a library that the file will import, before the file is read."""
        importlib.import_module(name)

    def do_open(self) -> None:
        """Read the file, if the task has one."""
        if self.settings["package"]:
            _leave_the_course_s_own()
            sys.path.insert(0, self.settings["package"])
        if not self.path.is_file():
            return
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

    def do_calls(self, name: str, calls: list) -> list:
        """Call a function of the file again and again, each time with arguments of its own."""
        function = self._find(name)
        return [pack(function(*unpack(arguments))) for arguments in calls]

    def do_kernel(self, **asked: Any) -> list[dict]:
        """Run a kernel of another file in the kernel lab, as `kernel_bench.run_kernel`."""
        from minibatch.course.judging.kernel_bench import run_kernel  # here: few tasks need it

        return run_kernel(file=str(self.path), **asked)

    def do_compiled(self, **asked: Any) -> dict | None:
        """Compile a kernel of another file for a GPU, as `kernel_bench.compile_kernel`."""
        from minibatch.course.judging.kernel_bench import compile_kernel

        return compile_kernel(file=str(self.path), **asked)

    # Helpers -------------------------------------------------------------------------------------

    def _method(self, name: str) -> Any:
        """What the judge asks for by this name: of the file, or of what is made from it."""
        if name in OF_A_POLICY:
            self._policy = self._policy or PolicyDesk(self._find)
            return getattr(self._policy, name)
        if name in OF_A_POOL:
            return getattr(PoolDesk(self._find, self._describe), name)
        return getattr(self, f"do_{name}")

    def _find(self, name: str) -> Any:
        try:
            return getattr(self.module, name)
        except AttributeError:
            raise AttributeError(
                "[name_not_defined] "
                f"{self.path.name} defines no {name}; the exercise asks for that name"
            ) from None

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


def _leave_the_course_s_own() -> None:
    """What imports minibatch from now on finds the edited one; this program keeps the course's."""
    for name in [name for name in sys.modules if name.partition(".")[0] == "minibatch"]:
        del sys.modules[name]


def _text(error: BaseException) -> str:
    try:
        return str(error)[:2000]
    except Exception:
        return ""


if __name__ == "__main__":
    Desk().serve()

"""The worker: a process that reads one exercise file and executes the judge's requests.

    python -m minibatch.course.judging.worker

Standard input has its settings, then requests; standard output has the answers: one line of JSON
each. Output of the learner's code goes to standard error. This program, and all that it imports, is
from the course's own minibatch. The learner's files are read after the limits are set; an edited
minibatch, too, which then replaces the course's.

Before changing this file: after the learner's file is read, every answer may be false. So checks
belong to the judge. Only the answer of `do_enter_sandbox` can be trusted: no learner's code has run
then.
"""

from __future__ import annotations

import contextlib
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

from minibatch.course.judging import sandbox
from minibatch.course.judging.given_function import FunctionProxy
from minibatch.course.judging.model_proxy import ModelProxy, tensor
from minibatch.course.judging.values import Array, pack, unpack
from minibatch.course.judging.withheld import Withheld
from minibatch.course.judging.worker_again import call_again
from minibatch.course.judging.worker_arena import ArenaWorker
from minibatch.course.judging.worker_async import AsyncWorker
from minibatch.course.judging.worker_block_pool import PoolWorker
from minibatch.course.judging.worker_object import call_object
from minibatch.course.judging.worker_policy import PolicyWorker
from minibatch.course.judging.worker_router import RouterWorker

MODULE = "exercise"
OF_A_POLICY = ("policy", "add", "plan", "use_plan", "update", "abort", "records", "incidents")
OF_A_POOL = ("call_methods", "run_engine", "lookups")
OF_THE_ARENA = ("arena_policy", "arena_step", "arena_router", "arena_route")


class Worker:
    """One learner's file, and the policy made from it."""

    def __init__(self) -> None:
        self.module: ModuleType | None = None
        self._policy: PolicyWorker | None = None
        self._arena = ArenaWorker(self._find)
        self._router = RouterWorker()
        self._models: dict[int, ModelProxy] = {}  # the same object for the same model of the judge
        self._answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
        self._requests = os.fdopen(os.dup(0), "r", encoding="utf-8")
        os.dup2(2, 1)
        sys.stdout.reconfigure(line_buffering=True)  # the worker may be ended between two lines
        null = os.open(os.devnull, os.O_RDONLY)
        os.dup2(null, 0)
        self.settings: dict[str, Any] = json.loads(self._requests.readline())
        self.path = Path(self.settings["file"])

    def serve(self) -> None:
        """Answer requests until the judge closes the connection."""
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

    # The judge's requests ------------------------------------------------------------------------

    def do_enter_sandbox(self) -> list[str]:
        """Set the limits; returns which parts of the sandbox are in force, if it was requested."""
        settings = self.settings
        sandbox.limit(
            settings["memory_bytes"], settings["seconds"], cpu_seconds=settings["cpu_seconds"]
        )
        sys.meta_path.insert(0, Withheld(settings["withheld"]))
        if not settings["sandbox"]:
            return []
        tempfile.tempdir = str(Path.cwd())
        ctypes.util.find_library = lambda name: None  # it runs compilers, which a worker may not
        return sandbox.enter(**settings["sandbox"])

    def do_import_ahead(self, name: str) -> None:
        """Import a library that the file will import, before reading the file."""
        importlib.import_module(name)

    def do_open(self) -> None:
        """Read the file, if the task has one."""
        if self.settings["package"]:
            _forget_course_modules()
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
        with contextlib.ExitStack() as places:
            for value in args:
                if isinstance(value, ModelProxy):
                    places.enter_context(value.place())
            return pack(self._find(name)(*args, **kwargs))

    def do_calls(self, name: str, calls: list) -> list:
        """Call a function of the file several times. Answers are read after the last call: a later
        call must not change what an earlier one returned, and a caller may change its list."""
        function, read = self._find(name), []
        answers = [function(*unpack(arguments)) for arguments in calls]
        for answer in answers:
            read.append(pack(answer))
            if isinstance(answer, list):
                answer.clear()
        return read

    def do_again(self, name: str, calls: list) -> list:
        """Call a function of the file by a caller that keeps its lists, as `call_again`."""
        return call_again(self._find(name), calls)

    def do_objects(self, name: str, calls: list) -> list[dict]:
        """Call methods of objects of a class of the file, as `worker_object.call_object`."""
        return call_object(lambda: self._find(name)(), calls, self._describe)

    def do_route(self, name: str, **asked: Any) -> object:
        """Call a router of the file, as `worker_router.RouterWorker`."""
        return self._router.route(self._find(name), **asked)

    def do_run_async(self, name: str, calls: list, scene: dict) -> list[dict]:
        """Run a coroutine function of the file, as `worker_async.AsyncWorker`."""
        number = scene["model"]
        worker = AsyncWorker(
            lambda asked: self.ask_judge(asked | {"model": number}), self._describe
        )
        return worker.run(self._find(name), calls)

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
        """The method for a request: of a policy, of a pool, of the arena, or of this worker."""
        if name in OF_A_POLICY:
            self._policy = self._policy or PolicyWorker(self._find)
            return getattr(self._policy, name)
        if name in OF_A_POOL:
            return getattr(PoolWorker(self._find, self._describe), name)
        if name in OF_THE_ARENA:
            return getattr(self._arena, name)
        return getattr(self, f"do_{name}")

    def _find(self, name: str) -> Any:
        try:
            return getattr(self.module, name)
        except AttributeError:
            raise AttributeError(
                "[name_not_defined] "
                f"{self.path.name} does not define {name}, the name in the exercise"
            ) from None

    def _argument(self, packed: object) -> object:
        if isinstance(packed, dict) and packed.keys() == {"model", "device"}:
            number = packed["model"]
            if number not in self._models:
                self._models[number] = ModelProxy(self.ask_judge, number, packed["device"])
            return self._models[number]
        if isinstance(packed, dict) and packed.keys() == {"function"}:
            return FunctionProxy(self.ask_judge, packed["function"])
        value = unpack(packed)
        return tensor(value) if isinstance(value, Array) else value

    def ask_judge(self, question: dict) -> Any:
        """Send the judge a question in the middle of an answer; returns its reply."""
        self._send({"ask": question})
        reply = json.loads(self._requests.readline())
        if "error" in reply:
            raise RuntimeError(reply["error"])
        return reply["value"]


def _forget_course_modules() -> None:
    """Later imports of minibatch find the edited one; this program keeps the course's modules."""
    for name in [name for name in sys.modules if name.partition(".")[0] == "minibatch"]:
        del sys.modules[name]


def _text(error: BaseException) -> str:
    try:
        return str(error)[:2000]
    except Exception:
        return ""


if __name__ == "__main__":
    Worker().serve()

"""The fast simulator: a million requests in seconds, equal bit for bit to the engine.

It covers `Continuous`, `Static` and `Sequential` on a pretend model; fast_loop.py has their rules.
Tests compare it with the engine on random workloads. Many simulators can run side by side: each is
an object that takes requests at any time and stops where it is told.
"""

from __future__ import annotations

import math
import sys
from array import array
from bisect import bisect_right
from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from typing import NamedTuple

import numpy as np

from ..core.checks import integer
from ..core.clock import VirtualClock
from ..core.plan import StepPlan
from ..engine.intake import check_fits
from ..memory.blocks import BlockPool
from ..schedulers import Continuous, Scheduler
from .fast_loop import Rules, State, run
from .pretend import TOKEN, PretendModel
from .traffic import Traffic

UNLIMITED = 2**60  # blocks of a pool, or tokens of a step
WHEEL = 1024  # an answer longer than this stays in its bucket for another turn
SLICE = 100_000  # steps between two looks at the keyboard
MANY = 30_000  # waiting requests from which compiling the loop saves time,
FEW = 100  # and from which calling it does once it is compiled
COLUMNS = {
    "arrival": "d",
    "prompt": "q",
    "output": "q",
    "first_scheduled": "d",
    "first_token": "d",
    "finish": "d",
    "preemptions": "q",
    "received": "q",
}


class Snapshot(NamedTuple):
    """A simulator at the start of its next step, `now` seconds on its clock. num_waiting: requests
    that have arrived and do not run. num_running: with those that have finished and keep their
    place in a static batch. num_stored_tokens: of running requests, in the cache. num_free_blocks:
    None without a limit. num_finished, num_steps: since the beginning. num_left_queue: requests
    that have left the queue, without those in it again. num_started: those with a first token."""

    now: float
    num_waiting: int
    num_running: int
    num_stored_tokens: int
    num_free_blocks: int | None
    num_finished: int
    num_steps: int
    num_left_queue: int
    num_started: int


class FastSimulator:
    """Serves requests, given as lengths, under a policy that itself stays unused.

    policy: an unchanged `Continuous`, `Static` or `Sequential` (fast_path.py checks that for
    `mb.simulate`). step_time: seconds of every step, or an object with `seconds(rows,
    prompt_tokens, context, pairs)`. num_blocks: None is enough for any batch. compiled: whether
    numba compiles the loop; None decides by the number of requests. `copy.deepcopy` of a simulator
    goes on independently.
    """

    def __init__(
        self,
        policy: Scheduler,
        step_time: float | Callable[[StepPlan], float],
        *,
        num_blocks: int | None = None,
        block_size: int = 16,
        compiled: bool | None = None,
    ) -> None:
        VirtualClock(step_time)  # raises for what is no time
        self.step_time, self.compiled, self._formula = step_time, compiled, _formula(step_time)
        self.num_blocks, size = num_blocks, policy.max_batch_size
        if num_blocks is not None:
            self.num_blocks = integer("num_blocks", num_blocks, at_least=1)
        blocks = UNLIMITED if num_blocks is None else self.num_blocks
        self._rules = Rules(
            size,
            policy.max_batch_tokens or UNLIMITED,
            blocks,
            integer("block_size", block_size, at_least=1),
            not isinstance(policy, Continuous),
            not callable(step_time),
        )
        self._state, self._is_broken = State(free=blocks), False
        self._columns = [array(kind) for kind in COLUMNS.values()]
        lengths = [0] * size
        self._slots = [array("q", lengths) for _ in range(4)]  # request, made, last_step, linked
        self._slots += [array("q", [size] * (size + 1)) for _ in range(2)]  # earlier, later
        self._slots += [array("q", range(size)), array("q", lengths), array("q", lengths)]
        self._slots += [array("q", [-1] * WHEEL), array("q", [0] * self._rules.block_size)]

    def add(self, arrival: float, prompt: int, output: int, received: bool = False) -> int:
        """Take in a request that arrives last of all; returns its number, from 0 on. Raises
        ValueError, with the engine's message, for one that it would refuse. received: it comes
        with the K and V of its prompt and with its first token, of at least two; only under
        `Continuous`."""
        arrivals, rules = self._columns[0], self._rules
        if received and (rules.padded or output < 2):
            raise ValueError(
                f"a request with an answer of {output} tokens came with its K and V; give such "
                "requests only to Continuous, with answers of at least 2 tokens: the first token "
                "is already generated"
            )
        prompt, output = integer("prompt", prompt), integer("output", output)
        in_order = (arrivals[-1] if arrivals else 0.0) <= arrival < math.inf
        blocks = -(-(prompt + output - 1) // rules.block_size)
        if not (in_order and prompt >= 1 <= output and blocks <= rules.num_blocks):
            self.add_all(Traffic(np.array([arrival]), np.array([prompt]), np.array([output])))
        new = arrival, prompt, output, math.nan, math.nan, math.nan, 0, prompt * received
        for column, value in zip(self._columns, new, strict=True):
            column.append(value)
        return len(arrivals) - 1

    def add_all(self, traffic: Traffic, names: Callable[[int], str] = str) -> None:
        """Take in all requests, or none. names: of a row, for messages."""
        first, last = len(self._columns[0]), self._columns[0][-1:]
        if last and len(traffic) and traffic.arrival[0] < last[0]:
            raise ValueError(
                f"request '{first}' arrives at {traffic.arrival[0]} s, the one before it at "
                f"{last[0]} s; add them in order of arrival"
            )
        self._check_fits(traffic, first, names)
        nothing = np.full(len(traffic), np.nan)
        news = traffic.arrival, traffic.prompt, traffic.output, nothing, nothing, nothing
        zeros = np.zeros(len(traffic), np.int64)
        for column, new in zip(self._columns, (*news, zeros, zeros), strict=True):
            column.frombytes(new.tobytes())

    def run_until(self, time: float = math.inf, most_steps: int | None = None) -> Snapshot:
        """Take every step that begins before `time`, in seconds: at most `most_steps` of them.
        Requests that arrive at `time` or later may still be added. Returns where it stands."""
        if self._is_broken:
            raise RuntimeError("this simulator was interrupted in a step; make a new one")
        stop = self._state.step + (UNLIMITED if most_steps is None else most_steps)
        step = -1
        while step != self._state.step < stop and len(self._columns[0]):
            step = self._state.step
            self._slice(time, min(SLICE, stop - step))
        return self.snapshot()

    def step(self, until: float = -math.inf) -> float:
        """Take one step, after a sleep if it must; returns when it ends. until: take more steps
        that begin before it, as long as the same requests run and none gets its first token."""
        before = self._state.step
        if self._state.now < until:
            self._slice(until, SLICE, True)
        if self._state.step == before:  # it sleeps until then, or later
            self._slice(math.inf, 1)
        return self._state.now

    @property
    def before_last(self) -> tuple[float, int]:
        """When the newest step began, and how many blocks were free before it."""
        return self._state.began, self._state.free_before

    def snapshot(self) -> Snapshot:
        """Where it stands."""
        state = self._state
        return Snapshot(
            now=state.now,
            num_waiting=state.preempted
            + bisect_right(self._columns[0], state.now, lo=state.admitted)
            - state.admitted,
            num_running=state.running,
            num_stored_tokens=state.computed + state.partial_computed * (state.partial >= 0),
            num_free_blocks=None if self.num_blocks is None else state.free,
            num_finished=state.finished,
            num_steps=state.step,
            num_left_queue=state.admitted - state.preempted,
            num_started=state.admitted
            - (state.partial >= 0 and self._slots[1][state.partial] == 0),
        )

    @property
    def num_admitted(self) -> int:
        """Requests that have been admitted at least once; they were the first to arrive."""
        return self._state.admitted

    def columns(self) -> dict[str, np.ndarray]:
        """A copy of what is known of each request, by the names of `mb.simulate`; NaN for times
        still to come."""
        parts = zip(COLUMNS.items(), self._columns, strict=True)
        known = {name: np.array(column, dtype=kind) for (name, kind), column in parts}
        del known["received"]
        return known

    def is_finished(self, number: int) -> bool:
        """Whether this request has its last token."""
        return not math.isnan(self._columns[5][number])

    def row(self, number: int) -> tuple[float, float, float, int]:
        """Of one request: first_scheduled, first_token, finish, and preemptions."""
        return tuple(column[number] for column in self._columns[3:7])

    def _slice(self, until: float, most_steps: int, to_change: bool = False) -> None:
        function, columns, slots = run, self._columns, self._slots
        seconds, numbers = self._formula
        if self._shall_compile():
            function, seconds = _compiled(run), _compiled(seconds)
            columns = [np.frombuffer(column, column.typecode) for column in columns]
            slots = [np.frombuffer(slot, slot.typecode) for slot in slots]
        self._is_broken = True  # until all of the state is written
        parts = self._rules, self._state, tuple(columns), tuple(slots), seconds, numbers
        self._state = function(*parts, float(until), most_steps, to_change)
        if self._state.refused != 1.0:
            raise ValueError(f"step_time(plan) is {self._state.refused}; give seconds above 0")
        self._is_broken = False

    def _shall_compile(self) -> bool:
        if self.compiled is None:
            most = FEW if _compiled.cache_info().currsize else MANY
            known = self._rules.constant or hasattr(self.step_time, "formula")
            many = len(self._columns[0]) - self._state.admitted >= most
            return many and known and find_spec("numba") is not None
        return self.compiled

    def _check_fits(self, traffic: Traffic, first: int, names: Callable[[int], str]) -> None:
        blocks = -(-(traffic.prompt + traffic.output - 1) // self._rules.block_size)
        for i in np.flatnonzero(blocks > self._rules.num_blocks)[:1]:
            model, prompt = PretendModel(), [TOKEN] * int(traffic.prompt[i])
            model.max_model_len = sys.maxsize
            pool = BlockPool(self.num_blocks, self._rules.block_size)
            check_fits(names(first + int(i)), prompt, int(traffic.output[i]), model, pool)


def _formula(step_time: float | Callable[[StepPlan], float]) -> tuple[Callable, tuple[float, ...]]:
    """A function for the seconds of a step, and its first argument."""
    if not callable(step_time):
        return _constant, (float(step_time),)
    if hasattr(step_time, "formula"):
        function, numbers = step_time.formula
        return function, tuple(map(float, numbers))
    return lambda numbers, *contents: step_time.seconds(*contents), ()


def _constant(numbers: tuple[float], *contents: int) -> float:
    return numbers[0]


@cache
def _compiled(function: Callable) -> Callable:
    import numba  # takes a second, and is not needed for short runs

    return numba.njit(function)

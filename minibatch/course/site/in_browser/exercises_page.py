"""Exercises of lessons 03, 04 and 09 on a page: a learner's answer on plain, public cases.

Here an answer runs in the page's own Python, as in a notebook. The judge of the course tries more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import ModuleType

from minibatch.core.clock import VirtualClock
from minibatch.core.request import Request, Sequence
from minibatch.course.site.in_browser.own_code import CodeError, load, sentence
from minibatch.engine.engine import Engine
from minibatch.plots.pages import pages
from minibatch.schedulers import Budget, Continuous, Dynamic, Scheduler, victims
from minibatch.schedulers.admission import Admission, ReserveMaximum
from minibatch.simulator.pretend import PretendModel

RIGHT, NOT_WRITTEN = "right", "not written yet"
_PAGES = pages(__file__)
_STEP = 0.025  # seconds
_LATE = [("A", 30, 20, 1.0), ("B", 10, 40, 1.2), ("C", 20, 5, 1.3), ("D", 40, 30, 2.5)]
_MANY = [(f"R{n}", 20 + 37 * n % 120, 20 + 53 * n % 130, 0.0) for n in range(24)]
_SLOTS, _BLOCKS, _TOKENS, _ALL = 8, 48, 128, 100_000


@dataclass(frozen=True)
class Tried:
    """A case and what came of it. result: `RIGHT`, `NOT_WRITTEN`, or what is wrong."""

    exercise: str
    case: str
    result: str


def cases(policy: str) -> dict[str, str]:
    """Load a learner's text, and try each exercise whose name it defines. Raises CodeError."""
    module = load(policy)
    found = [case for name, tried in CASES.items() if hasattr(module, name) for case in tried]
    if not found:
        raise CodeError(f"Define one of these functions or classes: {', '.join(CASES)}.")
    rows = [Tried(exercise, words, _result(of, module)) for exercise, words, of in found]
    right = sum(row.result == RIGHT for row in rows)
    html = _PAGES.get_template("exercise_cases.html").render(rows=rows, right=RIGHT)
    return {"html": html, "line": f"{right} of {len(rows)} cases are right."}


def _result(case: Callable[[ModuleType], str], module: ModuleType) -> str:
    try:
        return case(module) or RIGHT
    except NotImplementedError:
        return NOT_WRITTEN
    except Exception as error:  # of the learner's code
        return sentence(error)


Case = tuple[str, str, Callable[[ModuleType], str]]  # exercise, words, what is wrong or ""


def call(exercise: str, name: str, *arguments: object, expected: object) -> Case:
    """A call of a learner's function, and the value to expect."""

    def of(module: ModuleType) -> str:
        got = getattr(module, name)(*arguments)
        return "" if got in _several(expected) else f"expected {expected!r}, got {got!r}"

    return exercise, f"{name}({', '.join(map(repr, arguments))})", of


def _several(expected: object) -> list[object]:
    return list(expected) if isinstance(expected, tuple) else [expected]


def run(policy: Scheduler, requests: list[tuple], num_blocks: int = 1_000) -> Engine:
    """The requests (name, prompt tokens, answer tokens, seconds of arrival), served."""
    engine = Engine(PretendModel(), policy, num_blocks=num_blocks, clock=VirtualClock(_STEP))
    engine.run(
        Request([0] * prompt, max_tokens=answer, request_id=name, arrival_time=arrival)
        for name, prompt, answer, arrival in requests
    )
    return engine


def _times(engine: Engine) -> dict[str, tuple[float, float]]:
    """First and last token of each request."""
    ended = engine.trace.completions
    return {c.request_id: (round(c.token_times[0], 3), round(c.token_times[-1], 3)) for c in ended}


def _differences(yours: Engine, expected: Engine) -> Iterator[str]:
    got = _times(yours)
    for name, times in sorted(_times(expected).items()):
        if got.get(name) != times:
            yield (
                f"{name}: expected first and last token at {times[0]:g} and {times[1]:g} s, "
                f"got them at {got[name][0]:g} and {got[name][1]:g} s"
            )


def same_times(
    exercise: str,
    words: str,
    requests: list[tuple],
    make: Callable[[ModuleType], Scheduler],
    shipped: Callable[[], Scheduler],
) -> Case:
    """A run under a learner's policy has every token when a shipped policy has it."""

    def of(module: ModuleType) -> str:
        return next(_differences(run(make(module), requests), run(shipped(), requests)), "")

    return exercise, words, of


def _with(part: str) -> Callable[[ModuleType], Scheduler]:
    """MyContinuous with the learner's `part`; the other part is the shipped one."""
    other = {"plan": "update", "update": "plan"}[part]

    def make(module: ModuleType) -> Scheduler:
        mine = module.MyContinuous
        return type(mine.__name__, (mine, Continuous), {other: getattr(Continuous, other)})(3)

    return make


def _preemptions(engine: Engine) -> int:
    return sum(len(step.preempted) for step in engine.trace.steps)


def _never_preempts(module: ModuleType) -> str:
    engine = run(_with("plan")(module), _MANY, _BLOCKS)
    preempted = _preemptions(engine)
    return f"{preempted} preemptions: reserve blocks for the longest answer" if preempted else ""


def _blocks_back(module: ModuleType) -> str:
    engine = run(_with("update")(module), _MANY)
    missing = engine.pool.num_blocks - engine.pool.num_free
    return f"{missing} blocks are not back in the pool" if missing else ""


def _recomputed(victim: victims.Victim) -> int:
    engine = run(Budget(_SLOTS, _TOKENS, victim=victim), _MANY, _BLOCKS)
    return sum(tokens for step in engine.trace.steps for _, tokens in step.recomputed)


def _few_are_computed_again(module: ModuleType) -> str:
    def victim(candidates: list[Sequence]) -> Sequence:
        told = [
            (s.num_computed_tokens, s.num_output_tokens, s.request.max_tokens - s.num_output_tokens)
            for s in candidates
        ]
        return candidates[module.whom_to_preempt(told)]

    yours = _recomputed(victim)
    rules = victims.newest, victims.oldest, victims.least_computed, victims.fewest_output_tokens
    shipped = {rule.__name__: _recomputed(rule) for rule in rules}
    listed = ", ".join(f"{name} {tokens:,}" for name, tokens in shipped.items())
    words = f"{yours:,} tokens are computed again; with the shipped rules: {listed}"
    return "" if yours <= 1.08 * min(shipped.values()) else words


class _Rule(Admission):
    """A learner's rule in the engine."""

    def __init__(self, may_begin: Callable[..., bool]) -> None:
        self.may_begin = may_begin

    def admits(self, scheduler: Scheduler, sequence: Sequence) -> bool:
        running = [
            (s.num_computed_tokens + s.num_uncomputed_tokens, s.max_num_tokens)
            for s in scheduler.running
        ]
        newcomer = sequence.num_tokens, sequence.max_num_tokens
        pool = scheduler.pool
        return self.may_begin(newcomer, running, pool.num_blocks, pool.block_size)


def _none_is_preempted(module: ModuleType) -> str:
    yours = run(Budget(_SLOTS, _ALL, admission=_Rule(module.may_begin)), _MANY, _BLOCKS)
    careful = run(Budget(_SLOTS, _ALL, admission=ReserveMaximum()), _MANY, _BLOCKS)
    if preempted := _preemptions(yours):
        return f"{preempted} preemptions: there were too few blocks"
    steps, most = yours.trace.num_steps, careful.trace.num_steps
    return "" if steps < most else f"{steps} steps; the rule that reserves the maximum takes {most}"


CASES: dict[str, list[Case]] = {
    "is_ready": [
        call("3.1", "is_ready", [0.0, 0.5], 1.0, 8, 2.0, expected=False),
        call("3.1", "is_ready", [0.0, 0.5], 2.0, 8, 2.0, expected=True),
        call("3.1", "is_ready", [0.0, 0.5], 0.5, 2, 2.0, expected=True),
        call("3.1", "is_ready", [], 9.0, 8, 2.0, expected=False),
    ],
    "MyDynamic": [
        same_times(
            "3.2",
            "four requests that arrive at 1.0, 1.2, 1.3 and 2.5 s; max_wait 0.5 s",
            _LATE,
            lambda module: module.MyDynamic(8, 0.5),
            lambda: Dynamic(8, 0.5),
        ),
        same_times(
            "3.2",
            "24 requests at once; max_batch_size 8",
            _MANY,
            lambda module: module.MyDynamic(8, 0.5),
            lambda: Dynamic(8, 0.5),
        ),
    ],
    "MyContinuous": [
        same_times("4.1", "24 requests, 3 slots", _MANY, _with("plan"), lambda: Continuous(3)),
        ("4.1", f"24 requests, {_BLOCKS} blocks: none is preempted", _never_preempts),
        same_times("4.2", "24 requests, 3 slots", _MANY, _with("update"), lambda: Continuous(3)),
        ("4.2", "24 requests: all blocks come back", _blocks_back),
    ],
    "whom_to_preempt": [
        call("9.1", "whom_to_preempt", [(57, 12, 3)], expected=0),
        ("9.1", f"24 requests, {_BLOCKS} blocks: few tokens again", _few_are_computed_again),
    ],
    "may_begin": [
        call("9.2", "may_begin", (1, 12), [(11, 12)], 4, 4, expected=True),
        call("9.2", "may_begin", (1, 12), [(5, 12)], 4, 4, expected=False),
        ("9.2", f"24 requests, {_BLOCKS} blocks: none is preempted", _none_is_preempted),
    ],
    "whom_to_refuse": [
        call("9.3", "whom_to_refuse", [(0, 80), (0, 30)], 0, 100, expected=([0], [1])),
        call("9.3", "whom_to_refuse", [(0, 80), (0, 30), (0, 60)], 0, 100, expected=[0]),
    ],
    "who_is_next": [
        call("9.4", "who_is_next", [(0, 0), (5, 550)], 600, 100, expected=0),
    ],
}

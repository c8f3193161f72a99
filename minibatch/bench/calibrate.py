"""`mb.calibrate`: the cost of this model's steps on this machine, from real runs, with its error.

Training runs and held-out runs take turns, so that a machine that gets slower slows both. The fit
sees the steps of the training runs only. Each held-out workload runs for real several times, and
once in simulation.

    train │ all at once │ train │ arriving │ train │ all at once │ train │ arriving │ train
"""

from __future__ import annotations

import math
import time
from contextlib import nullcontext
from dataclasses import fields, replace

import numpy as np
from tqdm.auto import tqdm

from ..core.checks import check_number, integer
from ..core.clock import Clock, ProcessClock, WallClock
from ..core.request import Request
from ..engine.engine import Engine
from ..memory.kv_cache import bytes_per_token
from ..model.load import Model
from ..schedulers import Continuous
from ..simulator.cost import CostModel
from ..simulator.traffic import AZURE_CONVERSATION
from .calibration import CPU_TIME, Calibration, facts_of
from .held_out import HeldOut, RunTimes, run, simulate
from .machine_facts import OtherPrograms, look
from .step_periods import PlanRecorder, Steps
from .stopwatch import one_thread

BUSY = 0.6  # the load of the held-out workload whose requests arrive one after another
WARM_UP = ((300, 8), (20, 8), (900, 2))  # prompt and answer tokens
TRAINING = (10, 1000), (5, 200)  # tokens, log-uniform between: prompts, answers
LENGTHS = AZURE_CONVERSATION.scaled(1 / 8)  # so a run of two seconds has enough requests
LEAST, SAMPLE = 4, 64  # requests of a held-out workload; requests to learn how long each takes
CHUNK = 512  # tokens: most in a step of the training runs with a full batch
LEAST_STEPS = 12  # of half a training run, where one step with many prompts takes all its time
PAUSE = 0.05  # seconds between two bursts of the training traffic, on average


def calibrate(
    model: Model,
    *,
    seconds: float = 18.0,
    max_batch_size: int = 8,
    rounds: int = 2,
    clock: Clock | None = None,
    seed: int = 0,
    progress: bool = False,
) -> Calibration:
    """A cost model for this model's steps on this machine, and its error on held-out runs.

        calibration = mb.calibrate(model)
        print(calibration)
        engine = mb.Engine(mb.PretendModel(), policy, clock=mb.VirtualClock(calibration.cost_model))

    The costs are of a step, a row, a prompt token, a token in the cache, and a pair of tokens. They
    are fitted to the time from the start of each step to the start of the next.

    seconds: about how long all runs together may take, on the clock; the first steps in a process
    take a few seconds more, since they compile. max_batch_size: of the runs, and so the most rows
    for which costs are measured. rounds: real runs of each held-out workload. clock: of the engine;
    None is the wall clock. A `ProcessClock` counts CPU time, with one thread. seed: of all lengths
    and arrivals. progress: show a bar.
    Raises ValueError for less than a second, or fewer than 2 rounds.
    """
    check_number("seconds", seconds, "be 1 or more", lambda x: x >= 1)
    rounds = integer("rounds", rounds, at_least=2)
    others, begun = OtherPrograms(), time.perf_counter()
    clock, draw = clock or WallClock(), np.random.default_rng(seed)
    engine = Engine(model, Continuous(max_batch_size), clock=PlanRecorder(clock))
    cpu_time = isinstance(clock, ProcessClock)
    with (
        one_thread() if cpu_time else nullcontext(),
        tqdm(total=2 * rounds, unit="run", disable=not progress, leave=False) as bar,
    ):
        _warm_up(engine)
        first, num_left = seconds / (4 * rounds + 1), 4 * rounds
        end = engine.clock.total + seconds
        steps = _train(engine, draw, first)
        workloads = _held_out(engine, fit(model, steps, "a first fit"), first, draw)
        real: list[list[RunTimes]] = [[] for _ in workloads]
        for turn in range(2 * rounds):
            real[turn % 2].append(run(engine, workloads[turn % 2]))
            part = (end - engine.clock.total) / (num_left - 1)  # shorter if the others took longer
            steps.extend(_train(engine, draw, max(part, first / 4)))
            num_left -= 2
            bar.update()
    kind = CPU_TIME if cpu_time else "wall time"
    cost_model = fit(model, steps, f"calibrated on {len(steps.seconds):,} steps; {kind}")
    held_out = [
        HeldOut(
            tuple(runs), simulate(Continuous(max_batch_size), workload, cost_model, engine.pool)
        )
        for workload, runs in zip(workloads, real, strict=True)
    ]
    return Calibration(
        cost_model=cost_model,
        held_out=held_out,
        num_steps=len(steps.seconds),
        max_batch_size=max_batch_size,
        kind_of_time=kind,
        seconds_taken=time.perf_counter() - begun,
        other_programs=others.share(),
        model=facts_of(model),
        machine=look(),
    )


def fit(model: Model, steps: Steps, source: str) -> CostModel:
    """The cost of these steps. Together they cost what they took.

    `CostModel.fit` counts each step's error as a share of its time, so a step that another program
    has stalled counts for little. All costs are then multiplied by one factor that restores the
    sum: stalls are a part of what a run takes.
    """
    kv_bytes = bytes_per_token(model.kv_shapes, model.dtype)
    found = CostModel.fit(steps.plans, steps.seconds, kv_bytes, source)
    factor = sum(steps.seconds) / sum(found(plan) for plan in steps.plans)
    costs = [field.name for field in fields(found) if field.name.startswith("seconds_per_")]
    return replace(found, **{name: factor * getattr(found, name) for name in costs})


def _warm_up(engine: Engine) -> None:
    """A few steps that are not counted: the first ones may compile."""
    engine.run([_request(engine.model, *lengths, np.random.default_rng(0)) for lengths in WARM_UP])


def _train(engine: Engine, draw: np.random.Generator, seconds: float) -> Steps:
    """Steps of the training traffic, for so long on the engine's clock: half of it with a full
    batch and prompts in chunks, half with few rows, whole prompts and pauses.

    Both are needed. A cost that rises evenly with the rows is only nearly true, and a fit to few
    rows alone is wrong for many. The first step after a pause finds cold caches.
    """
    policy = engine.scheduler
    most, policy.max_batch_tokens = policy.max_batch_size, max(CHUNK, policy.max_batch_size)
    steps = _bursts(engine, draw, seconds / 2, (2 * most, 3 * most))
    policy.max_batch_tokens = None
    steps.extend(_bursts(engine, draw, seconds / 2, (1, 1 + most // 2)))
    return steps


def _bursts(
    engine: Engine, draw: np.random.Generator, seconds: float, sizes: tuple[int, int]
) -> Steps:
    """A number of requests at once or within 0.3 s, a pause after the last answer, and again."""
    engine.reset()
    while engine.clock.now() < seconds:
        spread = float(draw.choice((0.0, 0.05, 0.3)))
        for _ in range(draw.integers(*sizes, endpoint=True)):
            lengths = [round(_log_uniform(draw, *ends)) for ends in TRAINING]
            request = _request(engine.model, *lengths, draw)
            engine.add(replace(request, arrival_time=spread * draw.random()))
        while engine.has_work and (
            engine.clock.now() < seconds or engine.trace.num_steps < LEAST_STEPS
        ):
            engine.step()
        engine.clock.sleep(draw.exponential(PAUSE))
    return engine.clock.steps(engine.trace)


def _held_out(
    engine: Engine, cost_model: CostModel, seconds: float, draw: np.random.Generator
) -> list[list[Request]]:
    """Two workloads that take about so long: all requests at once, and one after another at a load
    of BUSY. The first fit says how many they are, and when they arrive."""

    def simulated(requests: list[Request]) -> RunTimes:
        policy = Continuous(engine.scheduler.max_batch_size)
        return simulate(policy, requests, cost_model, engine.pool)

    def drawn(number: int) -> list[Request]:
        lengths = zip(*LENGTHS.draw(number, draw), strict=True)
        return [_request(engine.model, *each, draw) for each in lengths]

    many = drawn(SAMPLE)
    each = simulated(many).makespan / len(many)
    number = max(LEAST, round(seconds / each))
    many += drawn(max(0, number - SAMPLE))
    gaps = draw.exponential(each, number).cumsum()

    def arriving(factor: float) -> list[Request]:
        """Those that come in time if the gaps are so many times as long."""
        times = (factor * (gaps - gaps[0])).tolist()
        come = [replace(r, arrival_time=time) for r, time in zip(many, times, strict=False)]
        return come[: max(LEAST, sum(time < seconds for time in times))]

    choices = [arriving(factor) for factor in np.geomspace(0.8, 6, 12)]
    nearest = min(choices, key=lambda requests: abs(simulated(requests).busy - BUSY))
    return [many[:number], nearest]


def _log_uniform(draw: np.random.Generator, low: float, high: float) -> float:
    return math.exp(draw.uniform(math.log(low), math.log(high)))


def _request(
    model: Model, prompt_tokens: int, answer_tokens: int, draw: np.random.Generator
) -> Request:
    """Random tokens, as many as the model's context holds; the answer has a fixed length."""
    answer_tokens = min(int(answer_tokens), model.max_model_len // 2)
    prompt_tokens = min(int(prompt_tokens), model.max_model_len - answer_tokens)
    ids = draw.integers(0, model.vocab_size, prompt_tokens).tolist()
    return Request(ids, max_tokens=answer_tokens, ignore_eos=True)

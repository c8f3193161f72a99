"""`python -m minibatch bench prefix`: the gain of the prefix cache.

The same engine runs with and without `prefix_caching`, in turns, in CPU time with one thread (on a
GPU: the time until it has finished). The time from a request to its first token is measured. The
content that must be in the cache is computed before the watch starts. transformers' own batching
takes part with its prefix sharing off and on.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import takewhile
from statistics import fmean, median

from ..core.request import Request
from ..core.request import Sequence as Running
from ..engine.engine import Engine
from ..memory.blocks import BlockPool
from ..memory.prefix import PrefixIndex
from ..model.load import Model, load_model
from ..schedulers import Continuous
from ..simulator import workload
from .alternating import alternating
from .contenders import BLOCK_SIZE, NotAvailableError, transformers_manager
from .machine_facts import look
from .stopwatch import Stopwatch, conditions, one_thread

CHAT, NEW = 1000, 50  # tokens of a conversation so far, and of the next question
LOOKUPS, BLOCKS = 100_000, 64  # number of look-ups, and blocks that each finds
WITHOUT, WITH = False, True


@dataclass(frozen=True)
class Gain:
    """Seconds without the cache and with it, a pair for each round.

    least: the aim for `times`; None: no aim.
    """

    name: str
    rounds: list[tuple[float, float]]
    least: float | None = None

    @property
    def times(self) -> float:
        """How many times as long it takes without the cache: the median of the rounds' ratios."""
        return median(without / found for without, found in self.rounds)

    def __str__(self) -> str:
        without, found = (median(column) for column in zip(*self.rounds, strict=True))
        aim = ""
        if self.least is not None:
            result = "met" if self.times >= self.least else "missed"
            aim = f"aim {self.least:.2f} or more: {result}"
        numbers = f"{1e3 * without:9.1f} {1e3 * found:9.1f}  {self.times:6.2f} x"
        return f"{self.name:44}{numbers}  {aim}".rstrip()


def main(argv: Sequence[str]) -> int:
    """Measure, print, and return 0; 1 if an aim was missed."""
    parser = argparse.ArgumentParser(
        prog="python -m minibatch bench prefix",
        description="Measure prefix caching on this machine; a minute or two.",
    )
    parser.add_argument("--rounds", type=int, default=3, metavar="N", help="medians of N rounds")
    parser.add_argument("--model", metavar="NAME", help="hub id or folder; default: Wayfarer")
    options = parser.parse_args(argv)
    model, machine = load_model(options.model), look()
    agents = [model.encode(agent.prompt) for agent in workload.running_example(model)]
    shared = num_common(agents)
    print(
        f"prompts of {fmean(map(len, agents)):,.0f} tokens on average, the first {shared} the "
        f"same; blocks of {BLOCK_SIZE}\n{conditions(model.device)}; "
        f"medians of {options.rounds} rounds\n"
    )
    print(f"{'':44}{'without':>9} {'with':>9}   ms")
    gains = []
    with one_thread():
        for gain in _gains(model, agents, shared, options.rounds):
            print(gain, flush=True)
            gains.append(gain)
        index_s = lookup_seconds()
    print(f"\n{LOOKUPS:,} look-ups of {BLOCKS} blocks: {index_s:.2f} s; aim 4 s or less: ", end="")
    print("met" if index_s <= 4 else "missed")
    if not machine.is_quiet:
        print("Other programs use the processor at the same time.")
    reached = [gain.least is None or gain.times >= gain.least for gain in gains]
    return 0 if all(reached) and index_s <= 4 else 1


def _gains(model: Model, agents: list[list[int]], shared: int, num_rounds: int) -> Iterator[Gain]:
    manual = agents[0][:shared]
    with served(model) as serve:
        rounds = in_turns([partial(serve, manual, prompt) for prompt in agents], num_rounds)
        yield Gain("A to H one by one, the manual already cached", rounds, least=2.2)
    try:
        with served_by_transformers(model) as serve:
            rounds = in_turns([partial(serve, manual, prompt) for prompt in agents], num_rounds)
        yield Gain("  the same, transformers continuous", rounds)
    except NotAvailableError as error:
        print(f"  transformers continuous: not available: {error}")
    for name, slots in {"together": 8, "one after another": 1}.items():
        rounds = in_turns([partial(cold, model, agents, slots)], num_rounds)
        yield Gain(f"A to H {name}, nothing cached before", rounds)
    with served(model) as serve:
        talk = max(agents, key=len)
        asked = partial(serve, talk[:CHAT], talk[: CHAT + NEW])
        rounds = in_turns([asked] * 4, num_rounds)
        yield Gain(f"{NEW} more tokens after a chat of {CHAT:,}", rounds, least=8)
    yield Gain("16 short requests with nothing in common", nothing_shared(model, num_rounds), 0.97)


def in_turns(asked: list[Callable[[bool], float]], num_rounds: int) -> list[tuple[float, float]]:
    """Mean seconds of the calls `asked`, without the cache and with it, for each round. The two
    take turns, also in which is first. One round before them is not counted."""
    rounds = []
    for turn in range(num_rounds + 1):
        seconds: dict[bool, list[float]] = {WITHOUT: [], WITH: []}
        for number, ask in enumerate(asked, turn):
            for caching in (WITH, WITHOUT) if number % 2 else (WITHOUT, WITH):
                seconds[caching].append(ask(caching))
        rounds.append((fmean(seconds[WITHOUT]), fmean(seconds[WITH])))
    return rounds[1:]


FirstToken = Callable[[list[int], list[int], bool], float]
"""(tokens to cache beforehand, prompt, with the cache?) -> seconds to its first token."""


@contextmanager
def served(model: Model) -> Iterator[FirstToken]:
    """First tokens, served by this package."""
    watch = Stopwatch(model.device, cpu_time=True)
    engines = {caching: _engine(model, 1, caching) for caching in (WITHOUT, WITH)}

    def first_token(before: list[int], prompt: list[int], caching: bool) -> float:
        engine = engines[caching]
        engine.reset()
        engine.run([Request(before, max_tokens=1)])
        watch.reset()
        with watch.part("total"):
            engine.run([Request(prompt, max_tokens=1)])
        return watch.seconds["total"]

    yield first_token


@contextmanager
def served_by_transformers(model: Model) -> Iterator[FirstToken]:
    """First tokens, served by transformers' own continuous batching. It caches blocks only of
    requests that live on after the step. So the tokens to cache are a request with two output
    tokens; the measured requests have one, and leave nothing in the cache."""
    watch = Stopwatch(model.device, cpu_time=True)
    request = partial(Request, ignore_eos=True)
    longest = [request([0] * 1400, max_tokens=2)] * 4
    with ExitStack() as stack:
        serve = {
            caching: stack.enter_context(
                transformers_manager(model, longest, sharing=caching, page_size=BLOCK_SIZE)
            )
            for caching in (WITHOUT, WITH)
        }

        def first_token(before: list[int], prompt: list[int], caching: bool) -> float:
            serve[caching]([request(before, max_tokens=2)])
            watch.reset()
            with watch.part("total"):
                serve[caching]([request(prompt, max_tokens=1)])
            return watch.seconds["total"]

        yield first_token


def cold(model: Model, agents: list[list[int]], slots: int, caching: bool) -> float:
    """Mean seconds to the first token, over all agents, which arrive at once."""
    engine = _engine(model, slots, caching)
    for prompt in agents:
        engine.add(Request(prompt, max_tokens=1))
    watch, waits = Stopwatch(model.device, cpu_time=True), []
    while engine.has_work:
        with watch.part("total"):
            step = engine.step()
        waits += [watch.seconds["total"]] * len(step.finished)
    return fmean(waits)


def nothing_shared(model: Model, num_rounds: int) -> list[tuple[float, float]]:
    """Seconds of a whole run without and with the cache, token by token in turns."""
    requests = workload.agents(model, 16, prompt_scale=0.1, output_scale=0.25)
    runs = {
        str(caching): lambda caching=caching: _engine(model, 8, caching).stream(requests)
        for caching in (WITHOUT, WITH)
    }
    seconds = alternating(runs, num_rounds, model.device).seconds
    return list(zip(seconds[str(WITHOUT)], seconds[str(WITH)], strict=True))


def lookup_seconds() -> float:
    """CPU time of LOOKUPS look-ups; the sequence keeps its hashes."""
    import torch

    pool, index = BlockPool(BLOCKS, BLOCK_SIZE), PrefixIndex(BLOCKS, BLOCK_SIZE)
    ids = list(range(BLOCKS * BLOCK_SIZE + 1))
    sequence = Running(Request(ids), "A", ids, len(ids))
    sequence.block_table = pool.allocate(BLOCKS)
    sequence.num_computed_tokens = len(ids) - 1
    index.register(sequence)
    watch = Stopwatch(torch.device("cpu"), cpu_time=True)
    with watch.part("total"):
        for _ in range(LOOKUPS):
            index.find(sequence)
    return watch.seconds["total"]


def num_common(prompts: list[list[int]]) -> int:
    """Length of the prefix that all prompts share, in tokens."""
    same = takewhile(lambda tokens: len(set(tokens)) == 1, zip(*prompts, strict=False))
    return sum(1 for _ in same)


def _engine(model: Model, slots: int, caching: bool) -> Engine:
    return Engine(model, Continuous(slots), block_size=BLOCK_SIZE, prefix_caching=caching)

"""Anyscale's benchmark of June 2023, run again: the "23×" of vLLM over naive static batching.

One A100 40 GB, OPT-13B, 1,000 prompts of 512 tokens, all at once. Answers are exponential with a
mean of 128 tokens; one above the cap is drawn again, so at a cap of 32 the mean is about 15.

Three things differ between the two systems, and each can be switched by itself:

    own_length   answers stop at their own length; naive: all run to the longest of all 1,000
    continuous   a free slot is taken at once; naive: when the whole batch has ended
    paged        as many requests as the pool holds; naive: a batch of 4 at the cap of 1,536

Source: github.com/anyscale/llm-continuous-batching-benchmarks, commit ce08a14. The naive server
(launch_scripts/launch_vanilla_hf) takes the largest max_length of all requests, and sets min_length
to it; batch sizes and pools are in benchmark_configs/.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from itertools import permutations
from math import ceil

import numpy as np

from ..schedulers import Continuous, Static
from .presets import A100_40, OPT_13B, Preset
from .simulate import simulate
from .traffic import Traffic

NAIVE_BATCH = {32: 16, 128: 12, 512: 8, 1536: 4}  # by cap: NAIVE_HF_BS
TGI_TOKENS = {32: 8700, 128: 7500, 512: 8100, 1536: 8100}  # by cap: max_batch_total_tokens
VLLM_SLOTS = 256  # its max_num_seqs of the time
NUM_REQUESTS, PROMPT, MEAN = 1000, 512, 128
MACHINE = Preset(OPT_13B, A100_40, mixes=False)  # vLLM and TGI mixed no prompts into decodes then
SWITCHES = ("own_length", "continuous", "paged")


@dataclass(frozen=True)
class System:
    """A point between the naive server and vLLM."""

    own_length: bool = False
    continuous: bool = False
    paged: bool = False


NAIVE, FASTER_TRANSFORMER = System(), System(own_length=True)
VLLM = System(own_length=True, continuous=True, paged=True)


@cache
def requests(cap: int, seed: int) -> Traffic:
    """The benchmark's requests: its `capped_exponential`, at least one token each."""
    rng, lengths = np.random.default_rng(seed), np.empty(0)
    while len(lengths) < NUM_REQUESTS:
        more = np.rint(rng.exponential(MEAN, NUM_REQUESTS))
        lengths = np.append(lengths, more[more <= cap])
    output = np.maximum(1, lengths[:NUM_REQUESTS]).astype(np.int64)
    return Traffic(np.zeros(NUM_REQUESTS), np.full(NUM_REQUESTS, PROMPT), output)


@cache
def seconds(system: System, cap: int = 1536, seed: int = 0, machine: Preset = MACHINE) -> float:
    """The time in which this system serves all requests."""
    traffic, batch = requests(cap, seed), NAIVE_BATCH[cap]
    kind = Continuous if system.continuous else Static
    if not system.own_length:
        longest = np.full(NUM_REQUESTS, traffic.output.max())
        traffic = replace(traffic, output=longest)
    if system.paged:
        pool = machine.num_blocks
        return simulate(kind(VLLM_SLOTS), traffic, machine, num_blocks=pool).makespan_s
    if not system.own_length:  # every batch is the same: one is enough
        one = Traffic(np.zeros(batch), traffic.prompt[:batch], traffic.output[:batch])
        return simulate(kind(batch), one, machine).makespan_s * ceil(NUM_REQUESTS / batch)
    return simulate(kind(batch), traffic, machine).makespan_s


def speedup(system: System, cap: int = 1536, seed: int = 0, machine: Preset = MACHINE) -> float:
    """How many times the naive server's throughput; both serve the same requests."""
    return seconds(NAIVE, cap, seed, machine) / seconds(system, cap, seed, machine)


def speedup_of_tgi(cap: int = 1536, seed: int = 0, machine: Preset = MACHINE) -> float:
    """The same for TGI: continuous batching with room for so many tokens. TGI reserves the true
    length of an answer, which the benchmark tells it; here blocks are taken as needed."""
    traffic, policy = requests(cap, seed), Continuous(VLLM_SLOTS)
    run = simulate(policy, traffic, machine, num_blocks=TGI_TOKENS[cap] // 16)
    return seconds(NAIVE, cap, seed, machine) / run.makespan_s


def factors(
    order: tuple[str, ...] = SWITCHES, cap: int = 1536, seed: int = 0, machine: Preset = MACHINE
) -> dict[str, float]:
    """The speed-up of vLLM as a product: by how much each switch, turned in this order, adds."""
    system, found = NAIVE, {}
    for switch in order:
        following = replace(system, **{switch: True})
        before, after = (seconds(s, cap, seed, machine) for s in (system, following))
        system, found[switch] = following, before / after
    return found


def orders(
    cap: int = 1536, seed: int = 0, machine: Preset = MACHINE
) -> dict[tuple[str, ...], dict[str, float]]:
    """The factors in all six orders. Their product is always the same, and they are not."""
    return {order: factors(order, cap, seed, machine) for order in permutations(SWITCHES)}


def tokens_per_second(system: System, cap: int = 1536, seed: int = 0) -> float:
    """As the benchmark counts: tokens of prompts and answers together."""
    traffic = requests(cap, seed)
    return float((traffic.prompt + traffic.output).sum()) / seconds(system, cap, seed)

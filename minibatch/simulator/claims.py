"""Published speed-ups, run again: what a simulation says of each, and which settings make it.

    for claim in mb.claims.TABLE:
        print(claim)
    mb.claims.sources()  # in a notebook: the settings and the source of each claim

All rows use the presets of presets.py with the same efficiencies, and none is tuned. A single
efficiency would cancel out of a ratio. So the range is that of reading and computing with
efficiencies of their own, from 0.6 to 0.9: the two worst cases, one at each end. A row that cannot
be run says why.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from html import escape
from itertools import groupby
from statistics import median

from . import anyscale, orca
from .anyscale import FASTER_TRANSFORMER, VLLM
from .presets import EFFICIENCIES, Preset

LOW, MIDDLE, HIGH = EFFICIENCIES
CORNERS = ((MIDDLE, MIDDLE), (LOW, HIGH), (HIGH, LOW))
SEEDS = range(20)
Run = Callable[[Preset], float]


@dataclass(frozen=True)
class Simulation:
    """value: at the middle efficiency, of reading and of computing. low, high: the range."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return (
            f"simulated {self.value:.3g} ({self.low:.3g}–{self.high:.3g} for efficiencies "
            f"{LOW:g}–{HIGH:g})"
        )


@dataclass(frozen=True)
class Claim:
    """A published speed-up. published: as it was printed. run: the simulation, of a machine; None
    if there is none, and because says why."""

    name: str
    published: str
    because: str
    settings: str
    source: str
    machine: Preset | None = None
    run: Run | None = None

    def simulate(self) -> Simulation | None:
        """Run it for the middle efficiencies and both ends; None if it cannot be run. Seconds."""
        if self.run is None:
            return None
        found = [self.run(self.machine.at(*corner)) for corner in CORNERS]
        return Simulation(found[0], min(found), max(found))

    def __str__(self) -> str:
        simulated = self.simulate() or "not simulated"
        return f"{self.name}: published {self.published} · {simulated} · because {self.because}"


def over_seeds(speedup: Callable[..., float], *args: object) -> Run:
    """The median of twenty random samples of the requests."""
    return lambda machine: median(speedup(*args, seed, machine) for seed in SEEDS)


def _of_vllm(cap: int, published: str, because: str) -> Claim:
    return Claim(
        f"vLLM / naive batching, answers up to {cap:,}",
        published,
        because,
        _ANYSCALE_SETTINGS.format(batch=anyscale.NAIVE_BATCH[cap]),
        _ANYSCALE,
        anyscale.MACHINE,
        over_seeds(anyscale.speedup, VLLM, cap),
    )


_ANYSCALE = "Anyscale, 2023; github.com/anyscale/llm-continuous-batching-benchmarks"
_ANYSCALE_SETTINGS = (
    "OPT-13B, A100 40 GB, 1,000 prompts of 512 at once, answers of random length (exponential, "
    "mean 128), naive batch {batch}"
)
_ORCA_SETTINGS = (
    "GPT-3 175B, 16 A100 40 GB, Poisson, prompts 32–512, answers 1–128, median latency for a token "
    "within twice that of a request alone"
)
_ORCA = "Yu et al., OSDI 2022"

TABLE = (
    _of_vllm(
        1536,
        "23",
        "its factors are 3.6 (every naive answer is as long as the longest of 1,000) × 2.0 (a free "
        "slot is used immediately) × 2.9 (more than four requests fit into the memory). The "
        "product depends on the longest answer",
    ),
    _of_vllm(512, "no number found", "no answer is longer than 512, so naive batching wastes less"),
    _of_vllm(128, "no number found", "its batch of 12 has half of what the memory holds"),
    _of_vllm(32, "no number found", "most of the time is prompts, which batching does not shorten"),
    Claim(
        "FasterTransformer / naive batching",
        "4",
        "a batch runs until its own longest answer ends, not up to the longest of all 1,000. The "
        "simulation leaves out faster kernels and the server's pause of 1 s before each batch",
        _ANYSCALE_SETTINGS.format(batch=4) + ", longest 1,536; FasterTransformer's batch is 4, too",
        _ANYSCALE,
        anyscale.MACHINE,
        over_seeds(anyscale.speedup, FASTER_TRANSFORMER, 1536),
    ),
    Claim(
        "TGI and Ray / naive batching",
        "8",
        "the simulation leaves out TGI's pauses and copies when requests join a batch. Its ratio "
        "is about twice the published ratio",
        _ANYSCALE_SETTINGS.format(batch=4) + ", longest 1,536; KV cache for 8,100 tokens",
        _ANYSCALE,
        anyscale.MACHINE,
        over_seeds(anyscale.speedup_of_tgi, 1536),
    ),
    Claim(
        "Orca / FasterTransformer, batch 1",
        "36.9",
        "with a batch of 1, requests already queue at a load at which Orca still has free slots. "
        "The ratio depends on the latency target",
        _ORCA_SETTINGS + f", {orca.MOST_SLOTS} slots",
        _ORCA,
        orca.MACHINE,
        lambda machine: orca.ratio(orca.ONE, machine=machine),
    ),
    Claim(
        "Orca / FasterTransformer, batch 8",
        "36.9",
        "with a batch of 8 the simulated baseline is about twice as fast as with a batch of 1, so "
        "the ratio is about half as large. We do not know why the paper's ratio is larger",
        _ORCA_SETTINGS + f", {orca.MOST_SLOTS} slots",
        _ORCA,
        orca.MACHINE,
        lambda machine: orca.ratio(orca.EIGHT, machine=machine),
    ),
    Claim(
        "Orca with 32 slots / FasterTransformer, batch 1",
        "36.9",
        "fewer slots than the memory holds; the paper's number of slots is not known here",
        _ORCA_SETTINGS,
        _ORCA,
        orca.MACHINE,
        lambda machine: orca.ratio(orca.ONE, machine=machine, system=orca.ORCA_32),
    ),
    Claim(
        "vLLM / Orca, FasterTransformer",
        "2–4",
        "it needs ShareGPT's lengths, whose licence is unclear. Lesson 05 splits the gain into "
        "scheduling and memory",
        "OPT-13B to 175B, ShareGPT and Alpaca lengths",
        "Kwon et al., SOSP 2023",
    ),
    Claim(
        "vLLM / Hugging Face Transformers, TGI",
        "14–24, 2.2–3.5",
        "it needs ShareGPT's lengths; 3.3–3.5 is for three answers to a prompt, which share memory",
        "Llama-7B on A10G, Llama-13B on A100 40 GB",
        "vLLM blog, June 2023",
    ),
    Claim(
        "SGLang / other engines",
        "up to 5",
        "the gain comes from prompts that share prefixes; columns of lengths have no prompts",
        "Llama-7B on A10G, RadixAttention",
        "LMSYS blog, January 2024",
    ),
    Claim(
        "TensorRT-LLM, batch 512 / 64",
        "1.27 (and 1.05 for 2,048)",
        "the fall from 512 to 2,048 comes from kernels and memory that a roofline does not model",
        "Llama-3.3-70B, 4 H100: 1,944, 2,467, 2,044 tokens/s at 64, 512, 2,048",
        "TensorRT-LLM documentation",
    ),
    Claim(
        "Sarathi-Serve / vLLM",
        "2.6, 3.7, 5.6",
        "it needs lengths of arXiv-summarization and ShareGPT, and the times between tokens, which "
        "the fast simulator does not keep",
        "Mistral-7B, Yi-34B, Falcon-180B under a limit on the time between tokens",
        "Agrawal et al., OSDI 2024",
    ),
    Claim(
        "DistServe / vLLM",
        "7.4 × requests, 12.6 × tighter limits",
        "the best of several models and parallelisms; lesson 13 simulates its smallest experiment",
        "OPT-13B to 175B, TTFT and TPOT limits at 90 % attainment",
        "Zhong et al., OSDI 2024",
    ),
)


class _Fold(str):
    def _repr_html_(self) -> str:
        return self


def sources(names: Collection[str] | None = None) -> _Fold:
    """The name, published ratio, settings and source of each claim, as a closed fold of HTML.

    names: of the claims in it; None: all.
    """
    shown = [claim for claim in TABLE if names is None or claim.name in names]
    head = "".join(f"<th>{word}</th>" for word in ("claim", "published", "settings", "source"))
    cell = '<td style="text-align: left; vertical-align: top"'
    rows = ""
    for source, claims in groupby(shown, key=lambda claim: claim.source):
        of_source = list(claims)
        for i, claim in enumerate(of_source):
            words = (claim.name, claim.published, claim.settings)
            rows += "<tr>" + "".join(f"{cell}>{escape(word)}</td>" for word in words)
            if not i:  # a source stands once, beside all of its claims
                rows += f'{cell} rowspan="{len(of_source)}">{escape(source)}</td>'
            rows += "</tr>"
    return _Fold(
        f"<details><summary>The settings and the sources</summary><table><tr>{head}</tr>{rows}"
        "</table></details>"
    )

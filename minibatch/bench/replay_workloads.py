"""The requests of a replay: the course's workloads by name, or a trace from a file.

A named workload of lengths draws from a public trace's quantiles; a file gives each request's own.
Their prompts are random: token ids, or words for servers that take only text. Random prompts share
no beginnings, so a prefix cache finds nothing; the agents' prompts do share some.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np

from ..core.request import Request
from ..simulator import traffic
from ..simulator.traffic import Traffic

LENGTHS = {
    "azure-conversation": traffic.AZURE_CONVERSATION,
    "azure-code": traffic.AZURE_CODE,
}
NAMES = ("agents", *LENGTHS)
READERS: dict[str, Callable[[Path], Traffic]] = {
    ".csv": traffic.from_csv,
    ".jsonl": traffic.from_jsonl,
}
NUM_REQUESTS = 50  # of a named workload, unless told otherwise
FIRST_ID, LAST_ID = 100, 999  # every tokenizer of a language model has these ids; most special
# tokens come before or after them

# Short words that are one token in most tokenizers, so that n of them are about n tokens.
WORDS = """
    the of and to in for on with at by from that this not are was all new more out up one time
    who them some into only other than its over also after first well way even want because any
""".split()  # noqa: SIM905


def workload(
    name: str,
    *,
    num_requests: int | None = None,
    rate: float | None = None,
    seed: int = 0,
    scale: float = 1.0,
    text: bool = False,
) -> list[Request]:
    """The requests, with arrival times in seconds.

    name: of NAMES, or a file: .csv with Azure's columns, .jsonl with Mooncake's fields.
    num_requests: 50 of a name, all of a file, unless given; the first of a file. rate: requests a
    second on average: Poisson arrivals of a name (None: all at once); a file's own gaps, all
    multiplied (None: as they are). seed: of arrivals, lengths and prompts. scale: all lengths
    multiplied by this; of the agents, the prompts' only, at most 1. text: prompts are words, not
    token ids. Raises ValueError for a name or a value that does not exist.
    """
    if num_requests is not None and num_requests < 1:
        raise ValueError(f"num_requests is {num_requests}; give 1 or more")
    if rate is not None and not rate > 0:
        raise ValueError(f"rate is {rate}; give requests per second, above 0")
    if not 0 < scale < np.inf:
        raise ValueError(f"scale is {scale}; give a factor above 0")
    if name == "agents":
        return _agents(num_requests or NUM_REQUESTS, rate, seed, scale)
    if name in LENGTHS:
        n, lengths = num_requests or NUM_REQUESTS, LENGTHS[name].scaled(scale)
        some = (
            traffic.poisson(rate, n, lengths, seed)
            if rate
            else traffic.all_at_once(n, lengths, seed)
        )
    else:
        some = _from_file(name, num_requests, rate, scale)
    requests = some.requests()
    rng = np.random.default_rng(seed)
    return [replace(r, prompt=_prompt(len(r.prompt), rng, text)) for r in requests]


def _agents(n: int, rate: float | None, seed: int, scale: float) -> list[Request]:
    """The course's agents: Wayfarer's own prompts as text, whose answers end by themselves."""
    from ..model.load import load_model  # torch and transformers: seconds
    from ..simulator.workload import agents, poisson

    requests = agents(load_model(), n, scale)
    return poisson(requests, rate, seed) if rate else requests


def _from_file(name: str, num_requests: int | None, rate: float | None, scale: float) -> Traffic:
    path = Path(name)
    if path.suffix not in READERS:
        raise ValueError(
            f"no workload {name!r}; choose {', '.join(NAMES)}, or a file that ends in "
            f"{' or '.join(READERS)}"
        )
    if not path.is_file():
        raise ValueError(f"there is no file {name}")
    try:
        some = READERS[path.suffix](path)
    except KeyError as error:
        raise ValueError(
            f"{name} has no column {error}; see minibatch/simulator/traffic.py"
        ) from None
    some = Traffic(*(column[:num_requests] for column in (some.arrival, some.prompt, some.output)))
    arrival = some.arrival
    if rate is not None:
        if not (len(some) > 1 and np.ptp(arrival)):
            raise ValueError(f"{name} has no gaps to scale to a rate; leave rate out")
        arrival = (arrival - arrival[0]) * ((len(some) - 1) / rate / np.ptp(arrival))
    prompt, output = (
        np.maximum(1, np.rint(scale * column)).astype(np.int64)
        for column in (some.prompt, some.output)
    )
    return Traffic(arrival, prompt, output)


def _prompt(n: int, rng: np.random.Generator, text: bool) -> str | list[int]:
    if text:
        return " ".join(rng.choice(WORDS, n))
    return rng.integers(FIRST_ID, LAST_ID + 1, n).tolist()

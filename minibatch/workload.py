"""Requests to serve: the course's running example, and the fifty agents it stands for.

Eight travel-agent copilot queries, "A" to "H", reach one engine at about the same time. Prompt and
answer lengths are the published ones; on Wayfarer the answers really end by themselves at exactly
these lengths, behind prompts of exactly these lengths (`wayfarer/running_example.json`).
"""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import numpy as np

from .model import Model
from .request import Request
from .wayfarer import RUNNING_EXAMPLE, WEIGHTS

NAMES = "ABCDEFGH"
PROMPT_LENGTHS = (800, 1200, 950, 1100, 750, 1050, 900, 1300)  # tokens
OUTPUT_LENGTHS = (20, 45, 80, 120, 150, 90, 60, 200)  # tokens, the end token included


def running_example(model: Model, prompt_scale: float = 1.0) -> list[Request]:
    """The eight requests, ids "A" to "H".

    prompt_scale: share of the published prompt lengths. On Wayfarer at 1.0 the prompts are real and
    the answers end by themselves. For other models or lengths the prompts are random tokens and the
    answers are cut at the published length (`ignore_eos`): the same work, without the sense.
    """
    return agents(model, len(NAMES), prompt_scale)


def agents(model: Model, n: int = 50, prompt_scale: float = 1.0) -> list[Request]:
    """`n` requests that repeat the running example's lengths: "A" … "H", then "A2", "B2", …

    Agents who share a letter share lengths, not words.
    """
    if n < 1:
        raise ValueError(f"n is {n}; ask for 1 agent or more")
    if prompt_scale <= 0:
        raise ValueError(f"prompt_scale is {prompt_scale}; give a share above 0")
    names = _names(n)
    if prompt_scale == 1.0 and Path(model.hf.name_or_path) == WEIGHTS:
        return [_wayfarer_request(model, i, name) for i, name in enumerate(names)]
    return [_random_request(model, i, name, prompt_scale) for i, name in enumerate(names)]


def _names(n: int) -> list[str]:
    rounds = itertools.chain([""], map(str, itertools.count(2)))
    return list(itertools.islice((f"{name}{i}" for i in rounds for name in NAMES), n))


def _random_request(model: Model, index: int, name: str, prompt_scale: float) -> Request:
    length = max(1, round(PROMPT_LENGTHS[index % len(NAMES)] * prompt_scale))
    ids = np.random.default_rng(index).integers(0, model.vocab_size, length)
    output = OUTPUT_LENGTHS[index % len(NAMES)]
    return Request(ids.tolist(), max_tokens=output, ignore_eos=True, request_id=name)


def _wayfarer_request(model: Model, index: int, name: str) -> Request:
    examples = json.loads(RUNNING_EXAMPLE.read_text(encoding="utf-8"))
    pool = examples[NAMES[index % len(NAMES)]]  # several conversations of the same two lengths
    conversation = pool[index // len(NAMES) % len(pool)]
    prompt = model.chat(conversation["query"], system=conversation["system"])
    return Request(prompt, max_tokens=256, request_id=name)

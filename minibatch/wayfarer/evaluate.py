"""Examines Wayfarer on held-out questions: `python -m minibatch.wayfarer.evaluate [--card]`.

Every answer is greedy, in float32, and judged by `checking.check`. Prints the figures of the model
card; `--card` also writes them into it.
"""

import argparse
import random
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import cycle, islice
from pathlib import Path

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer, PreTrainedModel
from transformers import PreTrainedTokenizerBase as TokenizerBase

from minibatch.wayfarer import WEIGHTS
from minibatch.wayfarer.answers import answer
from minibatch.wayfarer.card import model_card
from minibatch.wayfarer.checking import Verdict, check
from minibatch.wayfarer.clients import client
from minibatch.wayfarer.corpus import (
    CLIENT_KINDS,
    KINDS,
    MAX_DAYS,
    Example,
    draw_client,
    draw_example,
)
from minibatch.wayfarer.generate import Generated, generate_texts
from minibatch.wayfarer.policy import chat, fill_prompt

LONG_PROMPTS = (750, 1300)  # tokens
FIRST_UNSEEN_CLIENT = 100_000  # training draws clients with smaller numbers


@dataclass(frozen=True, slots=True)
class Exam:
    """A question that was asked, what the model said, and what is right about it."""

    example: Example
    generated: Generated
    verdict: Verdict


def held_out_examples(count: int, *, clients: bool, seed: int = 1) -> list[Example]:
    """Held-out examples, all kinds in turn, every third an itinerary with N = 1 … 14 in turn."""
    rng = random.Random(f"held out {clients} {seed}")
    others = [kind for kind in (CLIENT_KINDS if clients else KINDS) if kind != "itinerary"]
    kinds = cycle(kind for pair in zip(others[::2], others[1::2]) for kind in ("itinerary", *pair))
    days = cycle(range(1, MAX_DAYS + 1))
    examples = []
    for kind in islice(kinds, count):
        person, system = None, ""
        while clients and person is None:
            person, system = draw_client(rng, long=False)
        wanted = next(days) if kind == "itinerary" else 0
        while (
            example := draw_example(rng, person, system, held_out=True, kind=kind)
        ).question.days != wanted:
            pass
        examples.append(example)
    return examples


def behind_long_prompt(tokenizer: TokenizerBase, example: Example, num_tokens: int) -> Example:
    """The same question behind the manual and as much of the client's history as fill the prompt."""
    return example


def examine(
    model: PreTrainedModel, tokenizer: TokenizerBase, examples: Sequence[Example]
) -> list[Exam]:
    """Asks each question in a conversation of its own; answers in the order of the questions."""
    order = sorted(range(len(examples)), key=lambda i: len(examples[i].answer))  # alike together
    prompts = [chat(examples[i].system, examples[i].query) for i in order]
    generated = dict(zip(order, generate_texts(model, tokenizer, prompts), strict=True))
    return [
        Exam(example, generated[i], check(example.question, generated[i].text,
                                          ended=generated[i].ended))
        for i, example in enumerate(examples)
    ]

"""Examines Wayfarer on held-out questions: `python -m minibatch.wayfarer.evaluate [--card]`.

Every answer is greedy, in float32, and judged by `checking.check`. Prints the figures of the model
card; `--card` also writes them into it.
"""

import argparse
import json
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import cycle, islice
from pathlib import Path

import torch
from transformers import (
    AutoModelForCausalLM,
    AutoTokenizer,
    PreTrainedModel,
    PreTrainedTokenizerBase,
)

from minibatch.wayfarer import WEIGHTS
from minibatch.wayfarer.checking import Verdict, check
from minibatch.wayfarer.clients import client
from minibatch.wayfarer.policy import Messages, chat, fill_prompt
from minibatch.wayfarer.training.answers import answer
from minibatch.wayfarer.training.corpus import (
    CLIENT_KINDS,
    KINDS,
    MAX_DAYS,
    Example,
    draw_client,
    draw_example,
)
from minibatch.wayfarer.training.generate import Generated, generate_texts
from minibatch.wayfarer.training.model_card import model_card

LONG_PROMPTS = (750, 1300)  # tokens of the shortest and the longest long prompt


@dataclass(frozen=True, slots=True)
class Exam:
    """A question, the model's answer, and its verdict."""

    example: Example
    generated: Generated
    verdict: Verdict


# Questions.


def held_out(count: int, *, clients: bool, seed: int = 1) -> list[Example]:
    """Held-out examples, each different: every third an itinerary, with N = 1 … 14 in turn.

    With `clients`, each follows the file of a client that training has not used.
    """
    rng = random.Random(f"held out {clients} {seed}")
    kinds = [kind for kind in (CLIENT_KINDS if clients else KINDS) if kind != "itinerary"]
    examples: dict[str, Example] = {}
    for kind, days in _in_turn(kinds):
        if len(examples) == count:
            break
        for _ in range(5_000):  # some kinds have few held-out questions: then take the next kind
            person, system = draw_client(rng, long=False, unseen=True) if clients else (None, "")
            if clients and person is None:
                continue
            example = draw_example(rng, person, system, kind)
            if example.held_out and example.question.days == days and example.key not in examples:
                examples[example.key] = example
                break
    return list(examples.values())


def _in_turn(kinds: list[str]) -> Iterator[tuple[str, int]]:
    """(kind, days), endless: an itinerary after every two of the other kinds."""
    other, days = cycle(kinds), cycle(range(1, MAX_DAYS + 1))
    while True:
        yield "itinerary", next(days)
        yield from ((kind, 0) for kind in islice(other, 2))


def behind_long_prompts(
    tokenizer: PreTrainedTokenizerBase, examples: Sequence[Example], seed: int = 1
) -> list[Example]:
    """The same questions after the manual and as much of the client's history as fits.

    Each prompt has another length between `LONG_PROMPTS`, filled to the token.
    """
    rng = random.Random(f"long prompts {seed}")
    result = []
    for example in examples:
        num_tokens = rng.randint(*LONG_PROMPTS)
        person = client(example.question.client.number)  # the whole file
        filled = fill_prompt(tokenizer, example.query, num_tokens, person)
        question = example.question.behind(filled.client)
        system = filled.messages[0]["content"]
        result.append(replace(example, question=question, system=system, answer=answer(question)))
    return result


def prompt_of(example: Example) -> Messages:
    """The messages that ask this example's question."""
    return chat(example.system, example.query)


# Answers.


def examine(
    model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, examples: Sequence[Example]
) -> list[Exam]:
    """Asks each question in its own conversation; results in the order of the questions."""
    prompts = [prompt_of(example) for example in examples]
    return [
        Exam(example, said, check(example.question, said.text, ended=said.ended))
        for example, said in zip(examples, generate_texts(model, tokenizer, prompts), strict=True)
    ]


# Figures.


def share(exams: Sequence[Exam], right: Callable[[Verdict], bool | None]) -> str:
    """ "98.3 % (118 of 120)", of those exams to which the point applies."""
    verdicts = [verdict for exam in exams if (verdict := right(exam.verdict)) is not None]
    return f"{sum(verdicts) / len(verdicts):.1%} ({sum(verdicts)} of {len(verdicts)})"


def figures(short: Sequence[Exam], long: Sequence[Exam]) -> str:
    """The model card's figures, as Markdown tables."""
    with_client = [exam for exam in short if exam.example.question.client]
    lines = [
        f"{len(short)} held-out questions, half of them behind a client's file, and {len(long)} "
        f"behind prompts of {LONG_PROMPTS[0]:,}–{LONG_PROMPTS[1]:,} tokens (manual, client's file "
        "and history); greedy, float32.",
        "",
        "| | short prompts | long prompts |",
        "|---|---|---|",
    ]
    points: list[tuple[str, Callable[[Verdict], bool | None]]] = [
        ("itineraries with exactly N days, in order, none repeated, ended", lambda v: v.days),
        ("answers in the form asked for that state only facts of the world", lambda v: v.good),
    ]
    for title, right in points:
        lines.append(f"| {title} | {share(short, right)} | {share(long, right)} |")
    points = [
        ("client's name used", lambda v: v.name),
        ("client's limit and diet obeyed, where they matter", lambda v: v.wishes),
        ("name used, limit and diet obeyed", lambda v: v.name and v.wishes is not False),
    ]
    for title, right in points:
        lines.append(f"| {title} | {share(with_client, right)} | {share(long, right)} |")
    return "\n".join([*lines, "", *_days_table(short, long), "", _spread([*short, *long])])


def _days_table(short: Sequence[Exam], long: Sequence[Exam]) -> list[str]:
    """How many itineraries of N days were exact, for each N."""
    rows = [["N"], ["short prompts"], ["long prompts"]]
    for days in range(1, MAX_DAYS + 1):
        rows[0].append(str(days))
        for row, exams in zip(rows[1:], (short, long), strict=True):
            these = [e.verdict.days for e in exams if e.example.question.days == days]
            row.append(f"{sum(these)}/{len(these)}")
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    return ["Exact itineraries of N days:", "", lines[0], "|---" * len(rows[0]) + "|", *lines[1:]]


def _spread(exams: Sequence[Exam]) -> str:
    lengths = sorted(exam.generated.num_tokens for exam in exams)
    percentiles = (0, 5, 25, 50, 75, 95, 100)
    values = [lengths[round((len(lengths) - 1) * p / 100)] for p in percentiles]
    named = ", ".join(f"p{p} {value}" for p, value in zip(percentiles, values, strict=True))
    ended = sum(exam.generated.ended for exam in exams)
    return (
        f"Lengths of the answers in tokens: {named}; {ended} of {len(exams)} ended by themselves."
    )


def mistakes(exams: Sequence[Exam], limit: int = 12) -> str:
    """The first wrong answers, with their errors."""
    wrong = [e for e in exams if not e.verdict.good or e.verdict.wishes is False]
    return "\n".join(
        f"{exam.example.query}\n  {exam.generated.text!r}\n  {'; '.join(exam.verdict.problems)}"
        for exam in wrong[:limit]
    )


def main() -> None:
    """Examine the model, print the numbers, and write them into the card if asked."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", type=Path, default=WEIGHTS)
    parser.add_argument("--queries", type=int, default=400)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--card", action="store_true", help="write the figures into the model card")
    arguments = parser.parse_args()
    tokenizer = AutoTokenizer.from_pretrained(arguments.model)
    model = AutoModelForCausalLM.from_pretrained(arguments.model, dtype=torch.float32)
    model = model.to(arguments.device).eval()

    half = arguments.queries // 2
    short = held_out(half, clients=False) + held_out(half, clients=True)
    long = behind_long_prompts(tokenizer, held_out(arguments.queries, clients=True, seed=2))
    exams = examine(model, tokenizer, short), examine(model, tokenizer, long)
    report = figures(*exams)
    print(report)
    print("\nMistakes:\n" + (mistakes([*exams[0], *exams[1]]) or "none"))
    if arguments.card:
        training = json.loads((arguments.model / "training.json").read_text(encoding="utf-8"))
        card = model_card(training, report)
        (arguments.model / "README.md").write_text(card, encoding="utf-8")


if __name__ == "__main__":
    main()

"""How often Wayfarer accepts Junior's drafts: `python -m minibatch.wayfarer.training.acceptance`.

Held-out questions, greedy, in float32, with four draft tokens a step. Prints the table of Junior's
card; `--card` also writes it there.
"""

import argparse
import json
from collections import defaultdict
from pathlib import Path

import minibatch as mb
from minibatch.wayfarer import JUNIOR
from minibatch.wayfarer.training.corpus import Example
from minibatch.wayfarer.training.evaluation import behind_long_prompts, held_out, prompt_of
from minibatch.wayfarer.training.model_card import junior_card

NUM_DRAFT_TOKENS = 4
ALL = "all"


class Count:
    """Counts over rows with draft tokens: questions, rows, tokens, accepted and rejected ones."""

    def __init__(self) -> None:
        self.questions, self.rows, self.tokens, self.accepted, self.rejected = set(), 0, 0, 0, 0

    def add(self, row: mb.RowRecord) -> None:
        self.questions.add(row.request_id)
        self.rows += 1
        self.tokens += len(row.token_ids)
        self.accepted += row.num_accepted
        self.rejected += row.num_rejected

    @property
    def rate(self) -> float:
        """Accepted draft tokens, as a share of the verified ones."""
        return self.accepted / (self.accepted + self.rejected)


def counts(wayfarer: mb.Model, junior: mb.Model, examples: list[Example]) -> dict[str, Count]:
    """The counts by kind of question, and of all."""
    kinds = {str(i): example.kind for i, example in enumerate(examples)}
    render = wayfarer.tokenizer.apply_chat_template
    requests = [
        mb.Request(
            render(prompt_of(example), add_generation_prompt=True, tokenize=False),
            max_tokens=256,
            request_id=str(i),
        )
        for i, example in enumerate(examples)
    ]
    draft = mb.DraftModel(junior, NUM_DRAFT_TOKENS)
    engine = mb.Engine(wayfarer, mb.Continuous(16), speculation=draft)
    engine.run(requests)
    found: defaultdict[str, Count] = defaultdict(Count)
    for row in (row for step in engine.trace.steps for row in step.rows if row.draft):
        found[kinds[row.request_id]].add(row)
        found[ALL].add(row)
    return found


def table(short: dict[str, Count], long: dict[str, Count]) -> str:
    """The card's figures, as a Markdown table; the kinds with most tokens first."""
    lines = [
        f"{len(short[ALL].questions)} held-out questions, half of them behind a client's file, and "
        f"{len(long[ALL].questions)} behind prompts of 750–1,300 tokens; greedy, float32, "
        f"{NUM_DRAFT_TOKENS} guesses a step.",
        "",
        "| question | acceptance, short prompts | tokens a step | long prompts | tokens a step |",
        "|---|---|---|---|---|",
    ]
    for kind in sorted(short, key=lambda kind: -short[kind].tokens):
        cells = [
            f"{found[kind].rate:.1%} | {found[kind].tokens / found[kind].rows:.2f}"
            if kind in found
            else "– | –"
            for found in (short, long)
        ]
        lines.append(f"| {kind.replace('_', ' ')} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main() -> None:
    """Ask, count, print, write into the card if asked."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--junior", type=Path, default=JUNIOR)
    parser.add_argument("--queries", type=int, default=240)
    parser.add_argument("--card", action="store_true", help="write the figures into the model card")
    arguments = parser.parse_args()
    wayfarer, junior = mb.load_model("wayfarer"), mb.load_model(arguments.junior)
    half = arguments.queries // 2
    short = held_out(half, clients=False) + held_out(half, clients=True)
    long = behind_long_prompts(wayfarer.tokenizer, held_out(half, clients=True, seed=2))
    report = table(counts(wayfarer, junior, short), counts(wayfarer, junior, long))
    print(report)
    if arguments.card:
        training = json.loads((arguments.junior / "training.json").read_text(encoding="utf-8"))
        card = junior_card(training, report)
        (arguments.junior / "README.md").write_text(card, encoding="utf-8")


if __name__ == "__main__":
    main()

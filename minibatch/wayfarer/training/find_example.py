"""Finds the course's running example: `python -m minibatch.wayfarer.training.find_example`.

For each of "A" to "H", at the published prompt lengths and at a tenth of them, it looks for
conversations whose prompt has exactly that number of tokens and whose greedy answer ends by itself
after exactly the published number. The corpus gives the length of the true answer; the model
must then generate exactly this answer. Writes `running_example.json`.
"""

import argparse
import json
import random
from collections.abc import Iterator

import minibatch as mb
from minibatch.wayfarer import RUNNING_EXAMPLE
from minibatch.wayfarer.clients import client
from minibatch.wayfarer.policy import fill_prompt
from minibatch.wayfarer.questions import phrasings, query
from minibatch.wayfarer.training.answers import answer
from minibatch.wayfarer.training.corpus import draw_question

KINDS = {  # what each agent asks, so that the eight differ
    "A": ("visa", "flight", "dinner", "dish"),
    "B": ("hotel_pick", "briefing", "itinerary"),
    "C": ("hotels", "summary"),
    "D": ("itinerary",),
    "E": ("itinerary",),
    "F": ("hotels", "summary", "briefing"),
    "G": ("briefing", "sights", "hotels"),
    "H": ("itinerary",),
}


def candidates(
    model: mb.Model, letter: str, prompt_length: int, output_length: int
) -> Iterator[tuple[str, dict[str, str]]]:
    """(true answer, conversation) pairs of exactly these lengths in tokens, in a fixed order."""
    rng = random.Random(f"running example {letter}")
    while True:
        person = client(rng.randrange(100_000))
        kind = rng.choice(KINDS[letter])
        question = draw_question(rng, person, kind)
        text = query(question, rng.randrange(len(phrasings(question))))
        if len(model.tokenizer.encode(answer(question))) + 1 != output_length:
            continue
        try:
            filled = fill_prompt(model.tokenizer, text, prompt_length, person)
        except ValueError:
            continue
        truth = answer(question.behind(filled.client))
        if len(model.tokenizer.encode(truth)) + 1 == output_length:
            yield truth, {"query": text, "system": filled.messages[0]["content"]}


def find(model: mb.Model, letter: str, prompt_scale: float, wanted: int) -> list[dict[str, str]]:
    """The first `wanted` conversations that the model answers correctly, no query twice."""
    prompt_length = mb.workload.prompt_length(letter, prompt_scale)
    output_length = mb.workload.OUTPUT_LENGTHS[mb.workload.NAMES.index(letter)]
    found: list[dict[str, str]] = []
    tried = 0
    for truth, conversation in candidates(model, letter, prompt_length, output_length):
        if any(conversation["query"] == other["query"] for other in found):
            continue
        tried += 1
        prompt = model.chat(conversation["query"], system=conversation["system"])
        engine = mb.Engine(model, mb.Sequential())
        (completion,) = engine.run([mb.Request(prompt, max_tokens=256)])
        exact = len(completion.prompt_token_ids), len(completion.token_ids)
        if completion.text == truth and exact == (prompt_length, output_length):
            found.append(conversation)
        if len(found) == wanted:
            break
    print(
        f"{letter}: {wanted} of {tried} candidates; for example {found[0]['query']!r}", flush=True
    )
    return found


def main() -> None:
    """Search all eight and write the file."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--each", type=int, default=7, help="conversations for each letter")
    wanted = parser.parse_args().each
    model = mb.load_model()
    examples = {
        str(scale): {letter: find(model, letter, scale, wanted) for letter in mb.workload.NAMES}
        for scale in (1.0, 0.1)
    }
    text = json.dumps(examples, indent=1, ensure_ascii=False)
    RUNNING_EXAMPLE.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

"""Wayfarer's words for the eight agents, kept for the playground: it has no model.

python -m minibatch.course.site.record_words     # writes in_browser/words.json
"""

from __future__ import annotations

import json

import minibatch as mb
from minibatch.course.site.in_browser.own_list import WORDS
from minibatch.simulator.workload import running_example

PROMPT_SCALE = 0.1


def words() -> dict[str, dict[str, object]]:
    """By agent: {"prompt": tokens, "answer": pieces of text, one for each token}. The last token
    ends the answer, and has no text."""
    model = mb.load_model("wayfarer")
    made = {}
    for done in mb.Engine(model, mb.Continuous(8)).run(running_example(model, PROMPT_SCALE)):
        ids, decode = done.token_ids, model.tokenizer.decode
        texts = [decode(ids[:n], skip_special_tokens=True) for n in range(len(ids) + 1)]
        pieces = [after[len(before) :] for before, after in zip(texts, texts[1:], strict=False)]
        made[done.request_id] = {"prompt": len(done.prompt_token_ids), "answer": pieces}
    return made


if __name__ == "__main__":
    WORDS.write_text(json.dumps(words(), indent=1) + "\n", encoding="utf-8")

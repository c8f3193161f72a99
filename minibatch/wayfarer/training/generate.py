"""Greedy answers to many prompts at once, by the course's own engine."""

from dataclasses import dataclass

from transformers import PreTrainedModel, PreTrainedTokenizerBase

import minibatch as mb
from minibatch.wayfarer.policy import Messages


@dataclass(frozen=True, slots=True)
class Generated:
    """An answer: its text, its length in tokens with the end token, and whether it has one."""

    text: str
    num_tokens: int
    ended: bool


def generate_texts(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    prompts: list[Messages],
    max_tokens: int = 256,
    batch_size: int = 16,
) -> list[Generated]:
    """One greedy answer for each prompt, in their order. Leaves the model in evaluation mode."""
    rendered = [
        tokenizer.apply_chat_template(messages, add_generation_prompt=True, tokenize=False)
        for messages in prompts
    ]
    engine = mb.Engine(mb.Model(model, tokenizer), mb.Continuous(batch_size))
    completions = engine.run([mb.Request(text, max_tokens=max_tokens) for text in rendered])
    return [
        Generated(c.text, len(c.token_ids), ended=c.finish_reason == "stop") for c in completions
    ]

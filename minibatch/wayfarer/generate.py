"""Greedy answers to many prompts at once, for evaluation and for samples during training."""

from dataclasses import dataclass

import torch
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from minibatch.wayfarer.policy import Messages


@dataclass(frozen=True, slots=True)
class Generated:
    """An answer: its text, its length in tokens with the end token, and whether it has one."""

    text: str
    num_tokens: int
    ended: bool


@torch.inference_mode()
def generate_texts(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    prompts: list[Messages],
    max_tokens: int = 256,
    batch_size: int = 32,
) -> list[Generated]:
    """One greedy answer for each prompt, in their order; prompts are padded on the left."""
    rendered = [
        tokenizer.apply_chat_template(messages, add_generation_prompt=True, tokenize=False)
        for messages in prompts
    ]
    answers = []
    for start in range(0, len(rendered), batch_size):
        batch = tokenizer(
            rendered[start : start + batch_size],
            return_tensors="pt",
            padding=True,
            padding_side="left",
            add_special_tokens=False,
        ).to(model.device)
        output = model.generate(
            input_ids=batch["input_ids"],
            attention_mask=batch["attention_mask"],
            max_new_tokens=max_tokens,
            do_sample=False,
            eos_token_id=tokenizer.eos_token_id,
            pad_token_id=tokenizer.pad_token_id,
        )
        for row in output[:, batch["input_ids"].shape[1] :].tolist():
            ended = tokenizer.eos_token_id in row
            length = row.index(tokenizer.eos_token_id) if ended else len(row)
            answers.append(Generated(tokenizer.decode(row[:length]), length + ended, ended))
    return answers

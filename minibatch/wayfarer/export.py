"""Writes a trained Wayfarer in Hugging Face format, in bfloat16."""

from pathlib import Path

import torch
from transformers import GenerationConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from minibatch.wayfarer.card import model_card


def export(model: LlamaForCausalLM, tokenizer: PreTrainedTokenizerFast, folder: Path) -> None:
    """Writes model.safetensors, config.json, generation_config.json, the tokenizer and README.md."""
    folder.mkdir(parents=True, exist_ok=True)
    model = model.to("cpu", torch.bfloat16)
    model.generation_config = GenerationConfig(
        do_sample=False,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    (folder / "README.md").write_text(model_card(), encoding="utf-8")

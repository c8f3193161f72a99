"""Writes a trained Wayfarer in Hugging Face format, in bfloat16."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path

import torch
from transformers import GenerationConfig, LlamaForCausalLM, PreTrainedTokenizerFast


def export(
    model: LlamaForCausalLM,
    tokenizer: PreTrainedTokenizerFast,
    training: dict[str, int | float | str],
    folder: Path,
    card: Callable[[Mapping[str, int | float | str]], str],
) -> None:
    """Writes weights, configs, tokenizer, `training.json` and the model card into `folder`.

    training: how it was trained (see `training_run.training_record`); shown on the model card.
    """
    folder.mkdir(parents=True, exist_ok=True)
    model = model.to("cpu", torch.bfloat16)
    model.generation_config = GenerationConfig(
        do_sample=False,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    record = json.dumps(training, indent=2) + "\n"
    (folder / "training.json").write_text(record, encoding="utf-8")
    (folder / "README.md").write_text(card(training), encoding="utf-8")

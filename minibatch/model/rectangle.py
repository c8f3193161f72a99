"""A padded batch, as transformers takes it: a rectangle of tokens, one line for each prompt.

The engine does not use it: it puts the tokens of all rows into one line (attention/metadata.py).
Lesson 02 makes a rectangle by hand, and leaves parts out to see what they are for. Tensors are
int64, [prompts, positions].
"""

import torch

from .load import Model


def left_padded(
    prompts: list[list[int]], pad_token_id: int
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """input_ids, attention_mask (1 for a real token) and position_ids, with padding on the left."""
    width = max(map(len, prompts))
    ids = torch.tensor([[pad_token_id] * (width - len(prompt)) + prompt for prompt in prompts])
    mask = torch.tensor([[0] * (width - len(prompt)) + [1] * len(prompt) for prompt in prompts])
    return ids, mask, (mask.cumsum(dim=1) - 1).clamp(min=0)


def right_padded(
    prompts: list[list[int]], pad_token_id: int
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """The same with padding on the right."""
    width = max(map(len, prompts))
    ids = torch.tensor([prompt + [pad_token_id] * (width - len(prompt)) for prompt in prompts])
    mask = torch.tensor([[1] * len(prompt) + [0] * (width - len(prompt)) for prompt in prompts])
    return ids, mask, torch.arange(width) * mask


@torch.inference_mode()
def next_words(
    model: Model,
    input_ids: torch.Tensor,
    attention_mask: torch.Tensor,
    position_ids: torch.Tensor,
    places: torch.Tensor | int = -1,
) -> list[str]:
    """The next word of each line, decoded from the logits at `places`: by default the last."""
    inputs = (tensor.to(model.device) for tensor in (input_ids, attention_mask, position_ids))
    names = ("input_ids", "attention_mask", "position_ids")
    logits = model.hf(**dict(zip(names, inputs, strict=True)), use_cache=False).logits
    tokens = logits[torch.arange(len(input_ids)), places].argmax(dim=-1)
    return [model.tokenizer.decode([token]) for token in tokens.tolist()]


@torch.inference_mode()
def answers(
    model: Model,
    input_ids: torch.Tensor,
    attention_mask: torch.Tensor,
    position_ids: torch.Tensor,
    max_tokens: int = 40,
) -> list[str]:
    """Greedy answers to left-padded prompts, computed by transformers with this mask and these
    positions; at most `max_tokens` tokens each."""
    ids, mask, positions = (
        tensor.to(model.device) for tensor in (input_ids, attention_mask, position_ids)
    )
    cache, output = None, []
    for _ in range(max_tokens):
        seen = model.hf(
            input_ids=ids,
            attention_mask=mask,
            position_ids=positions,
            past_key_values=cache,
            use_cache=True,
        )
        cache, ids = seen.past_key_values, seen.logits[:, -1:].argmax(dim=-1)
        output.append(ids)
        mask = torch.cat([mask, torch.ones_like(ids)], dim=1)
        positions = positions[:, -1:] + 1
    return [_text(model, line) for line in torch.cat(output, dim=1).tolist()]


def _text(model: Model, tokens: list[int]) -> str:
    ends = [i for i, token in enumerate(tokens) if token in model.eos_token_ids]
    return model.tokenizer.decode(tokens[: ends[0]] if ends else tokens)

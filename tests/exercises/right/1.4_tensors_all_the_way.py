"""Keeps tensors, a mask and the device; makes a list of numbers at the very end."""

import torch


def greedy_decode(model, prompt_token_ids, max_tokens, end_token_id):
    ids = torch.tensor(prompt_token_ids, device=model.device).unsqueeze(0)
    tokens, cache = [], None
    with torch.inference_mode():
        while True:
            seen = 0 if cache is None else cache.get_seq_length()
            mask = torch.ones(1, seen + ids.shape[1], dtype=torch.bool, device=ids.device)
            logits, cache = model(
                input_ids=ids, attention_mask=mask, past_key_values=cache, use_cache=True
            )[:2]
            ids = logits[:, -1:].argmax(dim=-1)
            tokens.append(ids)
            if ids.item() == end_token_id or len(tokens) == max_tokens:
                return torch.cat(tokens, dim=1)[0].tolist()

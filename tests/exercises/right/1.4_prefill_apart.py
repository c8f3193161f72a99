"""Prefill first, then a loop; asks for the last logits only, and gives positions."""

import torch


def greedy_decode(model, prompt_token_ids, max_tokens, end_token_id):
    out = model(
        torch.tensor([prompt_token_ids], device=model.device), use_cache=True, logits_to_keep=1
    )
    answer = [int(torch.argmax(out.logits[:, -1], dim=-1))]
    for position in range(len(prompt_token_ids), len(prompt_token_ids) + max_tokens - 1):
        if answer[-1] == end_token_id:
            break
        out = model(
            input_ids=torch.tensor([[answer[-1]]], device=model.device),
            position_ids=torch.tensor([[position]], device=model.device),
            past_key_values=out.past_key_values,
            use_cache=True,
        )
        answer.append(out.logits[0, -1].argmax().item())
    return answer

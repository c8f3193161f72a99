"""Lets numpy pick the token."""

import torch


def greedy_decode(model, prompt_token_ids, max_tokens, end_token_id):
    new, cache, answer = list(prompt_token_ids), None, []
    while len(answer) < max_tokens:
        out = model(torch.tensor([new], device=model.device), past_key_values=cache, use_cache=True)
        token = out.logits[0, -1].detach().cpu().numpy().argmax()
        answer.append(token)
        if token == end_token_id:
            break
        new, cache = [token], out.past_key_values
    return answer

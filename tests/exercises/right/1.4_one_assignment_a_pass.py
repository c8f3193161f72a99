"""What goes in next and the cache change hands in one line; the end is asked for last."""

import torch


def greedy_decode(model, prompt_token_ids, max_tokens, end_token_id):
    new, cache, answer = prompt_token_ids, None, []
    while len(answer) < max_tokens:
        out = model(torch.tensor([new], device=model.device), past_key_values=cache, use_cache=True)
        new, cache = [out.logits[0, -1].argmax().item()], out.past_key_values
        answer += new
        if new[0] == end_token_id:
            break
    return answer

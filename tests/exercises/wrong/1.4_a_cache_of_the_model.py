"""Keeps the cache of the first call with the model itself, and each later call goes on with it.

caught by: test_any_prompt_is_answered
code: begins_with_an_old_cache
"""

import torch


def greedy_decode(model, prompt_token_ids, max_tokens, end_token_id):
    new, cache, answer = prompt_token_ids, getattr(model, "kept", None), []
    while len(answer) < max_tokens:
        ids = torch.tensor([new], device=model.device)
        out = model(ids, past_key_values=cache, use_cache=True)
        answer.append(int(out.logits[0, -1].argmax()))
        if answer[-1] == end_token_id:
            break
        new, cache = answer[-1:], out.past_key_values
    model.kept = out.past_key_values
    return answer

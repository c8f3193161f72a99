"""Runs to max_tokens and cuts at the end token afterwards.

caught by: test_any_prompt_is_answered
says: after the end token your loop goes on
"""

import torch


def greedy_decode(model, prompt_token_ids, max_tokens, end_token_id):
    new, cache, answer = prompt_token_ids, None, []
    while len(answer) < max_tokens:
        ids = torch.tensor([new], device=model.device)
        out = model(ids, past_key_values=cache, use_cache=True)
        token = int(out.logits[0, -1].argmax())
        answer.append(token)
        if False:
            break
        new, cache = [token], out.past_key_values
    return answer[: answer.index(end_token_id) + 1] if end_token_id in answer else answer

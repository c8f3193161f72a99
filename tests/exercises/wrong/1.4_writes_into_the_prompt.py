"""Appends the answer to the caller's own list.

caught by: test_the_caller_keeps_its_prompt
code: changes_the_callers_list
"""

import torch


def greedy_decode(model, prompt_token_ids, max_tokens, end_token_id):
    new, cache, answer = list(prompt_token_ids), None, prompt_token_ids
    n = len(answer)
    while len(answer) - n < max_tokens:
        out = model(torch.tensor([new]), past_key_values=cache, use_cache=True)
        token = int(out.logits[0, -1].argmax())
        answer.append(token)
        if token == end_token_id:
            break
        new, cache = [token], out.past_key_values
    return answer[n:]

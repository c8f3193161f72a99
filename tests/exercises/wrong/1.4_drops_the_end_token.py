"""Leaves the end token out.

caught by: test_it_stops_after_the_end_token
code: end_token_is_missing
"""

import torch


def greedy_decode(model, prompt_token_ids, max_tokens, end_token_id):
    new, cache, answer = prompt_token_ids, None, []
    while len(answer) < max_tokens:
        out = model(torch.tensor([new]), past_key_values=cache, use_cache=True)
        new, cache = [out.logits[0, -1].argmax().item()], out.past_key_values
        if new[0] == end_token_id:
            break
        answer += new
    return answer

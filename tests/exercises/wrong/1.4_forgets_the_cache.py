"""Feeds the newest token alone, and no cache with it.

caught by: test_the_tokens_are_those_of_generate
code: pass_without_a_cache
"""

import torch


def greedy_decode(model, prompt_token_ids, max_tokens, end_token_id):
    new, answer = prompt_token_ids, []
    while len(answer) < max_tokens:
        out = model(torch.tensor([new]), use_cache=True)
        new = [out.logits[0, -1].argmax().item()]
        answer += new
        if new[0] == end_token_id:
            break
    return answer

"""Knows no max_tokens.

caught by: test_the_first_token_comes_out_of_the_pass_over_the_prompt
code: loop_passes_max_tokens
"""

import torch


def greedy_decode(model, prompt_token_ids, max_tokens, end_token_id):
    new, cache, answer = prompt_token_ids, None, []
    while True:
        out = model(torch.tensor([new]), past_key_values=cache, use_cache=True)
        new, cache = [out.logits[0, -1].argmax().item()], out.past_key_values
        answer += new
        if new[0] == end_token_id:
            break
    return answer

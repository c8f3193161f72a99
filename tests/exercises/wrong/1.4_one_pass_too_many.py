"""Computes the last token's K and V, which nobody reads.

caught by: test_no_token_goes_in_twice_or_in_vain
code: one_token_goes_in_too_many
"""

import torch


def greedy_decode(model, prompt_token_ids, max_tokens, end_token_id):
    out = model(torch.tensor([prompt_token_ids]), use_cache=True)
    answer = []
    while len(answer) < max_tokens:
        token = out.logits[0, -1].argmax().item()
        answer.append(token)
        if token == end_token_id:
            break
        out = model(torch.tensor([[token]]), past_key_values=out.past_key_values, use_cache=True)
    return answer

"""Computes everything again for each token.

caught by: test_the_model_gets_no_token_twice_or_without_need
code: never_a_cache
"""

import torch


def greedy_decode(model, prompt_token_ids, max_tokens, end_token_id):
    sequence = list(prompt_token_ids)
    for _ in range(max_tokens):
        logits = model(torch.tensor([sequence]), use_cache=False).logits
        sequence.append(logits[0, -1].argmax().item())
        if sequence[-1] == end_token_id:
            break
    return sequence[len(prompt_token_ids) :]

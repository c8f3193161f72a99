"""Feeds every new token at position 0.

caught by: test_the_tokens_are_those_of_generate
code: other_positions
"""

import torch


def greedy_decode(model, prompt_token_ids, max_tokens, end_token_id):
    new, cache, answer = prompt_token_ids, None, []
    while len(answer) < max_tokens:
        positions = torch.arange(len(new))[None]
        out = model(
            torch.tensor([new]), past_key_values=cache, position_ids=positions, use_cache=True
        )
        new, cache = [out.logits[0, -1].argmax().item()], out.past_key_values
        answer += new
        if new[0] == end_token_id:
            break
    return answer

"""Stops when prompt and answer together have max_tokens.

caught by: test_the_tokens_are_those_of_generate
code: max_tokens_counts_the_prompt
"""

import torch


def greedy_decode(model, prompt_token_ids, max_tokens, end_token_id):
    new, cache, answer = prompt_token_ids, None, []
    while True:
        out = model(torch.tensor([new]), past_key_values=cache, use_cache=True)
        new, cache = [out.logits[0, -1].argmax().item()], out.past_key_values
        answer += new
        if new[0] == end_token_id or len(prompt_token_ids) + len(answer) >= max_tokens:
            return answer

"""Uses the cache, and feeds the whole sequence again.

caught by: test_the_tokens_are_those_of_generate
code: whole_text_with_the_cache
"""

import torch


def greedy_decode(model, prompt_token_ids, max_tokens, end_token_id):
    new, cache, answer = prompt_token_ids, None, []
    while len(answer) < max_tokens:
        out = model(
            torch.tensor([prompt_token_ids + answer]), past_key_values=cache, use_cache=True
        )
        new, cache = [out.logits[0, -1].argmax().item()], out.past_key_values
        answer += new
        if new[0] == end_token_id:
            break
    return answer

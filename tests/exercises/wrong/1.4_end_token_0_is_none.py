"""if end_token_id: takes an end token 0 for none.

caught by: test_it_stops_after_the_end_token
code: goes_on_after_end_token_zero
"""

import torch


def greedy_decode(model, prompt_token_ids, max_tokens, end_token_id):
    new, cache, answer = prompt_token_ids, None, []
    while len(answer) < max_tokens:
        out = model(torch.tensor([new]), past_key_values=cache, use_cache=True)
        new, cache = [out.logits[0, -1].argmax().item()], out.past_key_values
        answer += new
        if end_token_id and new[0] == end_token_id:
            break
    return answer

"""Compares with `is`: true only for small ints that Python keeps.

caught by: test_it_stops_after_the_end_token
says: compare by ==
"""

import torch


def greedy_decode(model, prompt_token_ids, max_tokens, end_token_id):
    new, cache, answer = prompt_token_ids, None, []
    while len(answer) < max_tokens:
        out = model(torch.tensor([new], device=model.device), past_key_values=cache, use_cache=True)
        token, cache = int(out.logits[0, -1].argmax()), out.past_key_values
        answer.append(token)
        if token is end_token_id:
            break
        new = [token]
    return answer

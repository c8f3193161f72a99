"""if not token: takes token 0 for the end.

caught by: test_the_tokens_are_those_of_generate
code: ends_at_token_zero
"""

import torch


def greedy_decode(model, prompt_token_ids, max_tokens, end_token_id):
    new, cache, answer = prompt_token_ids, None, []
    while len(answer) < max_tokens:
        out = model(torch.tensor([new]), past_key_values=cache, use_cache=True)
        token, cache = out.logits[0, -1].argmax().item(), out.past_key_values
        if not token:
            break
        answer.append(token)
        new = [token]
        if token == end_token_id:
            break
    return answer

"""Takes 1 for the end token, as in the example.

caught by: test_it_stops_after_the_end_token
says: Compare each new token
"""

import torch


def greedy_decode(model, prompt_token_ids, max_tokens, end_token_id):
    new, cache, answer = prompt_token_ids, None, []
    while len(answer) < max_tokens:
        ids = torch.tensor([new], device=model.device)
        out = model(ids, past_key_values=cache, use_cache=True)
        token = int(out.logits[0, -1].argmax())
        answer.append(token)
        if token == 1:
            break
        new, cache = [token], out.past_key_values
    return answer

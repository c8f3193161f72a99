"""torch.Tensor([...]) makes floats, not int64.

caught by: test_the_first_token_comes_out_of_the_pass_over_the_prompt
says: yours holds float32
"""

import torch


def greedy_decode(model, prompt_token_ids, max_tokens, end_token_id):
    new, cache, answer = prompt_token_ids, None, []
    while len(answer) < max_tokens:
        out = model(torch.Tensor([new]).to(model.device), past_key_values=cache, use_cache=True)
        token, cache = int(out.logits[0, -1].argmax()), out.past_key_values
        answer.append(token)
        if token == end_token_id:
            break
        new = [token]
    return answer

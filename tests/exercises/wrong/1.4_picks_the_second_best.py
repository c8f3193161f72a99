"""Takes the second highest logit.

caught by: test_the_first_token_comes_out_of_the_pass_over_the_prompt
code: other_token_than_the_highest
"""

import torch


def greedy_decode(model, prompt_token_ids, max_tokens, end_token_id):
    new, cache, answer = list(prompt_token_ids), None, []
    while len(answer) < max_tokens:
        out = model(torch.tensor([new]), past_key_values=cache, use_cache=True)
        token = int(out.logits[0, -1].topk(2).indices[1])
        answer.append(token)
        if token == end_token_id:
            break
        new, cache = [token], out.past_key_values
    return answer

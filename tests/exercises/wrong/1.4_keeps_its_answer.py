"""A list as a default: the next call goes on with it.

caught by: test_the_pass_over_the_prompt_gives_the_first_token
code: goes_on_where_it_ended
"""

import torch


def greedy_decode(model, prompt_token_ids, max_tokens, end_token_id, answer=[]):  # noqa: B006
    new, cache = prompt_token_ids, None
    while len(answer) < max_tokens:
        out = model(torch.tensor([new]), past_key_values=cache, use_cache=True)
        token, cache = out.logits[0, -1].argmax().item(), out.past_key_values
        answer.append(token)
        new = [token]
        if token == end_token_id:
            break
    return answer

"""Collects tensors, not numbers.

caught by: test_the_pass_over_the_prompt_gives_the_first_token
code: answer_holds_tensors
"""

import torch


def greedy_decode(model, prompt_token_ids, max_tokens, end_token_id):
    new, cache, answer = torch.tensor([prompt_token_ids]), None, []
    while len(answer) < max_tokens:
        out = model(new, past_key_values=cache, use_cache=True)
        new, cache = out.logits[:, -1:].argmax(-1), out.past_key_values
        answer.append(new[0, 0])
        if answer[-1] == end_token_id:
            break
    return answer

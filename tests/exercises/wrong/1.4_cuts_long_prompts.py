"""Feeds the last 512 tokens of the prompt only.

caught by: test_the_model_gets_the_whole_prompt_in_one_pass
code: prompt_goes_in_cut
"""

import torch


def greedy_decode(model, prompt_token_ids, max_tokens, end_token_id):
    new, cache, answer = list(prompt_token_ids)[-512:], None, []
    while len(answer) < max_tokens:
        out = model(torch.tensor([new]), past_key_values=cache, use_cache=True)
        answer.append(int(out.logits[0, -1].argmax()))
        if answer[-1] == end_token_id:
            break
        new, cache = answer[-1:], out.past_key_values
    return answer

"""Asks whether the end token stands anywhere in the text, the prompt included.

caught by: test_it_stops_after_the_end_token
code: end_token_of_the_prompt_ends_it
"""

import torch


def greedy_decode(model, prompt_token_ids, max_tokens, end_token_id):
    new, cache, answer = list(prompt_token_ids), None, []
    while len(answer) < max_tokens:
        out = model(torch.tensor([new]), past_key_values=cache, use_cache=True)
        token = int(out.logits[0, -1].argmax())
        answer.append(token)
        if end_token_id in prompt_token_ids + answer:
            break
        new, cache = [token], out.past_key_values
    return answer
